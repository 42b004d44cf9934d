/* A task that calls exit in the middle of a run: the timeline up to there is written.
 * ctest: static
 * ctest: matrix deque=split,mutex idle=park threads=2 */
#include "child.h"

enum { TASKS = 100 };

static char path[] = "/tmp/sched-trace-XXXXXX", text[1 << 20];

static void counted(void *closure, struct scheduler *s)
{
    if (__atomic_add_fetch((int *)closure, 1, __ATOMIC_RELAXED) == TASKS)
        exit(3);
}

static void leaving(void *closure, struct scheduler *s)
{
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(sched_spawn(counted, closure, s), 0);
}

static void body(void *unused)
{
    static int ran;
    setenv("SCHED_TRACE", path, 1);
    sched_init(2, 16, leaving, &ran);
    check_say("sched_init came back");
}

int main(void)
{
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    in_child(body, NULL);
    ssize_t n = read(fd, text, sizeof text - 1);
    unlink(path);
    CHECK_CHILD_EXITED(3);
    CHECK_EQ(strlen(child.said), 0);
    CHECK(n > 4 && strncmp(text, "[\n{", 3) == 0 && strcmp(text + n - 3, "\n]\n") == 0);
    int begun = 0;
    for (const char *at = text; (at = strstr(at, "\"begins\":true")) != NULL; at++)
        begun++;
    CHECK(begun >= TASKS);
    return 0;
}
