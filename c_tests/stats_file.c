/* No descriptor of SCHED_STATS_FILE is open during a run: tasks may close all they have and open files of their own.
 * The path is that of the beginning, whatever tasks do to the working directory and the environment. What cannot be
 * appended in the end goes to stderr, behind a line that says why.
 * ctest: static
 * ctest: */
#include "child.h"
#include "proc.h"
#include "stats_line.h"
#include <fcntl.h>

static int before, own = -1;

static void close_all(void *closure, struct scheduler *s)
{
    CHECK_EQ(descriptor_count(), before);
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    own = open("/tmp", O_TMPFILE | O_RDWR, 0600);
    if (own < 0)
        skip("no O_TMPFILE in /tmp");
}

static void closing(void *unused)
{
    struct stat status;
    before = descriptor_count();
    CHECK_EQ(sched_init(2, 4, close_all, NULL), 0);
    CHECK_EQ(fstat(own, &status), 0);
    CHECK_EQ(status.st_size, 0);
}

static char variable[] = "SCHED_STATS_FILE=sched-stats-own";

static void go_away(void *closure, struct scheduler *s)
{
    CHECK_EQ(chdir("/"), 0);
    memset(strchr(variable, '=') + 1, 'x', 5);
    unsetenv("SCHED_STATS_FILE");
}

static void going(void *folder)
{
    CHECK_EQ(chdir(folder), 0);
    CHECK_EQ(putenv(variable), 0);
    CHECK_EQ(sched_init(2, 4, go_away, NULL), 0);
    CHECK_EQ(chdir(folder), 0);
    CHECK_EQ(access("sched-stats-own", R_OK), 0);
}

static void use_up(void *closure, struct scheduler *s)
{
    struct rlimit none = {0, 0};
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
}

static void using_up(void *unused)
{
    CHECK_EQ(sched_init(2, 4, use_up, NULL), 0);
}

int main(void)
{
    gather_stats();
    in_child(closing, NULL);
    char *line = gathered_stats();
    CHECK_CHILD_PASSED();
    CHECK_EQ(strlen(child.said), 0);
    CHECK_EQ(stat_number(line, "tasks"), 1);

    char folder[] = "/tmp/sched-stats-dir-XXXXXX";
    CHECK(mkdtemp(folder) != NULL);
    in_child(going, folder);
    snprintf(stats_path, sizeof stats_path, "%s/sched-stats-own", folder);
    int there = access(stats_path, R_OK) == 0;
    line = there ? gathered_stats() : NULL;
    rmdir(folder);
    CHECK_CHILD_EXITED(0);
    CHECK_EQ(strlen(child.said), 0);
    CHECK_EQ(stat_number(line, "tasks"), 1);

    gather_stats();
    in_child(using_up, NULL);
    line = gathered_stats();
    CHECK_CHILD_EXITED(0);
    CHECK_EQ(strlen(line), 0);
    CHECK_CHILD_SAID("SCHED_STATS_FILE=");
    CHECK_CHILD_SAID("\"tasks\":1,");
    return 0;
}
