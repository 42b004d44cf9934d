/* Who has locked a mutex unlocks it, wherever it is by then: deep in calls, on another worker, in a blocking section,
 * in a run of its own; nobody is taken for another.
 * ctest: static debug
 * ctest: matrix threads=1,4 join=suspend */
#include "block.h"

enum { TASKS = 40, DEPTH = 100 };

static sched_mutex m = SCHED_MUTEX_INIT, own[TASKS]; /* zero is SCHED_MUTEX_INIT */
static sched_cond c = SCHED_COND_INIT;
static struct scheduler *of_outer;
static atomic_int unlocked;
static int turns;

/* Unlocks at the bottom of many frames, or locks there. */
__attribute__((noinline)) static void dig(int depth, int locks, struct scheduler *s)
{
    volatile char frame[1024];
    frame[0] = (char)depth;
    if (depth > 0)
        dig(depth - 1, locks, s);
    else
        CHECK_EQ(locks ? sched_mutex_lock(&m, s) : sched_mutex_unlock(&m), 0);
    frame[1] = frame[0];
}

static void nothing(void *closure, struct scheduler *s)
{
}

static void task(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    sched_task t;
    dig(i % 2 ? DEPTH : 0, 1, s);
    turns++;
    if (i % 3 == 0)
        sched_task_yield(s);
    sched_fork(&t, nothing, NULL, s);
    if (i % 5 == 0)
        block(50, s);
    sched_join(&t, s);
    if (i % 7 == 0)
        begin(s);
    dig(i % 4 > 1 ? DEPTH : 0, 0, s);
    if (i % 7 == 0)
        end(s);
    /* Who could not lock it has not locked it. */
    if (sched_mutex_trylock(&m) == 0)
        CHECK_EQ(sched_mutex_unlock(&m), 0);
    CHECK_EQ(sched_mutex_lock(&m, s), 0);
    while (i == 0 && turns < TASKS)
        CHECK_EQ(sched_cond_wait(&c, &m, s), 0);
    CHECK_EQ(sched_cond_signal(&c), 0);
    CHECK_EQ(sched_mutex_unlock(&m), 0);
    atomic_fetch_add(&unlocked, 1);
}

/* By the s of the run that this lies in, and by its own. */
static void inner(void *closure, struct scheduler *s)
{
    sched_mutex *mine = &own[(long)closure];
    CHECK_EQ(sched_mutex_lock(mine, of_outer), 0);
    CHECK_EQ(sched_mutex_lock(&m, s), 0);
    sched_task_yield(s);
    CHECK_EQ(sched_mutex_unlock(&m), 0);
    CHECK_EQ(sched_mutex_unlock(mine), 0);
}

static void inners(void *closure, struct scheduler *s)
{
    spawn_all(TASKS, inner, s);
}

static void *thread(void *s)
{
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(sched_mutex_lock(&m, s), 0);
        CHECK_EQ(sched_mutex_unlock(&m), 0);
    }
    return NULL;
}

static void root(void *closure, struct scheduler *s)
{
    pthread_t other;
    of_outer = s;
    CHECK_EQ(sched_init(1, TASKS, inners, NULL), 0); /* first: who waits in there keeps this worker */
    spawn_all(TASKS, task, s);
    CHECK_EQ(pthread_create(&other, NULL, thread, s), 0);
    begin(s);
    CHECK_EQ(pthread_join(other, NULL), 0);
    end(s);
}

int main(void)
{
    run(4, root);
    CHECK_EQ(unlocked, TASKS);
    return 0;
}
