/* together.c: the statements crowd and meanwhile. */
#include "program.h"

/* --- crowd -------------------------------------------------------------- */

struct crowd {
    sched_group group;
    struct task child[MOST_BLOCKS];
    int blocks;
};

struct waiter {
    struct task task;
    struct crowd *crowd;
};

static uint64_t sum_of(const struct crowd *crowd)
{
    uint64_t sum = 0;
    for (int i = 0; i < crowd->blocks; i++)
        sum += value_of_ended(&crowd->child[i]);
    return sum;
}

static void wait_too(void *closure, struct scheduler *s)
{
    struct waiter *waiter = closure;
    CHECK_EQ(waiter->task.begun++, 0);
    atomic_fetch_add_explicit(&waiter->task.totals->tasks, 1, memory_order_relaxed);
    CHECK_EQ(sched_group_wait(&waiter->crowd->group, s), 0);
    waiter->task.value = sum_of(waiter->crowd);
    CHECK_EQ(waiter->task.ended++, 0);
}

/* The tasks that wait are queued when the group has its tasks, so each of them waits for all. */
uint64_t do_crowd(const struct statement *now, uint64_t path, struct task *task, struct scheduler *s)
{
    struct crowd crowd = {.group = SCHED_GROUP_INIT, .blocks = now->blocks};
    struct waiter waiter[MOST_BLOCKS];
    sched_group waiters = SCHED_GROUP_INIT;
    int n = (int)now->n[0];
    for (int i = 0; i < now->blocks; i++) {
        crowd.child[i] = task_of(&now->block[i], part(path, i), task);
        if (!accepted(sched_group_spawn(&crowd.group, run_awaited, &crowd.child[i], s)))
            run_awaited(&crowd.child[i], s);
    }
    for (int i = 0; i < n; i++) {
        waiter[i] = (struct waiter){task_of(NULL, path, task), &crowd};
        if (!accepted(sched_group_spawn(&waiters, wait_too, &waiter[i], s)))
            wait_too(&waiter[i], s);
    }
    CHECK_EQ(sched_group_wait(&crowd.group, s), 0);
    uint64_t value = path + sum_of(&crowd);
    CHECK_EQ(sched_group_wait(&waiters, s), 0); /* until then the crowd's group must be there */
    for (int i = 0; i < n; i++)
        value += value_of_ended(&waiter[i].task);
    return value;
}

/* --- meanwhile ---------------------------------------------------------- */

struct gang {
    atomic_int begun, computes;
    int all;
};

struct member {
    struct task task;
    struct gang *gang;
};

/* Until all have begun. It calls nothing of the library: if a worker sleeps, the spawn must have woken it. */
static void compute_until_all(struct gang *gang)
{
    for (unsigned turns = 1; atomic_load_explicit(&gang->computes, memory_order_relaxed)
                             && atomic_load_explicit(&gang->begun, memory_order_relaxed) < gang->all; turns++)
        if (turns % 4096 == 0)
            sched_yield(); /* the processor, to any other thread */
}

static void run_member(void *closure, struct scheduler *s)
{
    struct member *member = closure;
    atomic_fetch_add_explicit(&member->gang->begun, 1, memory_order_relaxed);
    compute_until_all(member->gang);
    run_awaited(&member->task, s);
}

static void run_first(void *closure, struct scheduler *s)
{
    struct gang *gang = closure;
    (void)s;
    atomic_fetch_add_explicit(&gang->begun, 1, memory_order_relaxed);
}

/* The workers of the run. (sched_worker_count counts the places of threads from outside, too.) */
static int workers_of(struct scheduler *s)
{
    struct sched_stats stats;
    CHECK_EQ(sched_stats(s, &stats, sizeof stats), 0);
    return (int)stats.threads;
}

/* Whether this many tasks may compute until others have begun: at least one worker does not. */
static int may_compute(struct context *run, int tasks, struct scheduler *s)
{
    if (sched_worker_index(s) < 0)
        return 0;
    if (atomic_fetch_add(run->computing, tasks) + tasks < workers_of(s))
        return 1;
    atomic_fetch_sub(run->computing, tasks);
    return 0;
}

uint64_t do_meanwhile(const struct statement *now, uint64_t path, struct task *task, struct scheduler *s)
{
    struct member member[MOST_BLOCKS];
    sched_group group = SCHED_GROUP_INIT;
    uint64_t value = path;
    int computes = may_compute(task->run, now->blocks, s);
    struct gang gang = {0, computes, now->blocks};
    /* If tasks may compute, the first task begins on another worker before the gang is queued. Its join then takes the
     * gang's youngest task out of the queue and restores it: a worker that goes to sleep meanwhile must be woken. */
    struct gang first = {0, computes, 1};
    sched_task first_task;
    sched_fork(&first_task, run_first, &first, s);
    compute_until_all(&first);
    for (int i = 0; i < now->blocks; i++) {
        member[i] = (struct member){task_of(&now->block[i], part(path, i), task), &gang};
        if (!accepted(sched_group_spawn(&group, run_member, &member[i], s))) {
            gang.computes = 0; /* else this would wait for tasks that are not spawned yet */
            run_member(&member[i], s);
        }
    }
    sched_join(&first_task, s);
    compute_until_all(&gang);
    if (computes)
        atomic_fetch_sub(task->run->computing, now->blocks);
    CHECK_EQ(sched_group_wait(&group, s), 0);
    for (int i = 0; i < now->blocks; i++)
        value += value_of_ended(&member[i].task);
    return value;
}
