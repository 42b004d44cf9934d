/* A pool runs what it is given, each task once, and what those spawn; sched_pool_wait and
 * sched_pool_run return when no task is left, again and again; what the tasks wrote is then seen.
 * ctest: static
 * ctest: matrix
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace */
#include "marks.h"
#include "pool.h"

enum { N = 300, ROUNDS = 12 / SMALLER };

static long plain[N]; /* not atomic: the pool orders it */

static void node(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    mark(i);
    plain[i]++;
    for (long child = 3 * i + 1; child <= 3 * i + 3 && child < N; child++)
        CHECK_EQ(sched_spawn(node, (void *)child, s), 0);
}

static void leaf(void *closure, struct scheduler *s)
{
    mark((long)closure);
    plain[(long)closure]++;
}

static void check_round(long *sum)
{
    check_marks(N);
    ++*sum;
    for (int i = 0; i < N; i++)
        CHECK_EQ(plain[i], *sum);
}

static void use(struct sched_pool *pool)
{
    long sum = plain[0];
    CHECK_EQ(sched_pool_wait(pool), 0); /* nothing to wait for */
    for (int round = 0; round < ROUNDS; round++) {
        CHECK_EQ(sched_pool_run(pool, node, (void *)0), 0);
        check_round(&sum);
        for (long i = 0; i < N; i++)
            CHECK_EQ(sched_pool_submit(pool, leaf, (void *)i), 0);
        CHECK_EQ(sched_pool_wait(pool), 0);
        check_round(&sum);
        CHECK_EQ(sched_pool_wait(pool), 0);
        if (round % 3 == 0)
            pause_us(2000); /* the workers go to sleep */
        CHECK_EQ(sched_pool_submit(pool, node, (void *)0), 0);
        CHECK_EQ(sched_pool_wait(pool), 0);
        check_round(&sum);
    }
}

int main(void)
{
    struct sched_pool *four = pool_of(4), *any = sched_pool_create(NULL);
    CHECK(any != NULL);
    use(four);
    use(any); /* two at a time are two */
    use(four);
    CHECK_EQ(sched_pool_destroy(four), 0);
    use(any);
    CHECK_EQ(sched_pool_destroy(any), 0);
    return 0;
}
