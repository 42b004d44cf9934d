/* A call that libsched(7) does not list as a suspension point returns in the thread that made it, and no other task
 * runs in that thread meanwhile, though some are queued and the call wakes some. In kind serial no call moves a task to
 * another thread.
 * ctest: matrix few */
#include "pool.h"
#include <sched_tasks.h>

enum { FILLERS = 50, WAITERS = 4 };

static __thread int ran_here;
static sched_sem empty = SCHED_SEM_INIT(0);
static sched_mutex m = SCHED_MUTEX_INIT;
static sched_cond c = SCHED_COND_INIT;
static int wait_for_cond; /* with m held */
static int caller;

__attribute__((noinline)) static int count_here(int more)
{
    ran_here += more;
    __asm__ volatile("" ::: "memory");
    return ran_here;
}

/* Neither the thread changes in the call, nor does another task run in it. */
#define STAYS(call)                                                                                \
    do {                                                                                           \
        int thread_ = thread_id(), count_ = count_here(0);                                         \
        call;                                                                                      \
        CHECK_EQ(thread_id(), thread_);                                                            \
        CHECK_EQ(count_here(0), count_);                                                           \
    } while (0)

/* In kind serial. */
#define ONE_THREAD() CHECK(!kind_is("serial") || thread_id() == caller)

static void filler(void *closure, struct scheduler *s)
{
    count_here(1);
    ONE_THREAD();
}

static void waits_sem(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_sem_wait(&empty, s), 0);
    count_here(1);
    ONE_THREAD();
}

static void waits_cond(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_mutex_lock(&m, s), 0);
    wait_for_cond++;
    CHECK_EQ(sched_cond_wait(&c, &m, s), 0);
    wait_for_cond--;
    CHECK_EQ(sched_mutex_unlock(&m), 0);
    count_here(1);
    ONE_THREAD();
}

static int waiting(struct scheduler *s)
{
    int n;
    CHECK_EQ(sched_mutex_lock(&m, s), 0);
    n = wait_for_cond;
    STAYS(CHECK_EQ(sched_mutex_unlock(&m), 0));
    return n;
}

static void add_fillers(struct scheduler *s)
{
    for (int i = 0; i < FILLERS; i++)
        CHECK_EQ(sched_spawn(filler, NULL, s), 0);
}

/* Calls that add a task: suspension points in kind cont. */
static void adds(struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    sched_task t;
    char byte = 0;
    STAYS(CHECK_EQ(sched_spawn(filler, NULL, s), 0));
    STAYS(CHECK_EQ(sched_spawn_copy(filler, &byte, 1, s), 0));
    STAYS(CHECK_EQ(sched_group_spawn(&g, filler, NULL, s), 0));
    STAYS(CHECK_EQ(sched_group_spawn_copy(&g, filler, &byte, 1, s), 0));
    STAYS(sched_fork(&t, filler, NULL, s));
    sched_join(&t, s);
    CHECK_EQ(sched_group_wait(&g, s), 0);
}

static void looks(struct scheduler *s)
{
    struct sched_stats stats;
    sched_group g = SCHED_GROUP_INIT;
    sched_sem one;
    sched_mutex free_one;
    sched_cond nobody;
    sched_barrier all;
    STAYS(CHECK(sched_worker_index(s) >= 0));
    STAYS(CHECK(sched_worker_count(s) > 0));
    STAYS(CHECK_EQ(sched_stats(s, &stats, sizeof stats), 0));
    STAYS((void)sched_last_stats(&stats, sizeof stats));
    STAYS(CHECK(sched_default_threads() > 0));
    STAYS(CHECK(sched_version() != NULL));
    STAYS(CHECK_EQ(sched_sem_init(&one, 1), 0));
    STAYS(CHECK_EQ(sched_sem_trywait(&one), 0));
    STAYS(CHECK_EQ(sched_mutex_init(&free_one), 0));
    STAYS(CHECK_EQ(sched_mutex_trylock(&free_one), 0));
    STAYS(CHECK_EQ(sched_mutex_unlock(&free_one), 0));
    STAYS(CHECK_EQ(sched_cond_init(&nobody), 0));
    STAYS(CHECK_EQ(sched_cond_signal(&nobody), 0));
    STAYS(CHECK_EQ(sched_barrier_init(&all, 1), 0));
    STAYS(sched_group_cancel(&g));
    STAYS(CHECK_EQ(sched_group_cancelled(&g), 1));
}

static void wakes(struct scheduler *s)
{
    for (int i = 0; i < WAITERS; i++)
        STAYS(CHECK_EQ(sched_sem_post(&empty), 0));
    while (waiting(s) < WAITERS)
        sched_task_yield(s);
    add_fillers(s);
    CHECK_EQ(sched_mutex_lock(&m, s), 0);
    STAYS(CHECK_EQ(sched_cond_signal(&c), 0));
    STAYS(CHECK_EQ(sched_cond_broadcast(&c), 0));
    STAYS(CHECK_EQ(sched_mutex_unlock(&m), 0));
}

/* These keep the thread. */
static void pools(struct scheduler *s)
{
    struct sched_pool *pool;
    STAYS(pool = pool_of(2));
    STAYS(CHECK_EQ(sched_pool_submit(pool, filler, NULL), 0));
    STAYS(CHECK_EQ(sched_pool_wait(pool), 0));
    STAYS(CHECK_EQ(sched_pool_destroy(pool), 0));
}

static void section(struct scheduler *s)
{
    int began;
    STAYS(began = sched_block_begin(s) == 0);
    if (began)
        CHECK_EQ(sched_block_end(s), 0);
    ONE_THREAD();
}

static void root(void *closure, struct scheduler *s)
{
    for (int i = 0; i < WAITERS; i++) {
        CHECK_EQ(sched_spawn(waits_sem, NULL, s), 0);
        CHECK_EQ(sched_spawn(waits_cond, NULL, s), 0);
    }
    for (int round = 0; round < 3; round++)
        sched_task_yield(s); /* to those that are to wait */
    ONE_THREAD();
    add_fillers(s);
    looks(s);
    if (!kind_is("cont"))
        adds(s);
    add_fillers(s);
    wakes(s);
    add_fillers(s);
    section(s);
    add_fillers(s);
    ONE_THREAD();
}

/* Where the tasks of the pool are not those of the run. */
static void with_pools(void *closure, struct scheduler *s)
{
    pools(s);
}

int main(void)
{
    caller = thread_id();
    CHECK_EQ(sched_init(4, 10, root, NULL), 0);
    if (!kind_is("serial"))
        CHECK_EQ(sched_init(4, 10, with_pools, NULL), 0);
    return 0;
}
