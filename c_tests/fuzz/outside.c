/* outside.c: the statements foreign, pool and run: tasks that come from a thread, and other runs than the task's own. */
#include "program.h"

struct foreign {
    const struct statement *now;
    uint64_t path, value;
    struct task *task;
    struct scheduler *s;
    sched_sem end;
};

static void foreign_group(struct foreign *foreign, struct task *parent, struct scheduler *s)
{
    const struct statement *now = foreign->now;
    struct task child[MOST_BLOCKS];
    sched_group group = SCHED_GROUP_INIT;
    for (int i = 0; i < now->blocks; i++) {
        child[i] = task_of(&now->block[i], part(foreign->path, i), parent);
        if (!accepted(sched_group_spawn(&group, run_awaited, &child[i], s)))
            run_awaited(&child[i], s);
    }
    CHECK_EQ(sched_group_wait(&group, s), 0);
    for (int i = 0; i < now->blocks; i++)
        foreign->value += value_of_ended(&child[i]);
}

static void foreign_forks(struct foreign *foreign)
{
    const struct statement *now = foreign->now;
    struct task child[MOST_BLOCKS];
    sched_task forked[MOST_BLOCKS];
    for (int i = 0; i < now->blocks; i++) {
        child[i] = task_of(&now->block[i], part(foreign->path, i), foreign->task);
        sched_fork(&forked[i], run_awaited, &child[i], foreign->s);
    }
    for (int i = now->blocks; i-- > 0;) {
        sched_join(&forked[i], foreign->s);
        foreign->value += value_of_ended(&child[i]);
    }
}

static atomic_int default_computing;

/* In the default pool, whose tasks have objects of their own. */
static void foreign_default(struct foreign *foreign)
{
    struct context run;
    sched_group all = SCHED_GROUP_INIT;
    struct task parent = *foreign->task;
    begin_context(&run, foreign->task->run, foreign->s);
    run.all = &all;
    run.in_default = 1;
    run.computing = &default_computing;
    parent.run = &run;
    foreign_group(foreign, &parent, NULL);
    CHECK_EQ(sched_group_wait(&all, NULL), 0);
    check_context(&run);
}

static void *foreign_thread(void *arg)
{
    struct foreign *foreign = arg;
    const struct statement *now = foreign->now;
    struct context *run = foreign->task->run;
    CHECK_EQ(sched_mutex_lock(&run->mutex[0], foreign->s), 0); /* a thread waits, among tasks */
    run->locked[0]++;
    CHECK_EQ(sched_mutex_unlock(&run->mutex[0]), 0);
    atomic_fetch_add_explicit(&run->locks[0], 1, memory_order_relaxed);
    switch (now->n[0] % 4) {
    case 0:
        for (int i = 0; i < now->blocks; i++)
            spawn_alone(&now->block[i], part(foreign->path, i), foreign->task, foreign->s);
        break;
    case 2:
        foreign_forks(foreign);
        break;
    case 3:
        if (!run->in_default) { /* whose workers might all wait for tasks of this pool in other runs */
            foreign_default(foreign);
            break;
        }
        /* fall through */
    case 1:
        foreign_group(foreign, foreign->task, foreign->s);
        break;
    }
    CHECK_EQ(sched_sem_post(&foreign->end), 0);
    return NULL;
}

/* The task keeps the run open: it waits for the thread, as a task. */
uint64_t do_foreign(const struct statement *now, uint64_t path, struct task *task, struct scheduler *s)
{
    struct foreign foreign = {now, path, path, task, s, SCHED_SEM_INIT(0)};
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, foreign_thread, &foreign), 0);
    CHECK_EQ(sched_sem_wait(&foreign.end, s), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0); /* it has nothing left to do */
    return foreign.value;
}

uint64_t do_pool(const struct statement *now, uint64_t path, struct task *task, struct scheduler *s)
{
    struct context run;
    struct task child[MOST_BLOCKS];
    struct sched_options options = {.size = sizeof options, .nthreads = (int)now->n[0], .qlen = 4};
    struct sched_pool *pool = sched_pool_create(&options);
    uint64_t value = path;
    CHECK(pool != NULL);
    begin_context(&run, task->run, s);
    run.in_default = task->run->in_default;
    for (int i = 0; i < now->blocks; i++) {
        child[i] = task_of(&now->block[i], part(path, i), task);
        child[i].run = &run;
        while (!accepted(sched_pool_submit(pool, run_awaited, &child[i])))
            CHECK_EQ(sched_pool_wait(pool), 0);
        if (i % 4 == 3) {
            CHECK_EQ(sched_pool_wait(pool), 0);
            CHECK_EQ(child[i].ended, 1);
        }
    }
    if (now->n[0] % 2)
        CHECK_EQ(sched_pool_wait(pool), 0);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    for (int i = 0; i < now->blocks; i++)
        value += value_of_ended(&child[i]);
    check_context(&run);
    return value;
}

uint64_t do_run(const struct statement *now, uint64_t path, struct task *task, struct scheduler *s)
{
    struct context run;
    struct task root = task_of(&now->block[0], path, task);
    begin_context(&run, task->run, s);
    run.in_default = task->run->in_default;
    root.run = &run;
    CHECK_EQ(sched_init((int)now->n[0], (int)now->n[1], run_awaited, &root), 0);
    check_context(&run);
    return value_of_ended(&root);
}
