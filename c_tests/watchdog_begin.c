/* The watchdog looks at runs while others begin: it sees each run with all of its workers, or does not see it. Each run
 * here has workers that the process did not have before.
 * ctest: static debug timeout=120 */
#include "check.h"
#include <sched_tasks.h>
#include <stdatomic.h>

enum { MOST = 4096 / SMALLER, STEP = 32 };

static atomic_int over;

static void nothing(void *closure, struct scheduler *s)
{
}

static void *looker(void *arg)
{
    while (!over) {
        kill(getpid(), SIGQUIT);
        pause_us(50);
    }
    return NULL;
}

int main(void)
{
    pthread_t thread;
    struct sched_options options = {.size = sizeof options, .nthreads = 1};
    unsetenv("SCHED_THREADS");
    setenv("SCHED_WATCHDOG", "1ms", 1);
    CHECK(freopen("/dev/null", "w", stderr) != NULL);
    struct sched_pool *pool = sched_pool_create(&options);
    CHECK(pool != NULL);
    CHECK_EQ(pthread_create(&thread, NULL, looker, NULL), 0);
    for (int workers = 2; workers <= MOST; workers += STEP)
        CHECK_EQ(sched_init(workers, 0, nothing, NULL), 0);
    over = 1;
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    return 0;
}
