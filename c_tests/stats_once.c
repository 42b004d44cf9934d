/* The statistics of a run are written by one write(2), however long they are: lines of processes that append to one
 * file do not interleave. Counted by a write of the program's own, which the library calls, too.
 * ctest: static
 * ctest: env=SCHED_THREADS=1
 * ctest: env=SCHED_THREADS=100 */
#include "pool.h"
#include "child.h"
#include "stats_line.h"

static int writes;
static size_t least = SIZE_MAX;

ssize_t write(int fd, const void *bytes, size_t n)
{
    writes++;
    if (n < least)
        least = n;
    return syscall(SYS_write, fd, bytes, n);
}

static void task(void *closure, struct scheduler *s)
{
}

static void runs(void *unused)
{
    CHECK_EQ(sched_init(0, 0, task, NULL), 0);
    CHECK_EQ(writes, 1);
    CHECK(least >= (size_t)threads_of(1) * 100); /* each worker has its part */
    struct sched_pool *pool = pool_of(0);
    CHECK_EQ(sched_pool_run(pool, task, NULL), 0);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    CHECK_EQ(writes, 2);
}

static void check_lines(const char *text)
{
    for (int line = 0; line < 2; line++) {
        CHECK(text[0] == '{');
        CHECK_EQ(stat_number(text, "tasks"), 1);
        text = strchr(text, '\n') + 1;
    }
    CHECK_EQ(*text, 0);
}

int main(void)
{
    gather_stats();
    CHECK_IN_CHILD(runs, NULL);
    CHECK_EQ(strlen(child.said), 0);
    check_lines(gathered_stats());

    unsetenv("SCHED_STATS_FILE"); /* to stderr */
    CHECK_IN_CHILD(runs, NULL);
    setenv("SCHED_STATS", "1", 1);
    CHECK_IN_CHILD(runs, NULL);
    return 0;
}
