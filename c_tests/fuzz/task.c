/* task.c: the tasks of a program and the runs that they are in. */
#include "program.h"

statement_function *execute_statement;

void begin_context(struct context *run, struct context *outer, struct scheduler *outer_s)
{
    memset(run, 0, sizeof *run);
    run->outer = outer;
    run->outer_s = outer_s;
    run->computing = &run->own_computing;
    for (int i = 0; i < MUTEXES; i++)
        CHECK_EQ(sched_mutex_init(&run->mutex[i]), 0);
}

void check_context(struct context *run)
{
    size_t visits = 0;
    for (int i = 0; i < MUTEXES; i++) {
        CHECK_EQ(run->locked[i], run->locks[i]);
        CHECK_EQ(sched_mutex_trylock(&run->mutex[i]), 0); /* it was left unlocked */
    }
    for (int i = 0; i < MOST_WORKERS; i++)
        visits += run->visits[i];
    CHECK_EQ(visits, run->visited);
}

struct task task_of(const struct block *block, uint64_t path, const struct task *parent)
{
    return (struct task){.block = block, .path = path, .run = parent->run, .totals = parent->totals};
}

void run_awaited(void *closure, struct scheduler *s)
{
    struct task *task = closure;
    CHECK_EQ(task->begun++, 0);
    atomic_fetch_add_explicit(&task->totals->tasks, 1, memory_order_relaxed);
    task->value = execute(task->block, task->path, task, s);
    CHECK_EQ(task->ended++, 0);
}

void run_copied(void *closure, struct scheduler *s)
{
    struct task *task = closure;
    run_awaited(task, s);
    atomic_fetch_add_explicit(&task->totals->sum, task->value, memory_order_relaxed);
}

void run_alone(void *closure, struct scheduler *s)
{
    run_copied(closure, s);
    free(closure);
}

uint64_t value_of_ended(const struct task *task)
{
    CHECK_EQ(task->begun, 1);
    CHECK_EQ(task->ended, 1);
    return task->value;
}

struct totals unread;

int in_time(int result, const struct task *task)
{
    int error = result == 0 ? 0 : get_errno();
    CHECK(error == 0 || error == ETIMEDOUT || (error == ECANCELED && task->totals == &unread));
    return error == 0;
}

int accepted(int result)
{
    if (result == 0)
        return 1;
    CHECK_EQ(get_errno(), EAGAIN);
    return 0;
}

struct task *new_task(struct task task)
{
    struct task *new = malloc(sizeof *new);
    CHECK(new != NULL);
    *new = task;
    return new;
}

void spawn_alone(const struct block *block, uint64_t path, struct task *task, struct scheduler *s)
{
    struct task *new = new_task(task_of(block, path, task));
    int added = task->run->all ? accepted(sched_group_spawn(task->run->all, run_alone, new, s))
                               : accepted(sched_spawn(run_alone, new, s));
    if (!added)
        run_alone(new, s);
}

uint64_t execute(const struct block *block, uint64_t path, struct task *task, struct scheduler *s)
{
    uint64_t value = 0;
    size_t i = 0;
    for (const struct statement *now = block->first; now; now = now->next)
        value = mix(value + (*execute_statement)(now, part(path, i++), task, s));
    return value;
}
