/* A task of an inner run, which a task of an outer run has started, waits by the outer run's s for what another task of
 * the inner run holds or does. That other task goes on meanwhile, even if the two have only one thread. The same holds
 * if the first task waits by the s of a run beside its own.
 * ctest: static debug sleeps
 * ctest: matrix deque=split,mutex,chaselev idle=park,nap
 * ctest: matrix deque=split idle=park threads=1 join=help */
#include "pool.h"
#include "sync.h"

enum { TASKS = 20 };

static sched_mutex m = SCHED_MUTEX_INIT;
static sched_cond changed = SCHED_COND_INIT;
static sched_barrier all = SCHED_BARRIER_INIT(TASKS);
static sched_sem sem = SCHED_SEM_INIT(0);
static struct scheduler *outer;
static long count, turn;
static atomic_int outer_ran;

static void contends(void *closure, struct scheduler *s)
{
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(sched_mutex_lock(&m, outer), 0);
        long now = count;
        sched_task_yield(s);
        count = now + 1;
        CHECK_EQ(sched_mutex_unlock(&m), 0);
    }
    CHECK(sched_barrier_wait(&all, outer) >= 0);
}

static void posts(void *closure, struct scheduler *s)
{
    sched_task_yield(s);
    CHECK_EQ(sched_sem_post(&sem), 0);
}

static void of_outer(void *closure, struct scheduler *s)
{
    sched_task_yield(s);
    posts(closure, s);
    atomic_fetch_add(&outer_ran, 1);
}

static void pings(void *closure, struct scheduler *s)
{
    long me = (long)closure;
    CHECK_EQ(sched_mutex_lock(&m, outer), 0);
    for (int i = 0; i < 20; i++) {
        while (turn != me)
            CHECK_EQ(sched_cond_wait(&changed, &m, outer), 0);
        turn = 1 - me;
        CHECK_EQ(sched_cond_broadcast(&changed), 0);
    }
    CHECK_EQ(sched_mutex_unlock(&m), 0);
}

static void inner(void *closure, struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT, h = SCHED_GROUP_INIT;
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(sched_group_spawn(&g, contends, NULL, s), 0);
    CHECK_EQ(sched_group_wait(&g, outer), 0);
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(sched_group_spawn(&h, posts, NULL, s), 0);
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(sched_sem_wait(&sem, outer), 0);
    CHECK_EQ(sched_group_wait(&h, outer), 0);
    for (long i = 0; i < 2; i++)
        CHECK_EQ(sched_group_spawn(&h, pings, (void *)i, s), 0);
    CHECK_EQ(sched_group_wait(&h, outer), 0);
    if (closure == NULL || sched_worker_index(outer) < 0)
        return; /* the outer run may have no thread but the one below */
    CHECK_EQ(sched_spawn(of_outer, NULL, outer), 0);
    CHECK_EQ(sched_sem_wait(&sem, outer), 0);
}

static void check_counts(void)
{
    CHECK_EQ(count, 5 * TASKS);
    CHECK_EQ(turn, 0);
    count = 0;
}

static void starts(void *closure, struct scheduler *s)
{
    outer = s;
    for (int threads = 1; threads <= 3; threads++) {
        CHECK_EQ(sched_init(threads, 10, inner, closure), 0);
        check_counts();
    }
}

static void keep(void *closure, struct scheduler *s)
{
    outer = s;
}

int main(void)
{
    struct sched_pool *pool;
    run(1, starts);
    run(2, starts);
    int something = 0;
    CHECK_EQ(sched_init(1, 10, starts, &something), 0);

    /* A run beside, whose s it is. */
    CHECK_EQ(sched_pool_run(pool = pool_of(2), keep, NULL), 0);
    for (int threads = 1; threads <= 3; threads++) {
        CHECK_EQ(sched_init(threads, 10, inner, NULL), 0);
        check_counts();
    }
    CHECK_EQ(sched_pool_destroy(pool), 0);
    return 0;
}
