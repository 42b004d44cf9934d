/* The file of SCHED_TRACE: all runs of a process are one array, which is complete after each run; a child made by fork
 * writes a file of its own; short tasks are merged by SCHED_TRACE_MERGE; events that have no room are dropped, the oldest first, and the user is told.
 * ctest: static
 * ctest: matrix deque=split,mutex idle=park threads=2 */
#include "child.h"
#include <sys/stat.h>

enum { TASKS = 1000 };

static char path[] = "/tmp/sched-trace-XXXXXX", text[4 << 20];

static void a_static_function(void *closure, struct scheduler *s)
{
}

static void first_function(void *closure, struct scheduler *s)
{
    long n = (long)closure;
    for (long i = 0; i < n; i++)
        CHECK_EQ(sched_spawn(a_static_function, NULL, s), 0);
}

static void run(long tasks)
{
    CHECK_EQ(sched_init(2, 16, first_function, (void *)tasks), 0);
}

/* Reads a file of which the text is an array of at least `least` events. */
static void read_events(const char *file, int least)
{
    FILE *in = fopen(file, "r");
    CHECK(in != NULL);
    size_t n = fread(text, 1, sizeof text - 1, in);
    fclose(in);
    CHECK(n < sizeof text - 1);
    text[n] = 0;
    int events = 0;
    for (const char *at = text; (at = strstr(at, "\n{\"ph\":")) != NULL; at++)
        events++;
    CHECK(strncmp(text, "[\n{", 3) == 0);
    CHECK(n > 4 && strcmp(text + n - 4, "}\n]\n") == 0);
    CHECK(strchr(strstr(text, "\n]") + 2, ']') == NULL);
    CHECK(events >= least);
}

static int count(const char *word)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
        n++;
    return n;
}

/* The sum of the numbers behind "tasks": in the events of merged tasks. */
static long merged(void)
{
    long sum = 0;
    for (const char *at = text; (at = strstr(at, "\"ph\":\"X\"")) != NULL; at++) {
        const char *end = strchr(at, '\n'), *tasks = strstr(at, "{\"tasks\":");
        if (tasks != NULL && tasks < end)
            sum += atol(tasks + strlen("{\"tasks\":"));
    }
    return sum;
}

static void several(void *unused)
{
    for (int i = 1; i <= 3; i++) {
        run(TASKS);
        read_events(path, 2 * i * TASKS);
        CHECK_EQ(count("\"process_name\""), i);
        CHECK_EQ(count("\"begins\":true"), i * (TASKS + 1));
        CHECK(count("\"name\":\"first_function\",\"args\":{\"task\"") >= i);
        CHECK(count("\"name\":\"a_static_function\"") >= i * TASKS);
    }
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        run(1);
        _exit(0);
    }
    CHECK_EQ(wait_for(pid), 0);
    char name[64];
    snprintf(name, sizeof name, "%s.%d", path, (int)pid);
    read_events(name, 4);
    CHECK_EQ(unlink(name), 0);
    CHECK_EQ(count("\"begins\":true"), 2);
    read_events(path, 6 * TASKS);
    CHECK_EQ(count("\"process_name\""), 3);
}

static void merging(void *unused)
{
    setenv("SCHED_TRACE_MERGE", "1s", 1);
    run(TASKS);
    read_events(path, 3);
    CHECK_EQ(merged() + count("\"begins\":true"), TASKS + 1);
    CHECK(count("\"begins\":true") <= TASKS / 2);
    CHECK(strstr(text, " × a_static_function\"") != NULL);
}

static void dropping(void *unused)
{
    setenv("SCHED_TRACE_SIZE", "4K", 1);
    run(TASKS);
    read_events(path, 3);
    CHECK(count("\"lost_events\":0") == 0);
    CHECK(count("\"ph\":\"E\"") <= 4 << 10);
}

int main(void)
{
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    CHECK_EQ(write(fd, "what was there before", 21), 21);
    close(fd);
    setenv("SCHED_TRACE", path, 1);
    in_child(several, NULL);
    CHECK_CHILD_EXITED(0);
    in_child(merging, NULL);
    CHECK_CHILD_EXITED(0);
    in_child(dropping, NULL);
    CHECK_CHILD_EXITED(0);
    CHECK_CHILD_SAID("events were dropped");
    unlink(path);
    return 0;
}
