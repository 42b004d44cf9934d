/* statements.c: the statement of each word, and those that the other files do not have. */
#include "program.h"
#include <sys/time.h>

static void spawn_copy(const struct statement *now, uint64_t path, struct task *task, struct scheduler *s)
{
    struct task new = task_of(&now->block[0], path, task);
    int added = task->run->all ? accepted(sched_group_spawn_copy(task->run->all, run_copied, &new, sizeof new, s))
                               : accepted(sched_spawn_copy(run_copied, &new, sizeof new, s));
    if (added)
        memset(&new, 0xff, sizeof new); /* the task has a copy */
    else
        run_copied(&new, s);
}

/* A task of the run around this one, which continues while this one does. */
static void spawn_up(const struct statement *now, uint64_t path, struct task *task, struct scheduler *s)
{
    struct context *outer = task->run->outer;
    if (!outer || outer->all) {
        spawn_alone(&now->block[0], path, task, s);
        return;
    }
    struct task *new = new_task(task_of(&now->block[0], path, task));
    new->run = outer;
    if (!accepted(sched_spawn(run_alone, new, task->run->outer_s))) {
        new->run = task->run;
        run_alone(new, s);
    }
}

static uint64_t do_fork(const struct statement *now, uint64_t path, struct task *task, struct scheduler *s)
{
    struct task child[MOST_BLOCKS];
    sched_task forked[MOST_BLOCKS];
    int order[MOST_BLOCKS], n = now->blocks;
    for (int i = 1; i < n; i++) {
        order[i] = now->n[0] == 0 ? n - i : i;
        child[i] = task_of(&now->block[i], part(path, i), task);
        sched_fork(&forked[i], run_awaited, &child[i], s);
    }
    for (int i = n - 1; i > 1 && now->n[0] > 1; i--) { /* R. Fisher and F. Yates, 1938 */
        int j = 1 + (int)(part(now->n[0], i) % (unsigned)i), other = order[i];
        order[i] = order[j];
        order[j] = other;
    }
    uint64_t value = path + execute(&now->block[0], part(path, 0), task, s);
    for (int i = 1; i < n; i++) {
        sched_join(&forked[order[i]], s);
        value += value_of_ended(&child[order[i]]);
    }
    return value;
}

static uint64_t do_group(const struct statement *now, uint64_t path, struct task *task, struct scheduler *s)
{
    struct task child[MOST_BLOCKS];
    sched_group group = SCHED_GROUP_INIT;
    uint64_t value = path;
    for (int i = 0; i < now->blocks; i++) {
        child[i] = task_of(&now->block[i], part(path, i), task);
        if (!accepted(sched_group_spawn(&group, run_awaited, &child[i], s)))
            run_awaited(&child[i], s);
    }
    CHECK_EQ(sched_group_wait(&group, s), 0);
    for (int i = 0; i < now->blocks; i++)
        value += value_of_ended(&child[i]);
    return value;
}

static uint64_t do_cancel(const struct statement *now, uint64_t path, struct task *task, struct scheduler *s)
{
    struct task child[MOST_BLOCKS];
    sched_group group = SCHED_GROUP_INIT;
    int after = (int)now->n[0] < now->blocks ? (int)now->n[0] : now->blocks, refused[MOST_BLOCKS];
    for (int i = 0; i < now->blocks; i++) {
        child[i] = task_of(&now->block[i], part(path, i), task);
        child[i].totals = &unread;
        if (i == after)
            sched_group_cancel(&group);
        refused[i] = !accepted(sched_group_spawn(&group, run_awaited, &child[i], s));
    }
    if (after == now->blocks)
        sched_group_cancel(&group);
    CHECK_EQ(sched_group_cancelled(&group), 1);
    CHECK_ERRNO(sched_group_wait(&group, s), ECANCELED);
    for (int i = 0; i < now->blocks; i++) {
        CHECK_EQ(child[i].begun, child[i].ended);
        CHECK(child[i].begun <= (i < after && !refused[i]));
    }
    CHECK_EQ(sched_group_cancelled(&group), 0);
    return path;
}

/* The worker's index changes at suspension points only, so nobody else counts here meanwhile. */
static uint64_t do_work(const struct statement *now, uint64_t path, struct task *task, struct scheduler *s)
{
    int me = sched_worker_index(s);
    if (me < 0)
        return compute(path, now->n[0]); /* in a blocking section, or not on a worker of this run */
    CHECK(me < sched_worker_count(s) && me < MOST_WORKERS);
    size_t before = task->run->visits[me];
    uint64_t value = compute(path, now->n[0]);
    task->run->visits[me] = before + 1;
    atomic_fetch_add_explicit(&task->run->visited, 1, memory_order_relaxed);
    return value;
}

static uint64_t do_lock(const struct statement *now, uint64_t path, struct task *task, struct scheduler *s)
{
    size_t m = now->n[0];
    struct context *run = task->run;
    if (now->word == LOCK
        || !in_time(sched_mutex_lock_until(&run->mutex[m], sched_now() + (sched_time)now->n[1] * SCHED_MICROSECOND, s), task))
        CHECK_EQ(sched_mutex_lock(&run->mutex[m], s), 0);
    size_t before = run->locked[m];
    uint64_t value = execute(&now->block[0], path, task, s);
    CHECK_EQ(run->locked[m], before);
    run->locked[m] = before + 1;
    CHECK_EQ(sched_mutex_unlock(&run->mutex[m]), 0);
    atomic_fetch_add_explicit(&run->locks[m], 1, memory_order_relaxed);
    return value;
}

static uint64_t do_sleep(const struct statement *now, uint64_t path, struct task *task, struct scheduler *s)
{
    sched_time end = sched_now() + (sched_time)now->n[0] * SCHED_MICROSECOND;
    if (in_time(sched_sleep_until(end, s), task))
        CHECK(sched_now() >= end);
    return path;
}

static uint64_t do_block(const struct statement *now, uint64_t path, struct task *task, struct scheduler *s)
{
    int began = accepted(sched_block_begin(s));
    if (now->n[0])
        pause_us((int)now->n[0]);
    uint64_t value = execute(&now->block[0], path, task, s);
    if (began)
        CHECK_EQ(sched_block_end(s), 0);
    return value;
}

uint64_t do_statement(const struct statement *now, uint64_t path, struct task *task, struct scheduler *s)
{
    uint64_t value = path;
    switch (now->word) {
    case WORK:
        return do_work(now, path, task, s);
    case YIELD:
        for (size_t i = 0; i < now->n[0]; i++)
            sched_task_yield(s);
        return path;
    case SLEEP:
        return do_sleep(now, path, task, s);
    case ALARM:
        CHECK_EQ(setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {0, (suseconds_t)now->n[0] + 1}}, NULL), 0);
        return path;
    case LOCK:
    case WITHIN:
        return do_lock(now, path, task, s);
    case BLOCK:
        return do_block(now, path, task, s);
    case SPAWN:
        spawn_alone(&now->block[0], path, task, s);
        return path;
    case COPY:
        spawn_copy(now, path, task, s);
        return path;
    case UP:
        spawn_up(now, path, task, s);
        return path;
    case FORK:
        return do_fork(now, path, task, s);
    case GROUP:
        return do_group(now, path, task, s);
    case CROWD:
        return do_crowd(now, path, task, s);
    case MEANWHILE:
        return do_meanwhile(now, path, task, s);
    case ORDER:
        return do_order(now, path, task, s);
    case CANCEL:
        return do_cancel(now, path, task, s);
    case FOR:
        return path + loop_over(now, (struct range){now->n[0], now->n[1]}, path, task, s);
    case REDUCE:
        return do_reduce(now, path, s);
    case SORT:
        return do_sort(now, path, s);
    case SEM:
        return do_sem(now, path, task, s);
    case BARRIER:
        return do_barrier(now, path, task, s);
    case PIPE:
        return do_pipe(now, path, task, s);
    case CHANNEL:
        return do_channel(now, path, task, s);
    case STREAM:
        return do_stream(now, path, task, s);
    case FOREIGN:
        return do_foreign(now, path, task, s);
    case POOL:
        return do_pool(now, path, task, s);
    case RUN:
        return do_run(now, path, task, s);
    case REPEAT:
        for (size_t i = 0; i < now->n[0]; i++)
            value = mix(value + execute(&now->block[0], part(path, i), task, s));
        return value;
    case WORDS:
        break;
    }
    abort();
}
