/* sched_last_stats: the exact numbers of the last run that ended on this thread, nested ones too, and
 * a pool's when it is destroyed; ENOENT on a thread where none has.
 * ctest: matrix few */
#include "pool.h"
#include <stdatomic.h>

static struct sched_stats stats;
static atomic_int slept;

static void leaf(void *closure, struct scheduler *s)
{
}

static void root(void *closure, struct scheduler *s)
{
    for (long i = 0; i < (long)closure; i++)
        CHECK_EQ(sched_spawn(leaf, NULL, s), 0);
    if (closure == NULL) {
        pause_us(5000);
        slept = 1;
    }
}

static void nested(void *closure, struct scheduler *s)
{
    struct sched_stats inner;
    CHECK_EQ(sched_init(2, 4, root, (void *)7), 0);
    CHECK_EQ(sched_last_stats(&inner, sizeof inner), 0);
    CHECK_EQ(inner.tasks, 8);
}

static void *elsewhere(void *arg)
{
    CHECK_ERRNO(sched_last_stats(&stats, sizeof stats), ENOENT);
    CHECK_EQ(sched_init(4, 4, root, (void *)50), 0);
    CHECK_EQ(sched_last_stats(&stats, sizeof stats), 0);
    CHECK_EQ(stats.tasks, 51);
    return arg;
}

int main(void)
{
    pthread_t thread;
    memset(&stats, 0x5a, sizeof stats);
    CHECK_ERRNO(sched_last_stats(&stats, sizeof stats), ENOENT);
    CHECK_EQ(stats.tasks & 0xff, 0x5a);
    CHECK_ERRNO(sched_last_stats(NULL, sizeof stats), EINVAL);
    CHECK_ERRNO(sched_last_stats(&stats, 0), EINVAL);
    CHECK_ERRNO(sched_init(4, 4, NULL, NULL), EINVAL);
    CHECK_ERRNO(sched_last_stats(&stats, sizeof stats), ENOENT);

    for (long n = 1; n <= 1000; n *= 10) {
        CHECK_EQ(sched_init(4, 4, root, (void *)n), 0);
        for (int twice = 0; twice < 2; twice++) {
            CHECK_EQ(sched_last_stats(&stats, sizeof stats), 0);
            CHECK_EQ(stats.tasks, n + 1);
            CHECK_EQ(stats.threads, threads_of(4));
            CHECK_EQ(stats.threads_missing, 0);
        }
        CHECK(stats.queue_peak <= (size_t)n + 1);
        CHECK(stats.seconds > 0);
    }
    CHECK_EQ(sched_init(4, 4, root, NULL), 0);
    CHECK_EQ(sched_last_stats(&stats, sizeof stats), 0);
    CHECK(slept);
    CHECK(stats.seconds >= 0.005);
    CHECK_EQ(stats.tasks, 1);

    CHECK_EQ(sched_init(4, 4, nested, NULL), 0);
    CHECK_EQ(sched_last_stats(&stats, sizeof stats), 0);
    CHECK_EQ(stats.tasks, 1); /* the outer one ended last */

    CHECK_EQ(pthread_create(&thread, NULL, elsewhere, NULL), 0);
    pthread_join(thread, NULL);
    CHECK_EQ(sched_last_stats(&stats, sizeof stats), 0);

    struct sched_pool *pool = pool_of(4);
    CHECK_EQ(sched_pool_run(pool, root, (void *)99), 0);
    CHECK_EQ(sched_last_stats(&stats, sizeof stats), 0);
    CHECK(stats.tasks != 100); /* it goes on */
    CHECK_EQ(sched_pool_destroy(pool), 0);
    CHECK_EQ(sched_last_stats(&stats, sizeof stats), 0);
    CHECK_EQ(stats.tasks, 100);
    return 0;
}
