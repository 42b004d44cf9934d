/* Memory ends (RLIMIT_AS): a task that cannot be queued is refused by EAGAIN, all that were accepted
 * run; a pool that cannot be made gives ENOMEM, a run of it EAGAIN, and nothing has happened.
 * ctest: timeout=60
 * ctest: matrix idle=park threads=1 deque=mutex,split timeout=60 */
#include "child.h"
#include "pool.h"
#include "proc.h"
#include <stdatomic.h>

static atomic_long ran;
static atomic_int begun, flooded;

static void leaf(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&begun, 1);
    while (!flooded) /* the queue must fill: nobody works before that */
        pause_us(1000);
    atomic_fetch_add_explicit(&ran, 1, memory_order_relaxed);
}

static void limit_to(long more_kb)
{
    rlim_t bytes = (rlim_t)(status_kb("VmSize") + more_kb) * 1024;
    struct rlimit limit = {bytes, bytes};
    CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
}

static void little(void *arg)
{
    long accepted = 0;
    struct sched_pool *pool = pool_of(2);
    /* Each worker has a task: later none takes one out of the full queue. */
    for (; accepted < threads_of(2); accepted++) {
        CHECK_EQ(sched_pool_submit(pool, leaf, NULL), 0);
        while (begun <= accepted)
            pause_us(100);
    }
    limit_to(32 * 1024);
    while (sched_pool_submit(pool, leaf, NULL) == 0)
        CHECK(++accepted < 40000000);
    CHECK_EQ(errno, EAGAIN);
    CHECK(accepted > 1000);
    CHECK_ERRNO(sched_pool_run(pool, leaf, NULL), EAGAIN);
    flooded = 1;
    CHECK_EQ(sched_pool_wait(pool), 0);
    CHECK_EQ(ran, accepted);
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

static void *volatile taken; /* else a compiler need not ask for it */

static void nothing(void *arg)
{
    limit_to(0);
    for (size_t size = 1 << 20; size >= 8; size /= 2)
        while ((taken = malloc(size)) != NULL)
            continue;
    for (int i = 0; i < 10; i++)
        CHECK_NO_POOL(NULL, ENOMEM);
}

int main(void)
{
    in_child(little, NULL);
    CHECK_CHILD_EXITED(0);
    in_child(nothing, NULL);
    CHECK_CHILD_EXITED(0);
    return 0;
}
