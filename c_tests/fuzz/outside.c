/* outside.c: the statements foreign, pool and run: tasks that come from a thread, and other runs than the task's own. */
#include "program.h"

/* A thread of the statement. */
struct foreign {
    const struct statement *now;
    uint64_t path, value;
    struct task task; /* of which it executes parts */
    struct scheduler *s;
    sched_group *all; /* to wait for at the end; or NULL */
    sched_sem *end;
    pthread_t thread;
};

static void foreign_spawns(struct foreign *foreign)
{
    const struct statement *now = foreign->now;
    for (int i = 0; i < now->blocks; i++)
        spawn_alone(&now->block[i], part(foreign->path, i), &foreign->task, foreign->s);
}

static void foreign_group(struct foreign *foreign)
{
    const struct statement *now = foreign->now;
    struct task child[MOST_BLOCKS];
    sched_group group = SCHED_GROUP_INIT;
    for (int i = 0; i < now->blocks; i++) {
        child[i] = task_of(&now->block[i], part(foreign->path, i), &foreign->task);
        if (!accepted(sched_group_spawn(&group, run_awaited, &child[i], foreign->s)))
            run_awaited(&child[i], foreign->s);
    }
    CHECK_EQ(sched_group_wait(&group, foreign->s), 0);
    for (int i = 0; i < now->blocks; i++)
        foreign->value += value_of_ended(&child[i]);
}

static void foreign_forks(struct foreign *foreign)
{
    const struct statement *now = foreign->now;
    struct task child[MOST_BLOCKS];
    sched_task forked[MOST_BLOCKS];
    for (int i = 0; i < now->blocks; i++) {
        child[i] = task_of(&now->block[i], part(foreign->path, i), &foreign->task);
        sched_fork(&forked[i], run_awaited, &child[i], foreign->s);
    }
    for (int i = now->blocks; i-- > 0;) {
        sched_join(&forked[i], foreign->s);
        foreign->value += value_of_ended(&child[i]);
    }
}

/* A sort, a reduction, and a loop. */
static void foreign_calls(struct foreign *foreign)
{
    struct statement call = {.word = SORT, .n = {FOREIGN_SORTED, 1}};
    do_sort(&call, foreign->path, foreign->s);
    call = (struct statement){.word = REDUCE, .n = {FOREIGN_TERMS, 0}};
    foreign->value += do_reduce(&call, foreign->path, foreign->s);
    foreign->value += loop_over(foreign->now, foreign_loop(foreign->now), foreign->path, &foreign->task, foreign->s);
}

static void *foreign_thread(void *arg)
{
    struct foreign *foreign = arg;
    struct context *run = foreign->task.run;
    CHECK_EQ(sched_mutex_lock(&run->mutex[0], foreign->s), 0); /* a thread waits, among tasks */
    run->locked[0]++;
    CHECK_EQ(sched_mutex_unlock(&run->mutex[0]), 0);
    atomic_fetch_add_explicit(&run->locks[0], 1, memory_order_relaxed);
    switch (foreign->now->n[1] % HOWS) {
    case SPAWNED:
        foreign_spawns(foreign);
        break;
    case GROUPED:
        foreign_group(foreign);
        break;
    case FORKED:
        foreign_forks(foreign);
        break;
    case LOOPED:
        foreign->value += loop_over(foreign->now, foreign_loop(foreign->now), foreign->path, &foreign->task, foreign->s);
        break;
    case SORTED:
        foreign_calls(foreign);
        break;
    }
    if (foreign->all) /* the last thread waits for all tasks */
        CHECK_EQ(sched_group_wait(foreign->all, foreign->s), 0);
    CHECK_EQ(sched_sem_post(foreign->end), 0);
    return NULL;
}

/* The threads, beside the task. It keeps its run open: it waits for them, as a task. */
static uint64_t foreign_threads(struct foreign common, struct scheduler *s)
{
    struct foreign foreign[MOST_BLOCKS];
    const struct statement *now = common.now;
    sched_sem end = SCHED_SEM_INIT(0);
    int threads = (int)now->n[0];
    uint64_t value = common.path;
    for (int i = 0; i < threads; i++) {
        foreign[i] = common;
        foreign[i].path = foreign[i].value = part(common.path, i);
        foreign[i].end = &end;
        CHECK_EQ(pthread_create(&foreign[i].thread, NULL, foreign_thread, &foreign[i]), 0);
    }
    CHECK_TIMES(threads, sched_sem_wait(&end, s));
    for (int i = 0; i < threads; i++) {
        CHECK_EQ(pthread_join(foreign[i].thread, NULL), 0); /* it has nothing left to do */
        value += foreign[i].value;
    }
    return value;
}

static atomic_int default_computing;

uint64_t do_foreign(const struct statement *now, uint64_t path, struct task *task, struct scheduler *s)
{
    struct foreign common = {.now = now, .path = path, .task = *task, .s = s};
    struct context run;
    sched_group all = SCHED_GROUP_INIT;
    struct sched_pool *pool = NULL;
    enum where where = now->n[2] % WHERES;
    if (where == HERE || (where == IN_DEFAULT && task->run->in_default))
        /* (The workers of the default pool might all wait for its tasks, in other runs.) */
        return foreign_threads(common, s);
    begin_context(&run, task->run, s); /* its tasks have objects of their own */
    common.task.run = &run;
    if (where == IN_DEFAULT) {
        common.s = NULL;
        common.all = run.all = &all;
        run.in_default = 1;
        run.computing = &default_computing;
    } else {
        struct sched_options options = {.size = sizeof options, .nthreads = 2, .qlen = 4};
        run.in_default = task->run->in_default;
        pool = sched_pool_create(&options);
        CHECK(pool != NULL);
        common.s = sched_pool_scheduler(pool);
    }
    uint64_t value = foreign_threads(common, s);
    if (pool)
        CHECK_EQ(sched_pool_destroy(pool), 0);
    check_context(&run);
    return value;
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
