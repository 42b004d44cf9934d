/* sched_pool_scheduler: the same s in each call, which any thread may use until the pool is destroyed;
 * EINVAL for NULL, and for the parent's pool in a child made by fork.
 * ctest: static
 * ctest: matrix few */
#include "pool.h"
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int ran;

static void count(void *closure, struct scheduler *s)
{
    CHECK(closure == NULL || sched_worker_count(closure) == sched_worker_count(s));
    atomic_fetch_add(&ran, 1);
}

int main(void)
{
    struct sched_pool *pool = pool_of(2);
    struct scheduler *s = sched_pool_scheduler(pool);
    int status;

    CHECK(s != NULL);
    CHECK(sched_pool_scheduler(pool) == s);
    errno = 0;
    CHECK(sched_pool_scheduler(NULL) == NULL);
    CHECK_EQ(errno, EINVAL);
    CHECK_EQ(sched_spawn(count, s, s), 0);
    CHECK_EQ(sched_pool_wait(pool), 0);
    CHECK_EQ(ran, 1);
    pid_t child = fork();
    if (child == 0) {
        errno = 0;
        CHECK(sched_pool_scheduler(pool) == NULL);
        CHECK_EQ(errno, EINVAL);
        CHECK_ERRNO(sched_spawn(count, NULL, s), EINVAL);
        _exit(0);
    }
    CHECK(child > 0);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    CHECK_ERRNO(sched_spawn(count, NULL, s), EINVAL);
    return 0;
}
