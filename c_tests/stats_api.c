/* sched_stats: what a run did so far, from a task, from another thread, and between two uses of a
 * pool, where the number of tasks is exact; only as much is written as the caller knows.
 * ctest: matrix few */
#include "pool.h"
#include <stdatomic.h>

enum { N = 500, BATCH = 61 };

static struct sched_stats last;
static struct scheduler *_Atomic run;
static atomic_int started, done;

static void leaf(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&done, 1);
}

static void check_errors(struct scheduler *s)
{
    struct sched_stats stats;
    CHECK_ERRNO(sched_stats(NULL, NULL, sizeof stats), EINVAL);
    CHECK_ERRNO(sched_stats(s, NULL, sizeof stats), EINVAL);
    CHECK_ERRNO(sched_stats(s, &stats, 0), EINVAL);
    CHECK_ERRNO(sched_stats(s, &stats, sizeof stats - 1), EINVAL);
    CHECK_ERRNO(sched_stats(s, &stats, SIZE_MAX), EINVAL);
}

static void check_size(struct scheduler *s)
{
    struct {
        struct sched_stats now;
        char later[40];
    } big;
    memset(&big, 0x5a, sizeof big);
    CHECK_EQ(sched_stats(s, &big.now, sizeof big.now), 0);
    for (size_t i = 0; i < sizeof big.later; i++)
        CHECK_EQ(big.later[i], 0x5a);
    CHECK_EQ(sched_stats(s, &big.now, sizeof big), 0);
    for (size_t i = 0; i < sizeof big.later; i++)
        CHECK_EQ(big.later[i], 0);
    CHECK_EQ(big.now.threads, threads_of(4));
}

static void *foreigner(void *arg)
{
    struct sched_stats stats, before = {0};
    for (int i = 0; i < 50; i++) {
        CHECK_EQ(sched_stats(run, &stats, sizeof stats), 0);
        CHECK(stats.tasks >= before.tasks);
        CHECK(stats.seconds >= before.seconds);
        before = stats;
        pause_us(100);
    }
    started = 1;
    return NULL;
}

static void root(void *closure, struct scheduler *s)
{
    pthread_t thread;
    run = s;
    check_errors(s);
    check_size(s);
    CHECK_EQ(pthread_create(&thread, NULL, foreigner, closure), 0);
    while (!started)
        CHECK_EQ(sched_spawn(leaf, NULL, s), 0), pause_us(20);
    pthread_join(thread, NULL);
    for (int i = 0; i < N; i++)
        CHECK_EQ(sched_spawn(leaf, NULL, s), 0);
}

/* Those counted are done, and those done are counted but for a batch of each worker. */
static void ask(void *closure, struct scheduler *s)
{
    struct sched_stats stats;
    int before = done;
    CHECK_EQ(sched_stats(s, &stats, sizeof stats), 0);
    CHECK(stats.tasks <= (size_t)done + 4096);
    CHECK(stats.tasks + (size_t)(BATCH + 1) * stats.threads >= (size_t)before);
    CHECK_EQ(stats.threads + stats.threads_missing, threads_of(4));
}

int main(void)
{
    CHECK_EQ(sched_init(4, 4, root, NULL), 0);
    CHECK_ERRNO(sched_stats(run, &last, sizeof last), EINVAL);

    struct sched_pool *pool = pool_of(4);
    done = 0;
    started = 1;
    for (int round = 1; round <= 5; round++) {
        CHECK_EQ(sched_pool_run(pool, root, NULL), 0);
        CHECK_EQ(sched_stats(run, &last, sizeof last), 0);
        CHECK_EQ(last.tasks, round * (N + 2) - 1);
        CHECK_EQ(done, round * N);
        CHECK(last.seconds > 0);
        CHECK_EQ(sched_pool_run(pool, ask, NULL), 0);
        CHECK_EQ(sched_stats(run, &last, sizeof last), 0);
        CHECK_EQ(last.tasks, round * (N + 2));
    }
    CHECK_EQ(sched_pool_destroy(pool), 0);
    CHECK_ERRNO(sched_stats(run, &last, sizeof last), EINVAL);
    return 0;
}
