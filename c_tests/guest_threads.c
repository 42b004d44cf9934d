/* Threads outside make all kinds of calls at the same time, by NULL and by the s of one pool, more of them
 * than there are places for guests, some of them in threads that end at once: each task runs once, and the
 * pool comes to rest.
 * ctest: static
 * ctest: matrix */
#include "guest.h"
#include <stdatomic.h>

enum { THREADS = 12, ROUNDS = 12, N = 300, SPAWNED = 40 };

static struct sched_pool *pool;
static atomic_long spawned, looped;

static void add(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&spawned, 1);
}

static void nested(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    sched_task t;
    sched_fork(&t, add, NULL, s);
    CHECK_EQ(sched_spawn(add, NULL, NULL), 0); /* in a guest's call NULL is its run */
    atomic_fetch_add(&looped, (long)(hi - lo));
    sched_join(&t, s);
}

static void *thread(void *arg)
{
    struct scheduler *s = arg;
    for (int i = 0; i < ROUNDS; i++) {
        sched_group g = SCHED_GROUP_INIT;
        long zero = 0, sum = -1;
        sched_task t;
        for (int j = 0; j < SPAWNED; j++)
            CHECK_EQ(sched_group_spawn(&g, add, NULL, s), 0);
        sched_fork(&t, add, NULL, s);
        CHECK_EQ(sched_for(0, N, N / 4, nested, NULL, s), 0);
        sched_join(&t, s);
        CHECK_EQ(sched_reduce(0, N, 0, sizeof sum, &zero, sum_of, plus, NULL, &sum, s), 0);
        CHECK_EQ(sum, N * (N - 1L) / 2);
        CHECK_EQ(sched_spawn(add, NULL, s), 0);
        CHECK_EQ(sched_group_wait(&g, s), 0);
    }
    CHECK_EQ(sched_spawn(add, NULL, s), 0); /* left behind by a thread that ends */
    return NULL;
}

static void all_by(struct scheduler *s)
{
    pthread_t threads[THREADS];
    spawned = looped = 0;
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, thread, s), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

int main(void)
{
    const long each = SPAWNED + 1 + 2 * 4 + 1; /* a round's: the group, a fork, two in each part, a spawn */
    const long all = THREADS * (ROUNDS * each + 1);

    pool = pool_of(3);
    all_by(sched_pool_scheduler(pool));
    CHECK_EQ(sched_pool_wait(pool), 0);
    CHECK_EQ(spawned, all);
    CHECK_EQ(looped, (long)THREADS * ROUNDS * N);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    all_by(NULL);
    CHECK_EQ(looped, (long)THREADS * ROUNDS * N);
    while (spawned < all)
        pause_us(200);
    CHECK_EQ(spawned, all);
    return 0;
}
