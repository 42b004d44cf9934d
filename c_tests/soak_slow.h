/* soak_slow.h: rounds of tasks that wait, move to other threads, come from other threads, or belong to groups, pools
 * and runs within runs. They cost microseconds rather than nanoseconds, so a round has fewer of them. As in
 * soak_cheap.h a round returns how many tasks it has checked. */
#ifndef SOAK_SLOW_H
#define SOAK_SLOW_H

#include "soak_cheap.h"
#include "sync.h"

/* --- groups, and arguments that are copied ----------------------------------------- */

static void group_leaf(void *closure, struct scheduler *s)
{
    tally(as_number(closure), s);
}

/* The task i has up to eight children in a group of its own, which it waits for; 8 (i - 1) + 2 is the first. */
static void group_node(void *closure, struct scheduler *s)
{
    uint64_t i = as_number(closure), first = 8 * (i - 1) + 2;
    sched_group g = SCHED_GROUP_INIT;
    tally(i, s);
    for (uint64_t child = first; child < first + 8 && child <= cheap_size; child++)
        if (sched_group_spawn(&g, group_node, as_closure(child), s) != 0) {
            CHECK(get_errno() == EAGAIN && may_refuse());
            group_node(as_closure(child), s);
        }
    CHECK_EQ(sched_group_wait(&g, s), 0);
}

enum { CANCELLED = 256 };

static _Atomic unsigned char cancel_marks[CANCELLED];
static sched_group cancel_group;
static uint64_t cancel_at;

static void cancel_leaf(void *closure, struct scheduler *s)
{
    uint64_t i = as_number(closure);
    CHECK_EQ(atomic_fetch_add(&cancel_marks[i], 1), 0);
    if (i == cancel_at)
        sched_group_cancel(&cancel_group);
}

/* Of a cancelled group no task runs twice, and none after the wait. Then the group is as new. */
static void cancel_root(void *closure, struct scheduler *s)
{
    for (uint64_t turn = 0; turn < cheap_size; turn++) {
        for (uint64_t i = 0; i < CANCELLED; i++)
            if (sched_group_spawn(&cancel_group, cancel_leaf, as_closure(i), s) != 0) {
                int error = get_errno();
                CHECK(error == ECANCELED || (error == EAGAIN && may_refuse()));
            }
        int waited = sched_group_wait(&cancel_group, s);
        CHECK(waited == 0 || get_errno() == ECANCELED);
        CHECK_EQ(waited == -1, cancel_marks[cancel_at]);
        for (int i = 0; i < CANCELLED; i++) {
            CHECK(waited == -1 || may_refuse() || cancel_marks[i] == 1);
            tally_shared_add((struct tally_part){cancel_marks[i], 0, 0}, cancel_marks[i]);
            cancel_marks[i] = 0;
        }
    }
}

static uint64_t cancel_round(uint64_t n, uint64_t *random)
{
    cheap_size = 1 + n / CANCELLED;
    cancel_at = next_random(random) % CANCELLED;
    one_run(cancel_root, random);
    uint64_t ran = atomic_exchange(&tally_shared.count, 0);
    CHECK_EQ(atomic_exchange(&tally_shared.calls, 0), ran);
    tally_check("cancel", 0);
    return ran;
}

struct copied {
    uint64_t number, random;
    unsigned char rest[SCHED_COPY_MAX - 16];
};

/* Like tree_node; the argument is a copy, of a size that its number says, and is changed by the
 * task. */
static void copy_node(void *closure, struct scheduler *s)
{
    struct copied *me = closure;
    uint64_t i = me->number;
    size_t size = me->random % sizeof me->rest;
    for (size_t at = 0; at < size; at++)
        CHECK(me->rest[at] == (unsigned char)i);
    tally(i, s);
    for (uint64_t child = 2 * i; child <= 2 * i + 1 && child <= cheap_size; child++) {
        struct copied it = {child, child * 0x9E3779B97F4A7C15u, {0}};
        size_t length = it.random % sizeof it.rest;
        memset(it.rest, (int)(unsigned char)child, length);
        if (sched_spawn_copy(copy_node, &it, offsetof(struct copied, rest) + length, s) != 0) {
            CHECK(get_errno() == EAGAIN && may_refuse());
            copy_node(&it, s);
        }
    }
    memset(me->rest, 0xAA, size);
}

static void copy_root(void *closure, struct scheduler *s)
{
    struct copied it = {as_number(closure), 0, {0}};
    copy_node(&it, s);
}

/* --- tasks that wait --------------------------------------------------------------- */

static sched_mutex wait_mutex;
static sched_cond wait_cond;
static sched_sem wait_sem;
static sched_barrier wait_barrier;
static uint64_t wait_turns, wait_last;
static _Atomic uint64_t wait_came;
enum { WAIT_TASKS = 32 };

/* Under a mutex, with a yield in it: nobody else changes what it guards. */
static void mutex_task(void *closure, struct scheduler *s)
{
    for (uint64_t turn = 0; turn < wait_turns; turn++) {
        CHECK_EQ(sched_mutex_lock(&wait_mutex, s), 0);
        uint64_t before = wait_last;
        if (turn % 4 == 0)
            sched_task_yield(s);
        CHECK_EQ(wait_last, before);
        wait_last = before + 1;
        CHECK_EQ(sched_mutex_unlock(&wait_mutex), 0);
    }
    tally(as_number(closure), s);
}

/* The tasks take turns, each by a wait at the condition variable. */
static void cond_task(void *closure, struct scheduler *s)
{
    uint64_t me = as_number(closure);
    for (uint64_t turn = 0; turn < wait_turns; turn++) {
        CHECK_EQ(sched_mutex_lock(&wait_mutex, s), 0);
        while (wait_last != turn * WAIT_TASKS + me - 1)
            CHECK_EQ(sched_cond_wait(&wait_cond, &wait_mutex, s), 0);
        wait_last++;
        CHECK_EQ(sched_cond_broadcast(&wait_cond), 0);
        CHECK_EQ(sched_mutex_unlock(&wait_mutex), 0);
    }
    tally(me, s);
}

/* At most two of them are between the wait and the post. */
static void sem_task(void *closure, struct scheduler *s)
{
    for (uint64_t turn = 0; turn < wait_turns; turn++) {
        CHECK_EQ(sched_sem_wait(&wait_sem, s), 0);
        CHECK(atomic_fetch_add(&wait_came, 1) < 2);
        if (turn % 4 == 0)
            sched_task_yield(s);
        CHECK(atomic_fetch_sub(&wait_came, 1) >= 1);
        CHECK_EQ(sched_sem_post(&wait_sem), 0);
    }
    tally(as_number(closure), s);
}

/* After the barrier all have come. */
static void barrier_task(void *closure, struct scheduler *s)
{
    for (uint64_t turn = 0; turn < wait_turns; turn++) {
        atomic_fetch_add(&wait_came, 1);
        CHECK(sched_barrier_wait(&wait_barrier, s) >= 0);
        CHECK(atomic_load(&wait_came) >= (turn + 1) * WAIT_TASKS);
        CHECK(sched_barrier_wait(&wait_barrier, s) >= 0);
    }
    tally(as_number(closure), s);
}

static void yield_task(void *closure, struct scheduler *s)
{
    for (uint64_t turn = 0; turn < wait_turns; turn++)
        sched_task_yield(s);
    tally(as_number(closure), s);
}

static void block_task(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_block_begin(s), 0);
    pause_us((long)(as_number(closure) % 50));
    CHECK_EQ(sched_block_end(s), 0);
    tally(as_number(closure), s);
}

static const struct waits {
    const char *name;
    taskfunc f;
    uint64_t most; /* turns */
    int needs_all; /* no wait ends before all have begun */
} waits[] = {
    {"mutex", mutex_task, 100, 0}, {"cond", cond_task, 20, 1}, {"sem", sem_task, 100, 0},
    {"barrier", barrier_task, 20, 1}, {"yield", yield_task, 200, 0}, {"block", block_task, 1, 0},
};
static const struct waits *wait_kind;

/* Forks the tasks, and joins them in an order that depends on the number of turns. */
static void wait_root(void *closure, struct scheduler *s)
{
    sched_task tasks[WAIT_TASKS];
    for (uint64_t i = 0; i < WAIT_TASKS; i++)
        sched_fork(&tasks[i], wait_kind->f, as_closure(i + 1), s);
    for (uint64_t i = 0; i < WAIT_TASKS; i++)
        sched_join(&tasks[(i * 5 + wait_turns) % WAIT_TASKS], s);
}

static uint64_t wait_round(uint64_t n, uint64_t *random)
{
    wait_kind = &waits[next_random(random) % (sizeof waits / sizeof *waits)];
    /* A fork for which no queue has room calls its task, and the later tasks are not forked before that one ends. */
    while (wait_kind->needs_all && may_refuse())
        wait_kind = &waits[next_random(random) % (sizeof waits / sizeof *waits)];
    wait_turns = 1 + next_random(random) % wait_kind->most;
    wait_last = 0;
    wait_came = 0;
    CHECK_EQ(sched_mutex_init(&wait_mutex), 0);
    CHECK_EQ(sched_cond_init(&wait_cond), 0);
    CHECK_EQ(sched_sem_init(&wait_sem, 2), 0);
    CHECK_EQ(sched_barrier_init(&wait_barrier, WAIT_TASKS), 0);
    one_run(wait_root, random);
    if (wait_kind->f == mutex_task || wait_kind->f == cond_task)
        CHECK_EQ(wait_last, WAIT_TASKS * wait_turns);
    tally_check(wait_kind->name, WAIT_TASKS);
    return WAIT_TASKS;
}

/* --- other threads, runs and pools -------------------------------------------------- */

static struct scheduler *volatile outer_run;
static _Atomic uint64_t next_number;
static struct sched_pool *the_pool;

static uint64_t take_number(void)
{
    uint64_t i = atomic_fetch_add(&next_number, 1);
    return i <= cheap_size ? i : 0;
}

static void *stranger(void *arg)
{
    for (uint64_t i; (i = take_number()) != 0;)
        give(group_leaf, i, outer_run);
    return NULL;
}

static void *submitter(void *arg)
{
    for (uint64_t i; (i = take_number()) != 0;)
        if (sched_pool_submit(the_pool, group_leaf, as_closure(i)) != 0) {
            CHECK(get_errno() == EAGAIN && may_refuse());
            tally_shared_add((struct tally_part){1, i, i * i}, 0);
        }
    return NULL;
}

/* Two threads that run f. What they give to the run may need the worker that this task keeps, but for nothing that
 * the threads wait for. */
static void two_threads(void *(*f)(void *))
{
    pthread_t threads[2];
    int made = 0;
    for (int i = 0; i < 2; i++)
        made += pthread_create(&threads[made], NULL, f, NULL) == 0;
    f(NULL);
    for (int i = 0; i < made; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

static void foreign_root(void *closure, struct scheduler *s)
{
    tally(as_number(closure), s);
    outer_run = s;
    two_threads(stranger);
}

static uint64_t pool_round(uint64_t n, uint64_t *random)
{
    struct sched_options options = {.size = sizeof options,
                                    .nthreads = 1 + (int)(next_random(random) % 4),
                                    .qlen = (int)(next_random(random) % 100)};
    cheap_size = n;
    next_number = 1;
    the_pool = sched_pool_create(&options);
    CHECK(the_pool != NULL);
    two_threads(submitter);
    if (next_random(random) % 2)
        CHECK_EQ(sched_pool_wait(the_pool), 0);
    CHECK_EQ(sched_pool_destroy(the_pool), 0);
    tally_check("pool", n);
    return n;
}

static void nested_leaf(void *closure, struct scheduler *s)
{
    uint64_t i = as_number(closure);
    tally_shared_add((struct tally_part){1, i, i * i}, 0);
}

static void nested_inner(void *closure, struct scheduler *s)
{
    nested_leaf(closure, s);
    for (uint64_t left = 15, i; left > 0 && (i = take_number()) != 0; left--)
        give(nested_leaf, i, s);
}

/* Starts runs while there are numbers, each with up to sixteen tasks. */
static void nested_root(void *closure, struct scheduler *s)
{
    tally(as_number(closure), s);
    for (uint64_t i; (i = take_number()) != 0;) {
        CHECK_EQ(sched_init(2, 8, nested_inner, as_closure(i)), 0);
        if ((i = take_number()) != 0)
            give(group_leaf, i, s);
    }
}

/* --- sorts ------------------------------------------------------------------------- */

static uint32_t sorted[1 << 16];

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void sort_root(void *closure, struct scheduler *s)
{
    tally(as_number(closure), s);
    CHECK_EQ(sched_sort(sorted, cheap_size, sizeof *sorted, compare, s), 0);
}

/* One task is counted, though the sort makes more. */
static uint64_t sort_round(uint64_t n, uint64_t *random)
{
    struct tally_part before = {0, 0, 0}, after = {0, 0, 0};
    cheap_size = n <= sizeof sorted / sizeof *sorted ? n : sizeof sorted / sizeof *sorted;
    for (uint64_t i = 0; i < cheap_size; i++) {
        uint64_t x = sorted[i] = (uint32_t)next_random(random);
        before = (struct tally_part){0, before.sum + x, before.squares + x * x};
    }
    one_run(sort_root, random);
    for (uint64_t i = 0; i < cheap_size; i++) {
        uint64_t x = sorted[i];
        after = (struct tally_part){0, after.sum + x, after.squares + x * x};
        CHECK(i == 0 || sorted[i - 1] <= sorted[i]);
    }
    CHECK(before.sum == after.sum && before.squares == after.squares);
    tally_check("sort", 1);
    return 1;
}

#endif
