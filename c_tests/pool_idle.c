/* A pool without tasks costs next to nothing, if its workers park: less than 0.5 % of a processor,
 * before its first task and after many.
 * ctest: sleeps
 * ctest: matrix kind=steal,cont deque=split,mutex idle=park threads=1,8
 * ctest: matrix kind=lifo,fifo deque=mutex,spin,sem idle=park threads=4
 * ctest: matrix kind=serial */
#include "cpu.h"
#include "pool.h"

static void spawner(void *closure, struct scheduler *s)
{
    long left = (long)closure;
    for (int i = 0; i < 2 && left > 0; i++)
        CHECK_EQ(sched_spawn(spawner, (void *)(left - 1), s), 0);
    pause_us(20);
}

int main(void)
{
    struct sched_pool *pool = pool_of(4);
    pause_us(20000); /* it goes to sleep */
    check_idle();
    CHECK_EQ(sched_pool_run(pool, spawner, (void *)8), 0);
    pause_us(100000);
    check_idle();
    CHECK_EQ(sched_pool_destroy(pool), 0);
    return 0;
}
