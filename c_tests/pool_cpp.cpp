/* Pools, options and statistics from C++: struct sched_stats beside the function of that name.
 * ctest: static */
#include "check.h"
#include <sched_tasks.h>

static void task(void *closure, struct scheduler *s)
{
    *static_cast<int *>(closure) = sched_worker_count(s);
}

int main()
{
    struct sched_options options = {};
    struct sched_stats stats;
    int count = 0;
    options.size = sizeof options;
    options.kind = SCHED_KIND_FIFO;
    options.nthreads = 3;
    struct sched_pool *pool = sched_pool_create(&options);
    CHECK(pool != nullptr);
    CHECK_EQ(sched_pool_run(pool, task, &count), 0);
    CHECK(count >= 3); /* and the places of threads from outside */
    CHECK_EQ(sched_pool_destroy(pool), 0);
    CHECK_EQ(sched_last_stats(&stats, sizeof stats), 0);
    CHECK_EQ(stats.tasks, 1);
    return 0;
}
