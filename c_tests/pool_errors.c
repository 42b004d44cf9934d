/* What the functions of a pool refuse: NULL, and what would wait for itself. A refusal changes
 * nothing.
 * ctest: matrix idle=park,spin deque=mutex,split threads=1,4 */
#include "pool.h"
#include <stdatomic.h>

static struct sched_pool *pool;
static struct scheduler *outer; /* of the pool */
static atomic_int ran;

static void task(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&ran, 1);
}

static void wait_for_self(void *closure, struct scheduler *s)
{
    if (sched_worker_index(outer) < 0) /* another thread, of the run within */
        return;
    CHECK_ERRNO(sched_pool_wait(pool), EDEADLK);
    CHECK_ERRNO(sched_pool_run(pool, task, NULL), EDEADLK);
    CHECK_ERRNO(sched_pool_destroy(pool), EDEADLK);
}

/* A task of a run within a task of the pool: the pool's task waits for it. */
static void within(void *closure, struct scheduler *s)
{
    outer = s;
    CHECK_EQ(sched_init(1, 4, wait_for_self, closure), 0);
    wait_for_self(closure, s);
}

int main(void)
{
    pool = pool_of(4);
    CHECK_ERRNO(sched_pool_submit(NULL, task, NULL), EINVAL);
    CHECK_ERRNO(sched_pool_submit(pool, NULL, NULL), EINVAL);
    CHECK_ERRNO(sched_pool_run(NULL, task, NULL), EINVAL);
    CHECK_ERRNO(sched_pool_run(pool, NULL, NULL), EINVAL);
    CHECK_ERRNO(sched_pool_wait(NULL), EINVAL);
    CHECK_ERRNO(sched_pool_destroy(NULL), EINVAL);

    CHECK_EQ(sched_pool_run(pool, within, NULL), 0);
    CHECK_EQ(ran, 0);
    CHECK_EQ(sched_pool_run(pool, task, NULL), 0);
    CHECK_EQ(ran, 1);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    return 0;
}
