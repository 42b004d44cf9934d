/* What a task may use, a task of a pool may: copies, forks, groups, help while it waits; a thread
 * outside may use the s of a task that runs, and after the pool's end it gives EINVAL.
 * ctest: matrix few refuse */
#include "pool.h"
#include "fib.h"
#include <stdatomic.h>

static struct scheduler *_Atomic known;
static atomic_int ran, hold;

static void add(void *copy, struct scheduler *s)
{
    atomic_fetch_add(&ran, *(int *)copy);
}

static void one(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&ran, 1);
}

static void root(void *closure, struct scheduler *s)
{
    int seven = 7;
    sched_group group = SCHED_GROUP_INIT;
    for (int i = 0; i < 20; i++)
        CHECK_EQ(sched_group_spawn(&group, one, NULL, s), 0);
    CHECK_EQ(sched_group_wait(&group, s), 0);
    CHECK_EQ(ran, 20);
    CHECK_EQ(sched_spawn_copy(add, &seven, sizeof seven, s), 0);
}

static void holder(void *closure, struct scheduler *s)
{
    known = s;
    while (hold)
        pause_us(100);
}

int main(void)
{
    struct sched_pool *pool = pool_of(3);
    long n = 16;
    CHECK_EQ(sched_pool_run(pool, fib, &n), 0);
    CHECK_EQ(n, 987);
    CHECK_EQ(sched_pool_run(pool, root, NULL), 0);
    CHECK_EQ(ran, 27);

    ran = 0;
    hold = 1;
    CHECK_EQ(sched_pool_submit(pool, holder, NULL), 0);
    while (!known)
        pause_us(100);
    for (int i = 0; i < 50; i++)
        CHECK_EQ(sched_spawn(one, NULL, known), 0);
    hold = 0;
    CHECK_EQ(sched_pool_wait(pool), 0);
    CHECK_EQ(ran, 50);
    CHECK_EQ(sched_spawn(one, NULL, known), 0); /* the run goes on, though at rest */
    CHECK_EQ(sched_pool_destroy(pool), 0);
    CHECK_EQ(ran, 51);
    CHECK_ERRNO(sched_spawn(one, NULL, known), EINVAL);
    return 0;
}
