/* SCHED_STATS: a pool reports once, when it is destroyed, as a run does at its end.
 * ctest: matrix deque=mutex,split idle=park threads=1,4 */
#include "child.h"
#include "pool.h"
#include "stats_line.h"

static void leaf(void *closure, struct scheduler *s)
{
}

static void body(void *arg)
{
    struct sched_pool *pool = pool_of(4);
    struct stat file;
    for (int i = 0; i < 100; i++)
        CHECK_EQ(sched_pool_submit(pool, leaf, NULL), 0);
    CHECK_EQ(sched_pool_run(pool, leaf, NULL), 0);
    CHECK_EQ(stat(stats_path, &file), 0);
    CHECK_EQ(file.st_size, 0);
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

int main(void)
{
    gather_stats();
    in_child(body, NULL);
    char *line = gathered_stats();
    CHECK_CHILD_EXITED(0);
    CHECK_EQ(stat_number(line, "tasks"), 101);
    CHECK_EQ(stat_number(line, "threads"), threads_of(4));
    CHECK_EQ(strchr(line, '\n')[1], 0);
    return 0;
}
