/* Each allocation of sched_pool_create fails in turn: it gives NULL, and ENOMEM, or EAGAIN where it was
 * for a thread; no thread is left and nothing hangs. When none fails the pool works.
 * ctest: matrix idle=park,nap deque=mutex,split threads=1,4 timeout=60 */
#include "alloc.h"
#include "child.h"
#include "pool.h"
#include "proc.h"

/* One of them. */
static int ran;

static void task(void *closure, struct scheduler *s)
{
    ran++;
}

static long created_with(long allocations)
{
    struct sched_options options = {.size = sizeof options, .nthreads = 4};
    left = allocations;
    errno = 0;
    struct sched_pool *pool = sched_pool_create(&options);
    int error = errno;
    long rest = left;
    left = LONG_MAX;
    if (pool != NULL) {
        CHECK_EQ(sched_pool_run(pool, task, NULL), 0);
        CHECK_EQ(sched_pool_destroy(pool), 0);
        CHECK_EQ(ran, 1);
        return rest >= 0; /* some failures only cost a thread */
    }
    CHECK(error == ENOMEM || error == EAGAIN);
    CHECK(rest < 0);
    return 0;
}

static void body(void *allocations)
{
    setenv("SCHED_WARM", "0", 1);
    long all = created_with((long)allocations);
    CHECK(threads_become(1));
    _exit(all ? 7 : 0);
}

int main(void)
{
    only_one = 1;
    long n = 0;
    do {
        in_child(body, (void *)n);
        CHECK(WIFEXITED(child.status));
        if (WEXITSTATUS(child.status) != 7)
            CHECK_CHILD_EXITED(0);
    } while (WEXITSTATUS(child.status) != 7 && ++n < 200);
    CHECK(n > 5);
    CHECK(n < 200);
    return 0;
}
