/* A file of SCHED_TRACE whose name ends with .gz is one gzip member, which is complete after each run; a child made by
 * fork writes a file of its own, whose name also ends with .gz; a file that somebody has emptied is begun anew.
 * ctest: static
 * ctest: matrix deque=split idle=park threads=2 */
#include "child.h"
#include <sys/stat.h>

enum { TASKS = 1000 };

static char folder[] = "/tmp/sched-gzip-XXXXXX", path[64], text[4 << 20];

static void task(void *closure, struct scheduler *s)
{
}

static void first_function(void *closure, struct scheduler *s)
{
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(sched_spawn(task, NULL, s), 0);
}

static int run(void)
{
    return sched_init(2, 16, first_function, NULL);
}

/* Decompresses the file, whose text is an array of the events of so many runs. */
static void read_runs(const char *file, int runs)
{
    char command[128];
    snprintf(command, sizeof command, "gzip -dc %s", file);
    FILE *in = popen(command, "r");
    CHECK(in != NULL);
    size_t n = fread(text, 1, sizeof text - 1, in);
    CHECK_EQ(pclose(in), 0);
    CHECK(n < sizeof text - 1);
    text[n] = 0;
    int processes = 0, begins = 0;
    for (const char *at = text; (at = strstr(at, "\"process_name\"")) != NULL; at++)
        processes++;
    for (const char *at = text; (at = strstr(at, "\"begins\":true")) != NULL; at++)
        begins++;
    CHECK_EQ(processes, runs);
    CHECK_EQ(begins, runs * (TASKS + 1));
    CHECK(strncmp(text, "[\n{", 3) == 0);
    CHECK(n > 4 && strcmp(text + n - 4, "}\n]\n") == 0);
    CHECK(strchr(strstr(text, "\n]") + 2, ']') == NULL);
    struct stat status;
    CHECK_EQ(stat(file, &status), 0);
    CHECK((size_t)status.st_size < n / 2);
    /* The only header is at the beginning: a viewer that reads one member reads all. Its last four bytes are the
     * length of the whole text, not of a part. */
    FILE *raw = fopen(file, "r");
    unsigned char end[4];
    CHECK(raw != NULL);
    CHECK_EQ(fseek(raw, -4, SEEK_END), 0);
    CHECK_EQ(fread(end, 1, 4, raw), 4);
    fclose(raw);
    CHECK_EQ(end[0] | end[1] << 8 | end[2] << 16 | (long)end[3] << 24, (long)n);
}

static void several(void *unused)
{
    if (run() != 0 && errno == ELIBACC)
        _exit(77); /* there is no libz.so.1 */
    for (int i = 1; i <= 3; i++) {
        read_runs(path, i);
        CHECK_EQ(run(), 0);
    }
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        CHECK_EQ(run(), 0);
        _exit(0);
    }
    CHECK_EQ(wait_for(pid), 0);
    char name[96];
    snprintf(name, sizeof name, "%s/trace.json.%d.gz", folder, (int)pid);
    read_runs(name, 1);
    CHECK_EQ(unlink(name), 0);
    read_runs(path, 4);
    CHECK_EQ(truncate(path, 0), 0);
    CHECK_EQ(run(), 0);
    read_runs(path, 1);
}

int main(void)
{
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/trace.json.gz", folder);
    setenv("SCHED_TRACE", path, 1);
    if (system("gzip --version >/dev/null 2>&1") != 0) {
        rmdir(folder);
        skip("gzip is missing");
    }
    in_child(several, NULL);
    unlink(path);
    rmdir(folder);
    if (WIFEXITED(child.status) && WEXITSTATUS(child.status) == 77)
        CHECK_CHILD_SAID("libz.so.1");
    CHECK_CHILD_PASSED();
    return 0;
}
