/* Pools and runs within each other: a task makes a pool and destroys it; a task of a pool calls
 * sched_init; tasks of pool A submit to pool B and back, and wait for B; a run's task hands tasks to
 * a pool that outlives it.
 * ctest: matrix refuse */
#include "pool.h"
#include <stdatomic.h>

static struct sched_pool *a, *b;
static atomic_int ran;

static void count(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&ran, 1);
}

static void with_own_pool(void *closure, struct scheduler *s)
{
    struct sched_pool *own = pool_of(2);
    CHECK_EQ(sched_spawn(count, NULL, s), 0);
    CHECK_EQ(sched_pool_submit(own, count, NULL), 0);
    CHECK_EQ(sched_pool_run(own, count, NULL), 0);
    CHECK_EQ(sched_pool_destroy(own), 0);
    atomic_fetch_add(&ran, 1);
}

static void with_own_run(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_init(2, 4, count, closure), 0);
    CHECK_EQ(sched_spawn(count, closure, s), 0);
    atomic_fetch_add(&ran, 1);
}

/* To and fro. */
static void ball(void *closure, struct scheduler *s)
{
    long left = (long)closure;
    atomic_fetch_add(&ran, 1);
    if (left > 0)
        CHECK_EQ(sched_pool_submit(left % 2 ? a : b, ball, (void *)(left - 1)), 0);
}

static void wait_for_b(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_pool_run(b, count, NULL), 0);
    CHECK_EQ(sched_pool_wait(b), 0);
    CHECK_ERRNO(sched_pool_wait(a), EDEADLK);
    atomic_fetch_add(&ran, 1);
}

static void hand_over(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_pool_submit(a, with_own_run, NULL), 0);
}

int main(void)
{
    a = pool_of(2);
    b = pool_of(3);
    CHECK_EQ(sched_init(2, 4, with_own_pool, NULL), 0);
    CHECK_EQ(ran, 4);
    CHECK_EQ(sched_pool_run(a, with_own_pool, NULL), 0);
    CHECK_EQ(ran, 8);
    CHECK_EQ(sched_pool_run(b, with_own_run, NULL), 0);
    CHECK_EQ(ran, 11);

    CHECK_EQ(sched_pool_submit(a, ball, (void *)200), 0);
    while (ran < 11 + 201) {
        CHECK_EQ(sched_pool_wait(a), 0);
        CHECK_EQ(sched_pool_wait(b), 0);
    }
    CHECK_EQ(sched_pool_run(a, wait_for_b, NULL), 0);
    CHECK_EQ(ran, 11 + 201 + 2);
    CHECK_EQ(sched_init(2, 4, hand_over, NULL), 0);
    CHECK_EQ(sched_pool_destroy(b), 0);
    CHECK_EQ(sched_pool_destroy(a), 0);
    CHECK_EQ(ran, 11 + 201 + 2 + 3);
    return 0;
}
