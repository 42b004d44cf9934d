/* A pool has nthreads threads of its own, none of which is the caller's; where some cannot be made it
 * has the others, and where none can, sched_pool_create gives EAGAIN.
 * ctest: timeout=60
 * ctest: matrix deque=mutex,split idle=park threads=1,4 */
#include "child.h"
#include "pool.h"
#include "proc.h"
#include "seccomp.h"
#include <stdatomic.h>

static atomic_int arrived, all;

static void guest(void *closure, struct scheduler *s)
{
    CHECK(!on_caller());
    atomic_fetch_add(&arrived, 1);
    while (!all)
        pause_us(200);
}

static void full(void *arg)
{
    int wanted = threads_of(4);
    struct sched_pool *pool = pool_of(4);
    for (int i = 0; i < 3 * wanted; i++)
        CHECK_EQ(sched_pool_submit(pool, guest, NULL), 0);
    CHECK(threads_become(wanted + 1));
    for (struct patience p = patience_of(20); arrived < wanted && is_patient(&p);)
        pause_us(1000);
    pause_us(5000);
    CHECK_EQ(arrived, wanted);
    all = 1;
    CHECK_EQ(sched_pool_destroy(pool), 0);
    CHECK_EQ(arrived, 3 * wanted);
    CHECK(threads_become(1));
}

static atomic_int destroyed;

static void destroy(void *value)
{
    atomic_fetch_add(&destroyed, 1);
}

static void set_key(void *key, struct scheduler *s)
{
    CHECK_EQ(pthread_setspecific(*(pthread_key_t *)key, key), 0);
}

/* SCHED_WARM=0: its threads have ended when sched_pool_destroy returns. */
static void unkept(void *arg)
{
    pthread_key_t key;
    setenv("SCHED_WARM", "0", 1);
    CHECK_EQ(pthread_key_create(&key, destroy), 0);
    for (int run = 1; run <= 20; run++) {
        struct sched_pool *pool = pool_of(1);
        CHECK_EQ(sched_pool_run(pool, set_key, &key), 0);
        CHECK_EQ(sched_pool_destroy(pool), 0);
        CHECK(destroyed >= run); /* SCHED_THREADS may want more workers, but one ran it */
    }
}

static void none(void *arg)
{
    no_threads();
    for (int i = 0; i < 100; i++)
        CHECK_NO_POOL(NULL, EAGAIN);
    CHECK_EQ(thread_count(), 1);
}

int main(void)
{
    in_child(full, NULL);
    CHECK_CHILD_EXITED(0);
    in_child(unkept, NULL);
    CHECK_CHILD_EXITED(0);
    in_child(none, NULL);
    CHECK_CHILD_PASSED();
    return 0;
}
