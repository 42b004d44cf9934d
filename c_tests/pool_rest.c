/* sched_pool_wait does not come back between a task and the one that it spawns late, nor while
 * tasks are with one worker only.
 * ctest: matrix */
#include "pool.h"
#include <stdatomic.h>

static atomic_int steps;

static void step(void *closure, struct scheduler *s)
{
    long left = (long)closure;
    pause_us(left % 3 * 300);
    if (left > 0)
        CHECK_EQ(sched_spawn(step, (void *)(left - 1), s), 0);
    atomic_fetch_add(&steps, 1);
}

int main(void)
{
    struct sched_pool *pool = pool_of(3);
    for (int round = 0; round < 20; round++) {
        steps = 0;
        CHECK_EQ(sched_pool_submit(pool, step, (void *)20), 0);
        CHECK_EQ(sched_pool_wait(pool), 0);
        CHECK_EQ(steps, 21);
    }
    CHECK_EQ(sched_pool_destroy(pool), 0);
    return 0;
}
