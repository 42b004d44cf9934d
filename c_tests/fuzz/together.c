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

struct seen {
    struct task task;
    atomic_int begun;
};

static void run_seen(void *closure, struct scheduler *s)
{
    struct seen *seen = closure;
    atomic_store_explicit(&seen->begun, 1, memory_order_relaxed);
    run_awaited(&seen->task, s);
}

/* Whether the task may compute until another has begun. */
static int may_compute(struct context *run, struct scheduler *s)
{
    return sched_worker_index(s) >= 0 && sched_worker_count(s) > 1 && !atomic_flag_test_and_set(run->computes);
}

/* The computing task calls nothing of the library: if another worker sleeps, it must have been woken by the spawn. */
uint64_t do_meanwhile(const struct statement *now, uint64_t path, struct task *task, struct scheduler *s)
{
    struct seen seen = {.task = task_of(&now->block[0], part(path, 0), task)};
    sched_group group = SCHED_GROUP_INIT;
    int computes = may_compute(task->run, s);
    if (!accepted(sched_group_spawn(&group, run_seen, &seen, s)))
        run_seen(&seen, s);
    if (computes) {
        for (unsigned turns = 1; !atomic_load_explicit(&seen.begun, memory_order_relaxed); turns++)
            if (turns % 4096 == 0)
                sched_yield(); /* the processor, to any other thread */
        atomic_flag_clear(task->run->computes);
    }
    CHECK_EQ(sched_group_wait(&group, s), 0);
    return path + value_of_ended(&seen.task);
}
