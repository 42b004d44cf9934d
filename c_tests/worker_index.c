/* sched_worker_index: each worker has a number of its own, less than sched_worker_count. The number is
 * the same for every s of the run. A pool counts the places of threads from outside, too. A thread that is no worker has no number: it gets EINVAL, for NULL
 * as well. After the run both functions give EINVAL.
 * ctest: static
 * ctest: matrix */
#include "pool.h"
#include <stdatomic.h>

enum { MOST = 128, N = 400 };

static int wanted;
static atomic_int here[MOST], ran;
static struct scheduler *_Atomic root_s, *_Atomic late;
static atomic_int foreign_done;

static void task(void *closure, struct scheduler *s)
{
    int i = sched_worker_index(s), mine = thread_id();
    CHECK(i >= 0 && i < wanted);
    CHECK_EQ(sched_worker_count(s), wanted);
    CHECK_EQ(sched_worker_count(root_s), wanted);
    CHECK_EQ(sched_worker_index(root_s), i);
    CHECK_EQ(atomic_exchange(&here[i], mine), 0); /* nobody else has it now */
    if (ran % 7 == 0)
        pause_us(50);
    CHECK_EQ(sched_worker_index(s), i);
    CHECK_EQ(atomic_exchange(&here[i], 0), mine);
    atomic_fetch_add(&ran, 1);
    late = s;
}

static void nested(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_worker_count(s), threads_of(1));
    CHECK(sched_worker_index(s) >= 0);
    if (on_caller()) { /* it is a worker of both */
        CHECK_EQ(sched_worker_index(root_s), 0);
        CHECK_EQ(sched_worker_count(root_s), wanted);
    }
}

static void count(void *closure, struct scheduler *s)
{
    wanted = sched_worker_count(s);
}

static void *foreigner(void *s)
{
    CHECK_ERRNO(sched_worker_index(s), EINVAL);
    CHECK_EQ(sched_worker_count(s), wanted);
    foreign_done = 1;
    return NULL;
}

static void root(void *closure, struct scheduler *s)
{
    pthread_t thread;
    root_s = s;
    if (closure == NULL && on_caller())
        CHECK_EQ(sched_worker_index(s), 0);
    for (int i = 0; i < N; i++)
        CHECK_EQ(sched_spawn(task, NULL, s), 0);
    CHECK_EQ(pthread_create(&thread, NULL, foreigner, s), 0);
    pthread_join(thread, NULL);
    CHECK_EQ(foreign_done, 1);
    if (closure == NULL)
        CHECK_EQ(sched_init(1, 1, nested, NULL), 0);
}

int main(void)
{
    wanted = threads_of(4);
    CHECK_ERRNO(sched_worker_index(NULL), EINVAL);
    CHECK_EQ(sched_init(4, 10, root, NULL), 0);
    CHECK_EQ(ran, N);
    CHECK_ERRNO(sched_worker_index(late), EINVAL);
    CHECK_ERRNO(sched_worker_count(late), EINVAL);

    struct sched_pool *pool = pool_of(4);
    CHECK_EQ(sched_pool_run(pool, count, NULL), 0);
    CHECK(wanted >= threads_of(4) && wanted <= MOST); /* and the places of threads from outside */
    CHECK_EQ(sched_pool_run(pool, root, &pool), 0);
    CHECK_EQ(ran, 2 * N);
    CHECK_ERRNO(sched_worker_index(late), EINVAL); /* this thread is none of the pool's */
    CHECK_EQ(sched_worker_count(late), wanted);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    CHECK_ERRNO(sched_worker_count(late), EINVAL);
    return 0;
}
