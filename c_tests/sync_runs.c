/* Tasks of two pools, and of runs that tasks have started, wait for each other: by mutex, semaphore and
 * barrier.
 * ctest: matrix idle=park,nap
 * ctest: matrix idle=park threads=2 join=help */
#include "sync.h"

enum { ROUNDS = 40, TASKS = 4 };

static sched_mutex m = SCHED_MUTEX_INIT;
static sched_barrier all = SCHED_BARRIER_INIT(2 * TASKS);
static sched_sem to[2] = {SCHED_SEM_INIT(0), SCHED_SEM_INIT(0)};
static sched_sem handed = SCHED_SEM_INIT(0);
static long count;

static void player(void *closure, struct scheduler *s)
{
    long me = (long)closure;
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_EQ(sched_sem_wait(&to[me], s), 0);
        CHECK_EQ(sched_sem_post(&to[1 - me]), 0);
    }
}

static void meets(void *closure, struct scheduler *s)
{
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_EQ(sched_mutex_lock(&m, s), 0);
        count++;
        sched_task_yield(s);
        CHECK_EQ(sched_mutex_unlock(&m), 0);
        CHECK(sched_barrier_wait(&all, s) >= 0);
        if (i % 10 == 0)
            CHECK(sched_barrier_wait(&all, s) >= 0);
    }
}

struct outer {
    struct scheduler *s;
    int n;
};

static void gives(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_sem_post(&handed), 0);
}

/* In a run of its own, on top of a task: waits as a task of either. */
static void within(void *closure, struct scheduler *s)
{
    struct outer *outer = closure;
    for (int i = 0; i < outer->n; i++) {
        CHECK_EQ(sched_spawn(gives, NULL, s), 0);
        CHECK_EQ(sched_sem_wait(&handed, s), 0);
        if (sched_worker_index(outer->s) < 0)
            continue; /* on a thread of this run's; the other run may have none but the one below */
        CHECK_EQ(sched_spawn(gives, NULL, outer->s), 0);
        CHECK_EQ(sched_sem_wait(&handed, outer->s), 0); /* its stack is covered: it helps */
        CHECK_EQ(sched_mutex_lock(&m, outer->s), 0);
        CHECK_EQ(sched_mutex_unlock(&m), 0);
    }
}

static void starts(void *closure, struct scheduler *s)
{
    struct outer outer = {s, 20};
    CHECK_EQ(sched_init(2, 10, within, &outer), 0);
}

int main(void)
{
    struct sched_options options = {.size = sizeof options, .nthreads = 2};
    struct sched_pool *pool[2];
    for (int i = 0; i < 2; i++) {
        pool[i] = sched_pool_create(&options);
        CHECK(pool[i] != NULL);
    }
    for (long i = 0; i < 2; i++)
        CHECK_EQ(sched_pool_submit(pool[i], player, (void *)i), 0);
    CHECK_EQ(sched_sem_post(&to[0]), 0);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(sched_pool_wait(pool[i]), 0); /* a task that waits is left */
    CHECK_EQ(sched_sem_trywait(&to[0]), 0);
    for (int i = 0; i < 2 * TASKS; i++)
        CHECK_EQ(sched_pool_submit(pool[i % 2], meets, NULL), 0);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(sched_pool_destroy(pool[i]), 0);
    CHECK_EQ(count, 2 * TASKS * ROUNDS);
    run(2, starts);
    return 0;
}
