/* sched_pool_destroy waits for all tasks, queued or running, and for those that they add, by
 * sched_spawn or sched_pool_submit; no thread of the pool runs a task afterwards.
 * ctest: matrix */
#include "marks.h"
#include "pool.h"

enum { N = 200, ROUNDS = 30 };

static struct sched_pool *pool;

static void node(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    if (i % 50 == 0)
        pause_us(500);
    for (long child = 2 * i + 1; child <= 2 * i + 2 && child < N; child++)
        if (child % 2)
            CHECK_EQ(sched_spawn(node, (void *)child, s), 0);
        else
            CHECK_EQ(sched_pool_submit(pool, node, (void *)child), 0);
    mark(i);
}

int main(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        pool = pool_of(4);
        if (round % 3 == 0)
            pause_us(1000);
        if (round % 5 != 0)
            CHECK_EQ(sched_pool_submit(pool, node, (void *)0), 0);
        else /* from many: 0 has the others in its tree */
            for (long i = N / 2; i < N; i++)
                CHECK_EQ(sched_pool_submit(pool, node, (void *)i), 0);
        CHECK_EQ(sched_pool_destroy(pool), 0);
        if (round % 5 == 0)
            for (long i = 0; i < N / 2; i++)
                mark(i);
        check_marks(N);
    }
    return 0;
}
