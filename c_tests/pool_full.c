/* SCHED_OVERFLOW_REFUSE: a pool that holds qlen tasks from outside refuses further ones, by EAGAIN,
 * and all that it has accepted run.
 * ctest: matrix idle=park threads=1,4 plain */
#include "pool.h"
#include <stdatomic.h>

enum { QLEN = 10 };

static atomic_int ran, begun, open;

static void blocker(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&begun, 1);
    while (!open)
        pause_us(100);
}

static void task(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&ran, 1);
}

int main(void)
{
    struct sched_options options = {.size = sizeof options, .nthreads = 4, .qlen = QLEN,
                                    .overflow = SCHED_OVERFLOW_REFUSE};
    struct sched_pool *pool = sched_pool_create(&options);
    int workers = threads_of(4), accepted = 0;
    CHECK(pool != NULL);
    for (int i = 1; i <= workers; i++) {
        CHECK_EQ(sched_pool_submit(pool, blocker, NULL), 0);
        while (begun < i)
            pause_us(100);
    }
    while (sched_pool_submit(pool, task, NULL) == 0)
        CHECK(++accepted <= QLEN);
    CHECK_EQ(errno, EAGAIN);
    CHECK_EQ(accepted, QLEN);
    CHECK_ERRNO(sched_pool_run(pool, task, NULL), EAGAIN);
    open = 1;
    CHECK_EQ(sched_pool_wait(pool), 0);
    CHECK_EQ(ran, QLEN);
    CHECK_EQ(sched_pool_run(pool, task, NULL), 0);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    CHECK_EQ(ran, QLEN + 1);
    return 0;
}
