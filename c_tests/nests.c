/* nests: runs within tasks. */
#include "case.h"
#include "marks.h"
#include "pool.h"
#include "sync.h"
#include "proc.h"
#include <sched_tasks.h>
#include <stdatomic.h>
#include <time.h>

/* nested: sched_init inside a task is a run of its own; its tasks may also spawn into the outer
 * run, which continues.
 * ctest: matrix
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace */
enum { OUTER = 3, INNER = 20 };

static struct scheduler *volatile outer_run;

static void nested_inner(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    mark(i);
    if (i % INNER == 0)
        for (long k = 1; k < INNER; k++)
            CHECK_EQ(sched_spawn(nested_inner, (void *)(i + k), s), 0);
    CHECK_EQ(sched_spawn(mark_number, (void *)(OUTER * INNER + i), outer_run), 0);
}

static void nested_outer(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    CHECK_EQ(sched_init(2, 4, nested_inner, (void *)(i * INNER)), 0);
    for (long k = 0; k < INNER; k++)
        CHECK_EQ(marks[i * INNER + k], 1);
    mark(2 * OUTER * INNER + i);
}

static void nested_root(void *closure, struct scheduler *s)
{
    outer_run = s;
    for (long i = 0; i < OUTER; i++)
        CHECK_EQ(sched_spawn(nested_outer, (void *)i, s), 0);
}

CASE(nested)
{
    CHECK_EQ(sched_init(4, 4, nested_root, NULL), 0);
    check_marks(2 * OUTER * INNER + OUTER);
}

/* nested_deep: Runs within runs, 50 deep: each continues while its task waits for the next, tasks
 * of each add to the one around it, and all are complete when they return.
 * ctest: static
 * ctest: matrix idle=park,spin deque=split,mutex threads=2 timeout=60
 * ctest: matrix kind=steal idle=park deque=split threads=1,4 timeout=60 */
enum { DEPTH = 50, DEEP_TASKS = 8 };

static struct scheduler *_Atomic runs[DEPTH + 1];

static void level(void *closure, struct scheduler *s)
{
    long depth = (long)closure;
    runs[depth] = s;
    for (long i = 0; i < DEEP_TASKS; i++) /* half of them for the run around this one */
        CHECK_EQ(sched_spawn(mark_number, (void *)(depth * DEEP_TASKS + i), i % 2 && depth > 0 ? runs[depth - 1] : s), 0);
    if (depth + 1 < DEPTH)
        CHECK_EQ(sched_init(2, 4, level, (void *)(depth + 1)), 0);
    for (long i = 0; depth + 1 < DEPTH && i < DEEP_TASKS; i += 2)
        CHECK_EQ(marks[(depth + 1) * DEEP_TASKS + i], 1);
    runs[depth] = NULL;
}

CASE(nested_deep)
{
    for (int round = 0; round < 3; round++) {
        CHECK_EQ(sched_init(2, 4, level, (void *)0), 0);
        check_marks(DEPTH * DEEP_TASKS);
    }
}

/* nested_null: A task of an outer run that is run on top of a task of an inner run may wait by
 * NULL: it continues on its own run's thread, though the inner run has other workers that could
 * continue the stack on which it lies.
 * ctest: static debug
 * ctest: matrix with=threads without=calls idle=park threads=2
 * ctest: matrix with=calls idle=park threads=1 args=alone */
enum { NULL_ROUNDS = 20 };

static struct scheduler *outer;
static struct sched_group null_group;
static struct sched_sem null_sem;
static atomic_int null_waits, posts_begun;
static pthread_t thread;

/* A task of the outer run, which has one worker. */
static void waits_by_null(void *unused, struct scheduler *s)
{
    CHECK(pthread_equal(pthread_self(), thread));
    null_waits = 1;
    CHECK_EQ(sched_sem_wait(&null_sem, NULL), 0);
    CHECK(pthread_equal(pthread_self(), thread));
    CHECK_EQ(sched_worker_index(s), 0);
}

/* A task of the inner run, on its other worker. */
static void null_posts(void *unused, struct scheduler *s)
{
    posts_begun = 1;
    while (!null_waits)
        pause_us(100);
    pause_us(2000);
    CHECK_EQ(sched_sem_post(&null_sem), 0);
}

static void null_inner(void *unused, struct scheduler *s)
{
    if (!pthread_equal(pthread_self(), thread)) { /* the other worker was first */
        CHECK_EQ(sched_spawn(null_inner, NULL, s), 0);
        return;
    }
    CHECK_EQ(sched_spawn(null_posts, NULL, s), 0);
    while (!posts_begun)
        pause_us(100);
    CHECK_EQ(sched_group_spawn(&null_group, waits_by_null, NULL, outer), 0);
    CHECK_EQ(sched_group_wait(&null_group, outer), 0);
}

/* The only worker of the inner run: a thread of the program posts. The spawn leaves the task a stack for children, in
 * kind cont, when it waits. */
static void *posts_alone(void *unused)
{
    null_posts(unused, NULL);
    return NULL;
}

static void inner_alone(void *unused, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(nothing, NULL, s), 0);
    pthread_t poster = begin_thread(posts_alone, NULL);
    CHECK_EQ(sched_group_spawn(&null_group, waits_by_null, NULL, outer), 0);
    CHECK_EQ(sched_group_wait(&null_group, outer), 0);
    CHECK_EQ(sched_spawn(nothing, NULL, s), 0);
    CHECK_EQ(pthread_join(poster, NULL), 0);
}

static int is_alone;

static void starts_inner(void *unused, struct scheduler *s)
{
    outer = s;
    thread = pthread_self();
    CHECK_EQ(is_alone ? sched_init(1, 0, inner_alone, NULL) : sched_init(2, 0, null_inner, NULL), 0);
}

CASE(nested_null)
{
    is_alone = argc > 1 && strcmp(argv[1], "alone") == 0;
    unsetenv("SCHED_THREADS"); /* the outer run has one worker, the inner one two */
    for (int i = 0; i < NULL_ROUNDS; i++) {
        null_group = (struct sched_group)SCHED_GROUP_INIT;
        CHECK_EQ(sched_sem_init(&null_sem, 0), 0);
        null_waits = posts_begun = 0;
        CHECK_EQ(sched_init(1, 0, starts_inner, NULL), 0);
    }
}

/* nested_wait_awake: A task of an inner run waits by the outer run's s, and a task of its own run
 * is queued meanwhile: that one begins at once, not when the worker has waited awake for a while.
 * The awaited task ends soon by itself, before a worker that waits awake gives up. So without that
 * promise the queued task is too late in each round in which no thread loses its processor.
 * ctest: matrix kind=steal deque=split,chaselev idle=park threads=2 */
enum { WAIT_AWAKE_ROUNDS = 100, SOON_NS = 4000 };
static sched_group wait_awake_group;
static atomic_int started, wait_awake_waits, has_begun;
static int in_time;

static long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

static void ends_soon(void *closure, struct scheduler *s)
{
    (void)closure, (void)s;
    started = 1;
    while (!wait_awake_waits)
        ;
    for (long begun = now_ns(); !has_begun && now_ns() - begun < SOON_NS;)
        ;
}

static void begins(void *closure, struct scheduler *s)
{
    (void)closure, (void)s;
    has_begun = 1;
}

static void wait_awake_inner(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(begins, NULL, s), 0);
    wait_awake_waits = 1;
    CHECK_EQ(sched_group_wait(&wait_awake_group, outer), 0);
    in_time += has_begun;
}

static void wait_awake_root(void *closure, struct scheduler *s)
{
    outer = s;
    for (int round = 0; round < WAIT_AWAKE_ROUNDS; round++) {
        started = wait_awake_waits = has_begun = 0;
        CHECK_EQ(sched_group_spawn(&wait_awake_group, ends_soon, NULL, s), 0);
        while (!started)
            ;
        CHECK(sched_init(1, 4, wait_awake_inner, NULL) >= 0);
    }
}

CASE(nested_wait_awake)
{
    CHECK(sched_init(2, 16, wait_awake_root, NULL) >= 0);
    CHECK(in_time > WAIT_AWAKE_ROUNDS / 2);
}

/* nested_waits: A task of an inner run, which a task of an outer run has started, waits by the
 * outer run's s for what another task of the inner run holds or does. That other task continues
 * meanwhile, even if the two have only one thread. The same holds if the first task waits by the s
 * of a run beside its own.
 * ctest: static debug sleeps
 * ctest: matrix deque=split,mutex,chaselev idle=park,nap
 * ctest: matrix deque=split idle=park threads=1 join=help */
enum { WAITS_TASKS = 20 };

static sched_mutex m = SCHED_MUTEX_INIT;
static sched_cond changed = SCHED_COND_INIT;
static sched_barrier all = SCHED_BARRIER_INIT(WAITS_TASKS);
static sched_sem waits_sem = SCHED_SEM_INIT(0);
static long count, turn;
static atomic_int outer_ran;

static void contends(void *closure, struct scheduler *s)
{
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(sched_mutex_lock(&m, outer), 0);
        long now = count;
        sched_task_yield(s);
        count = now + 1;
        CHECK_EQ(sched_mutex_unlock(&m), 0);
    }
    CHECK(sched_barrier_wait(&all, outer) >= 0);
}

static void waits_posts(void *closure, struct scheduler *s)
{
    sched_task_yield(s);
    CHECK_EQ(sched_sem_post(&waits_sem), 0);
}

static void of_outer(void *closure, struct scheduler *s)
{
    sched_task_yield(s);
    waits_posts(closure, s);
    atomic_fetch_add(&outer_ran, 1);
}

static void pings(void *closure, struct scheduler *s)
{
    long me = (long)closure;
    CHECK_EQ(sched_mutex_lock(&m, outer), 0);
    for (int i = 0; i < 20; i++) {
        while (turn != me)
            CHECK_EQ(sched_cond_wait(&changed, &m, outer), 0);
        turn = 1 - me;
        CHECK_EQ(sched_cond_broadcast(&changed), 0);
    }
    CHECK_EQ(sched_mutex_unlock(&m), 0);
}

static void waits_inner(void *closure, struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT, h = SCHED_GROUP_INIT;
    CHECK_TIMES(WAITS_TASKS, sched_group_spawn(&g, contends, NULL, s));
    CHECK_EQ(sched_group_wait(&g, outer), 0);
    CHECK_TIMES(WAITS_TASKS, sched_group_spawn(&h, waits_posts, NULL, s));
    CHECK_TIMES(WAITS_TASKS, sched_sem_wait(&waits_sem, outer));
    CHECK_EQ(sched_group_wait(&h, outer), 0);
    for (long i = 0; i < 2; i++)
        CHECK_EQ(sched_group_spawn(&h, pings, (void *)i, s), 0);
    CHECK_EQ(sched_group_wait(&h, outer), 0);
    if (closure == NULL || sched_worker_index(outer) < 0)
        return; /* the outer run may have no thread but the one below */
    CHECK_EQ(sched_spawn(of_outer, NULL, outer), 0);
    CHECK_EQ(sched_sem_wait(&waits_sem, outer), 0);
}

static void check_counts(void)
{
    CHECK_EQ(count, 5 * WAITS_TASKS);
    CHECK_EQ(turn, 0);
    count = 0;
}

static void starts(void *closure, struct scheduler *s)
{
    outer = s;
    for (int threads = 1; threads <= 3; threads++) {
        CHECK_EQ(sched_init(threads, 10, waits_inner, closure), 0);
        check_counts();
    }
}

static void keep(void *closure, struct scheduler *s)
{
    outer = s;
}

CASE(nested_waits)
{
    struct sched_pool *pool;
    run(1, starts);
    run(2, starts);
    int something = 0;
    CHECK_EQ(sched_init(1, 10, starts, &something), 0);

    /* A run beside, whose s it is. */
    CHECK_EQ(sched_pool_run(pool = pool_of(2), keep, NULL), 0);
    for (int threads = 1; threads <= 3; threads++) {
        CHECK_EQ(sched_init(threads, 10, waits_inner, NULL), 0);
        check_counts();
    }
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

/* nested_wide: Sixty runs within each other, each of which may have 1,000 threads and has few
 * tasks: no kind makes threads that no task needs.
 * ctest: matrix deque=split,mutex idle=park */
enum { RUNS = 60, THREADS = 1000, WIDE_TASKS = 10 };

static int ran, most;

static void wide_leaf(void *closure, struct scheduler *s)
{
    __atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
}

static void within(void *level, struct scheduler *s)
{
    long left = (long)level;
    CHECK_TIMES(WIDE_TASKS, sched_spawn(wide_leaf, NULL, s));
    if (left > 1)
        CHECK_EQ(sched_init(THREADS, 0, within, (void *)(left - 1)), 0);
    else
        most = thread_count();
}

CASE(nested_wide)
{
    unsetenv("SCHED_THREADS");
    CHECK_EQ(sched_init(THREADS, 0, within, (void *)(long)RUNS), 0);
    CHECK_EQ(ran, RUNS * WIDE_TASKS);
    CHECK(most <= RUNS * (WIDE_TASKS + 1) + 1);
}
