/* outsiders: threads that are not workers of the run that they work with. */
#include "case.h"
#include "marks.h"
#include "sync.h"
#include "guest.h"
#include "pool.h"
#include <stdatomic.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sched_tasks.h>

/* foreign: A thread that is not a worker may spawn into a running scheduler: its tasks are accepted
 * and run, also while the workers sleep.
 * ctest: matrix
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace */
enum { FOREIGN_THREADS = 2, FOREIGN_N = 500 };

static struct scheduler *_Atomic shared_run;
static atomic_int gone;

static void *foreign_stranger(void *arg)
{
    long base = (long)arg * FOREIGN_N;
    while (!shared_run)
        sched_yield();
    for (long i = 0; i < FOREIGN_N; i++) {
        CHECK_EQ(sched_spawn(mark_number, (void *)(base + i), shared_run), 0);
        if (i == FOREIGN_N / 2)
            pause_us(3000);
    }
    atomic_fetch_add(&gone, 1);
    return NULL;
}

/* Keeps the run open until the strangers have finished, without using processor time. */
static void foreign_root(void *closure, struct scheduler *s)
{
    shared_run = s;
    while (gone < FOREIGN_THREADS)
        pause_us(200);
}

CASE(foreign)
{
    pthread_t threads[FOREIGN_THREADS];
    for (long i = 0; i < FOREIGN_THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, foreign_stranger, (void *)i), 0);
    CHECK_EQ(sched_init(4, 10, foreign_root, NULL), 0);
    check_marks(FOREIGN_THREADS * FOREIGN_N);
    for (int i = 0; i < FOREIGN_THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* foreign_end: A foreign spawn that races with the end of the run is either accepted and run before
 * sched_init returns, or refused with EINVAL; never lost.
 * ctest: matrix */
enum { END_ROUNDS = 25 };
static atomic_long accepted, end_ran;
static long seen_both;

COUNTING_TASK(end_task, end_ran)

static void *end_stranger(void *arg)
{
    struct scheduler *s;
    while (!(s = shared_run))
        sched_yield();
    for (long i = 0; i < 100000; i++) {
        errno = 0;
        int rc = sched_spawn(end_task, NULL, s);
        if (rc != 0) {
            CHECK_EQ(rc, -1);
            CHECK_EQ(errno, EINVAL);
            return NULL;
        }
        atomic_fetch_add(&accepted, 1);
        /* Once some are in: leave the workers time to find nothing, so that the end can come. */
        if (i % 8 == 7)
            pause_us(50);
    }
    check_say("the run never ended\n");
    _exit(1);
}

static void end_root(void *closure, struct scheduler *s)
{
    shared_run = s;
    pause_us((long)closure * 20);
}

CASE(foreign_end)
{
    for (long round = 0; round < END_ROUNDS; round++) {
        shared_run = NULL;
        end_ran = accepted = 0;
        pthread_t thread = begin_thread(end_stranger, NULL);
        CHECK_EQ(sched_init(4, 4, end_root, (void *)(round % 8)), 0);
        long at_return = end_ran;
        pthread_join(thread, NULL);
        CHECK_EQ(end_ran, accepted);
        CHECK_EQ(at_return, accepted);
        seen_both += accepted > 0;
    }
}

/* foreign_memory: A thread of the program starts a run and ends; then another thread creates the
 * next one. The C library gives the new thread the memory of the last one, thread-local variables
 * included. No race is reported there.
 * ctest: matrix idle=park threads=1 */
/* The order of the threads, which race detectors do not see. */
static atomic_int steps;

static void step_to(int step)
{
    atomic_exchange(&steps, step);
}

static void wait_for(int step)
{
    for (int now = step; !atomic_compare_exchange_strong(&steps, &now, step); now = step)
        sched_yield();
}

static void looks(void *closure, struct scheduler *s)
{
    CHECK(sched_worker_index(s) >= 0);
}

static void *starts(void *arg)
{
    run(1, looks);
    return arg;
}

static void *first(void *arg)
{
    run_thread(starts, NULL);
    step_to(1);
    wait_for(3); /* else this thread's memory would be the next one's */
    return arg;
}

/* Occupies the worker that the first thread occupied: the library orders the accesses of threads to
 * one worker. */
static void holds(void *closure, struct scheduler *s)
{
    step_to(2);
    wait_for(3);
}

static void *holder(void *arg)
{
    wait_for(1);
    run(1, holds);
    return arg;
}

static void *second(void *arg)
{
    wait_for(2);
    run_thread(starts, NULL);
    step_to(3);
    return arg;
}

CASE(foreign_memory)
{
    void *(*const all[])(void *) = {first, holder, second};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, all[i], NULL), 0);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

/* foreign_turn: A task from a thread that is not a worker has its turn, even while the run's own
 * tasks keep every queue busy. (Not in a lifo, where the youngest goes first by definition.)
 * ctest: matrix kind=steal,fifo,serial,cont idle=park,spin threads=1,2,4 */
static atomic_int turn;

static void foreign(void *closure, struct scheduler *s)
{
    turn = 1;
}

/* Goes on, by a task after another, until the foreign one has run. */
static void turn_chain(void *closure, struct scheduler *s)
{
    shared_run = s;
    if (!turn)
        CHECK_EQ(sched_spawn(turn_chain, closure, s), 0);
}

static void turn_root(void *closure, struct scheduler *s)
{
    CHECK_TIMES(threads_of(4) + 1, sched_spawn(turn_chain, closure, s));
}

static void *turn_stranger(void *arg)
{
    while (!shared_run)
        sched_yield();
    pause_us(1000);
    CHECK_EQ(sched_spawn(foreign, arg, shared_run), 0);
    return arg;
}

CASE(foreign_turn)
{
    pthread_t thread = begin_thread(turn_stranger, NULL);
    CHECK_EQ(sched_init(4, 4, turn_root, NULL), 0);
    CHECK(turn);
    pthread_join(thread, NULL);
}

/* guest_threads: Threads outside make all kinds of calls at the same time, by NULL and by the s of
 * one pool, more of them than there are places for guests, some of them in threads that end at
 * once: each task runs once, and the pool comes to rest.
 * ctest: static
 * ctest: matrix */
enum { THREADS_THREADS = 12, THREADS_ROUNDS = 12, THREADS_N = 300, THREADS_SPAWNED = 40 };

static struct sched_pool *pool;
static atomic_long spawned, looped;

COUNTING_TASK(threads_add, spawned)

static void nested(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    sched_task t;
    sched_fork(&t, threads_add, NULL, s);
    CHECK_EQ(sched_spawn(threads_add, NULL, NULL), 0); /* in a guest's call NULL is its run */
    atomic_fetch_add(&looped, (long)(hi - lo));
    sched_join(&t, s);
}

static void *thread(void *arg)
{
    struct scheduler *s = arg;
    for (int i = 0; i < THREADS_ROUNDS; i++) {
        sched_group g = SCHED_GROUP_INIT;
        long zero = 0, sum = -1;
        sched_task t;
        CHECK_TIMES(THREADS_SPAWNED, sched_group_spawn(&g, threads_add, NULL, s));
        sched_fork(&t, threads_add, NULL, s);
        CHECK_EQ(sched_for(0, THREADS_N, THREADS_N / 4, nested, NULL, s), 0);
        sched_join(&t, s);
        CHECK_EQ(sched_reduce(0, THREADS_N, 0, sizeof sum, &zero, sum_of, plus, NULL, &sum, s), 0);
        CHECK_EQ(sum, THREADS_N * (THREADS_N - 1L) / 2);
        CHECK_EQ(sched_spawn(threads_add, NULL, s), 0);
        CHECK_EQ(sched_group_wait(&g, s), 0);
    }
    CHECK_EQ(sched_spawn(threads_add, NULL, s), 0); /* left behind by a thread that ends */
    return NULL;
}

static void all_by(struct scheduler *s)
{
    pthread_t threads[THREADS_THREADS];
    spawned = looped = 0;
    for (int i = 0; i < THREADS_THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, thread, s), 0);
    for (int i = 0; i < THREADS_THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

CASE(guest_threads)
{
    const long each = THREADS_SPAWNED + 1 + 2 * 4 + 1; /* a round's: the group, a fork, two in each part, a spawn */
    const long all = THREADS_THREADS * (THREADS_ROUNDS * each + 1);

    pool = pool_of(3);
    all_by(sched_pool_scheduler(pool));
    CHECK_EQ(sched_pool_wait(pool), 0);
    CHECK_EQ(spawned, all);
    CHECK_EQ(looped, (long)THREADS_THREADS * THREADS_ROUNDS * THREADS_N);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    all_by(NULL);
    CHECK_EQ(looped, (long)THREADS_THREADS * THREADS_ROUNDS * THREADS_N);
    while (spawned < all)
        pause_us(200);
    CHECK_EQ(spawned, all);
}

/* guest_turn: Tasks that a thread outside has spawned get their turn although all workers are busy:
 * with tasks that yield until those have run, and with tasks that spawn their successors. The
 * thread has ended, sleeps in a call of its own, or is in a blocking section.
 * ctest: matrix threads=1,2 */
enum { TURN_SPAWNED = 200 / SMALLER };

static struct scheduler *s_of;
static atomic_int turn_ran, turn_busy;

COUNTING_TASK(turn_count, turn_ran)

static void yields(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&turn_busy, 1);
    while (turn_ran < *(int *)closure)
        sched_task_yield(s);
}

static void spawns_itself(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&turn_busy, 1);
    if (turn_ran < *(int *)closure)
        CHECK_EQ(sched_spawn(spawns_itself, closure, s), 0);
}

static sched_group left = SCHED_GROUP_INIT;

static void turn_spawn_all(void)
{
    CHECK_TIMES(TURN_SPAWNED, sched_group_spawn(&left, turn_count, NULL, s_of));
}

static void *ends(void *arg)
{
    turn_spawn_all();
    return NULL;
}

static void turn_waits(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    int in_section = ctx != NULL;
    CHECK_TIMES(TURN_SPAWNED, sched_spawn(turn_count, NULL, s));
    if (in_section) {
        CHECK_EQ(sched_block_begin(s), 0);
        while (turn_ran < TURN_SPAWNED)
            pause_us(200);
        CHECK_EQ(sched_block_end(s), 0);
    } else {
        sched_group g = SCHED_GROUP_INIT;
        CHECK_EQ(sched_group_spawn(&g, turn_count, NULL, s), 0);
        CHECK_EQ(sched_group_wait(&g, s), 0);
        while (turn_ran < TURN_SPAWNED)
            sched_task_yield(s);
    }
}

CASE(guest_turn)
{
    static int enough = TURN_SPAWNED;
    if (!has_threads())
        return;
    int workers = threads_of(2);
    struct sched_pool *pool = pool_of(2);
    s_of = sched_pool_scheduler(pool);
    for (int way = 0; way < 6; way++) {
        turn_ran = turn_busy = 0;
        taskfunc f = way % 2 ? spawns_itself : yields;
        if (way % 2 && shares_stack())
            continue; /* there the youngest task runs first, whatever waits */
        CHECK_TIMES(2 * workers, sched_pool_submit(pool, f, &enough));
        while (turn_busy < 2 * workers)
            pause_us(200);
        if (way / 2 == 0) {
            run_thread(ends, NULL);
            while (turn_ran < TURN_SPAWNED) /* a wait for the group would not run them */
                pause_us(200);
            CHECK_EQ(sched_group_wait(&left, s_of), 0);
        } else {
            CHECK_EQ(sched_for(0, 1, 1, turn_waits, way / 2 == 1 ? NULL : pool, s_of), 0);
        }
        CHECK_EQ(sched_pool_wait(pool), 0);
        CHECK(turn_ran >= TURN_SPAWNED);
    }
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

/* outside_turns: Nobody waits for the end of somebody else's job: while a tree of forks and joins,
 * a loop, a reduction, a sort or a flood keeps every worker busy, a task from outside the run
 * starts long before the job ends: a task that another thread spawns, a loop that it calls, a task
 * that it wakes, a task whose blocking section ends. It starts even if the job's caller holds a
 * mutex that it wants (not with SCHED_JOIN=help: there tasks run on top of that caller).
 * ctest: static
 * ctest: matrix with=threads threads=1,2,4 timeout=120
 * ctest: env=SCHED_PROFILE=1 timeout=120
 * ctest: env=SCHED_STACK=64K timeout=120 */
/* A job ends when all its leaves have run. A leaf computes for LEAF_US, but not after the task from outside has
 * started: then the job ends soon. */
enum { LEAVES = 20000 / SMALLER, LEAF_US = 200, COMPARISONS = 4 * LEAVES, MIN_BUSY = 40, PARTS = 16 };

static atomic_int outside_turns_busy, started, outside_turns_waits;
static sched_sem sem;
static sched_mutex mutex;

static void leaf(void)
{
    if (started)
        return;
    double begun = now();
    while (now() - begun < LEAF_US * 1e-6)
        ;
    outside_turns_busy++;
}

/* --- the jobs --- */

static void node(void *closure, struct scheduler *s)
{
    size_t leaves = (size_t)closure;
    if (leaves == 1) {
        leaf();
        return;
    }
    sched_task other;
    sched_fork(&other, node, (void *)(leaves / 2), s);
    node((void *)(leaves - leaves / 2), s);
    sched_join(&other, s);
}

static void tree(struct scheduler *s)
{
    node((void *)(size_t)LEAVES, s);
}

static void locked_tree(struct scheduler *s)
{
    CHECK_EQ(sched_mutex_lock(&mutex, s), 0);
    tree(s);
    CHECK_EQ(sched_mutex_unlock(&mutex), 0);
}

static void outside_turns_body(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    for (; lo < hi; lo++)
        leaf();
}

static void loop(struct scheduler *s)
{
    CHECK_EQ(sched_for(0, LEAVES, 0, outside_turns_body, NULL, s), 0);
}

static void loop_by_grain(struct scheduler *s)
{
    CHECK_EQ(sched_for(0, LEAVES, 3, outside_turns_body, NULL, s), 0);
}

static void outside_turns_add(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s)
{
    *(size_t *)acc += hi - lo;
    outside_turns_body(lo, hi, ctx, s);
}

static void combine(void *into, const void *from, void *ctx)
{
    *(size_t *)into += *(const size_t *)from;
}

static void reduction(struct scheduler *s)
{
    size_t none = 0, sum;
    CHECK_EQ(sched_reduce(0, LEAVES, 0, sizeof sum, &none, outside_turns_add, combine, NULL, &sum, s), 0);
    CHECK_EQ(sum, LEAVES);
}

static int compare(const void *a, const void *b)
{
    const int *one = a, *other = b;
    static atomic_int calls;
    if (atomic_fetch_add(&calls, 1) % 10 == 0)
        leaf();
    return (*one > *other) - (*one < *other);
}

static void sort(struct scheduler *s)
{
    static int values[COMPARISONS];
    for (int i = 0; i < COMPARISONS; i++)
        values[i] = (int)((unsigned)i * 2654435761u >> 8);
    CHECK_EQ(sched_sort(values, COMPARISONS, sizeof values[0], compare, s), 0);
    for (int i = 1; i < COMPARISONS; i++)
        CHECK(values[i - 1] <= values[i]);
}

static void one_leaf(void *closure, struct scheduler *s)
{
    leaf();
}

static void flood(struct scheduler *s)
{
    /* With SCHED_OVERFLOW=refuse the queue takes fewer. */
    for (int i = 0; i < LEAVES && sched_spawn(one_leaf, NULL, s) == 0; i++)
        ;
}

static void (*const jobs[])(struct scheduler *) = {tree,      locked_tree, loop, loop_by_grain,
                                                   reduction, sort,        flood};

static void call_job(void *closure, struct scheduler *s)
{
    (*(void (*const *)(struct scheduler *))closure)(s);
}

/* --- the tasks from outside --- */

static void start(void *closure, struct scheduler *s)
{
    started = 1;
    CHECK_EQ(sched_mutex_lock(&mutex, s), 0); /* the caller of the job may have it */
    CHECK_EQ(sched_mutex_unlock(&mutex), 0);
}

static void start_when_posted(void *closure, struct scheduler *s)
{
    outside_turns_waits = 1;
    CHECK_EQ(sched_sem_wait(&sem, s), 0);
    start(closure, s);
}

static atomic_int section_ends;

static void start_after_section(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_block_begin(s), 0);
    outside_turns_waits = 1;
    while (!section_ends)
        pause_us(100);
    CHECK_EQ(sched_block_end(s), 0);
    start(closure, s);
}

static void start_part(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    started = 1;
}

static void by_spawn(struct sched_pool *pool)
{
    CHECK_EQ(sched_pool_submit(pool, start, NULL), 0);
}

static void by_loop(struct sched_pool *pool)
{
    CHECK_EQ(sched_for(0, PARTS, 1, start_part, NULL, shared_run), 0);
}

static void by_post(struct sched_pool *pool)
{
    CHECK_EQ(sched_sem_post(&sem), 0);
}

static void by_section(struct sched_pool *pool)
{
    section_ends = 1;
}

static const struct {
    taskfunc before; /* a task that is there before the job; NULL: none */
    void (*come)(struct sched_pool *);
} sources[] = {{NULL, by_spawn},
               {NULL, by_loop},
               {start_when_posted, by_post},
               {start_after_section, by_section}};

static void note_run(void *closure, struct scheduler *s)
{
    shared_run = s;
}

static void outside_turns_beside(struct sched_pool *pool, int job, int source)
{
    outside_turns_busy = started = outside_turns_waits = section_ends = 0;
    if (sources[source].before) {
        CHECK_EQ(sched_pool_submit(pool, sources[source].before, NULL), 0);
        while (!outside_turns_waits)
            pause_us(100);
    }
    CHECK_EQ(sched_pool_submit(pool, call_job, (void *)&jobs[job]), 0);
    while (outside_turns_busy < MIN_BUSY)
        pause_us(100);
    sources[source].come(pool);
    CHECK_EQ(sched_pool_wait(pool), 0);
    CHECK(started);
    if (outside_turns_busy > LEAVES / 2)
        fprintf(stderr, "job %d, source %d: %d leaves of %d\n", job, source, outside_turns_busy, LEAVES);
    CHECK(outside_turns_busy <= LEAVES / 2);
}

CASE(outside_turns)
{
    struct sched_pool *pool = pool_of(threads_of(2));
    CHECK_EQ(sched_sem_init(&sem, 0), 0);
    CHECK_EQ(sched_mutex_init(&mutex), 0);
    CHECK_EQ(sched_pool_run(pool, note_run, NULL), 0);
    const char *join = getenv("SCHED_JOIN");
    for (size_t job = 0; job < sizeof jobs / sizeof jobs[0]; job++) {
        if (jobs[job] == locked_tree && join && strcmp(join, "help") == 0)
            continue;
        for (size_t source = 0; source < sizeof sources / sizeof sources[0]; source++)
            outside_turns_beside(pool, (int)job, (int)source);
    }
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

/* close_joins: A task from outside starts within about a millisecond, too, if the job of each worker forks and joins
 * without a pause, and the task comes just after another one had its turn.
 * ctest: matrix with=deques deque=split,chaselev threads=1,2 timeout=120 */
enum { CLOSE_TASKS = 20 };

static atomic_int close_busy, close_started;

static void no_task(void *closure, struct scheduler *s)
{
}

static void small_tree(void *closure, struct scheduler *s)
{
    size_t leaves = (size_t)closure;
    if (leaves > 1) {
        sched_task other;
        sched_fork(&other, small_tree, (void *)(leaves / 2), s);
        small_tree((void *)(leaves - leaves / 2), s);
        sched_join(&other, s);
    }
}

/* Forks and joins one task after the other, until all tasks from outside have started. */
static void one_by_one(struct scheduler *s)
{
    for (struct patience p = patience_of(20); close_started < CLOSE_TASKS && is_patient(&p);)
        for (int i = 0; i < 100; i++) {
            sched_task task;
            sched_fork(&task, no_task, NULL, s);
            sched_join(&task, s);
        }
}

static void above_another(struct scheduler *s)
{
    sched_task other;
    sched_fork(&other, no_task, NULL, s);
    one_by_one(s);
    sched_join(&other, s);
}

static void tree_by_tree(struct scheduler *s)
{
    for (struct patience p = patience_of(20); close_started < CLOSE_TASKS && is_patient(&p);)
        small_tree((void *)(size_t)64, s);
}

static void (*const close_jobs[])(struct scheduler *) = {one_by_one, above_another, tree_by_tree};

static void call_close_job(void *closure, struct scheduler *s)
{
    close_busy++;
    (*(void (*const *)(struct scheduler *))closure)(s);
    CHECK_EQ(close_started, CLOSE_TASKS);
}

static void close_start(void *closure, struct scheduler *s)
{
    close_started++;
}

CASE(close_joins)
{
    int threads = threads_of(1);
    struct sched_pool *pool = pool_of(threads);
    for (size_t job = 0; job < sizeof close_jobs / sizeof close_jobs[0]; job++) {
        close_busy = close_started = 0;
        CHECK_TIMES(threads, sched_pool_submit(pool, call_close_job, (void *)&close_jobs[job]));
        while (close_busy < threads)
            pause_us(100);
        for (int i = 0; i < CLOSE_TASKS; i++) {
            CHECK_EQ(sched_pool_submit(pool, close_start, NULL), 0);
            while (close_started <= i)
                sched_yield();
        }
        CHECK_EQ(sched_pool_wait(pool), 0);
    }
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

/* overlap: More workers than processors are of use to tasks that sleep: 64 tasks on 64 workers all
 * sleep at the same time, whether one task spawns them or each spawns the next.
 * ctest: matrix with=threads deque=split,mutex,chaselev idle=park,nap threads=64
 * ctest: matrix with=deques deque=split idle=backoff,spin threads=64 */
enum { TASKS = 64 };

static atomic_int asleep, gave_up, overlap_ran;

/* Sleeps until all others sleep. If one has slept for too long, none waits any more. */
static void sleeper(void *closure, struct scheduler *s)
{
    int all, none = 0;
    atomic_fetch_add(&asleep, 1);
    for (struct patience p = patience_of(20); (all = asleep) < TASKS && !gave_up; pause_us(5000))
        if (!is_patient(&p))
            atomic_compare_exchange_strong(&gave_up, &none, all);
    atomic_fetch_add(&overlap_ran, 1);
}

static void overlap_root(void *closure, struct scheduler *s)
{
    CHECK_TIMES(TASKS, sched_spawn(sleeper, NULL, s));
}

/* Each spawns the next, and sleeps. */
static void overlap_chain(void *closure, struct scheduler *s)
{
    long left = (long)closure;
    if (left > 1)
        CHECK_EQ(sched_spawn(overlap_chain, (void *)(left - 1), s), 0);
    sleeper(NULL, s);
}

CASE(overlap)
{
    static const taskfunc ways[] = {overlap_root, overlap_chain};
    for (int way = 0; way < 2; way++) {
        asleep = overlap_ran = 0;
        CHECK_EQ(sched_init(TASKS, 4, ways[way], (void *)(long)TASKS), 0);
        CHECK_EQ(overlap_ran, TASKS);
        if (gave_up)
            CHECK_EQ(gave_up, TASKS); /* as many slept at once */
    }
}

/* From here on the compiler puts spawns, forks and joins into the program. */
#include <sched_sort.h>

/* guest_alone: A thread outside works on its own calls: loops, reductions, sorts, groups and forked
 * tasks of main end although no worker of the pool is free, and while main holds a lock that other
 * tasks of the pool want. By NULL and by the s of a pool. (Kind serial has one thread for all.)
 * ctest: static
 * ctest: matrix threads=1,2 */
enum { ALONE_N = 5000, WANT = 20 };

SCHED_SORT(sort_ints, int, *a < *b)

static atomic_int occupied, released, ran[ALONE_N], locked;
static sched_mutex m;
static int outside;

static void occupy(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&occupied, 1);
    while (!released)
        pause_us(200);
}

static void alone_body(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    int index = sched_worker_index(s);
    CHECK(index >= 0 && index < sched_worker_count(s));
    CHECK_EQ(sched_worker_index(NULL), index);
    for (size_t i = lo; i < hi; i++)
        atomic_fetch_add(&ran[i], 1);
}

static int by_value(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void alone_count(void *closure, struct scheduler *s)
{
    atomic_fetch_add((atomic_int *)closure, 1);
}

static void fib(void *p, struct scheduler *s)
{
    long *n = p, a = *n - 1, b = *n - 2;
    if (*n < 2)
        return;
    sched_task t;
    sched_fork(&t, fib, &a, s);
    fib(&b, s);
    sched_join(&t, s);
    *n = a + b;
}

/* All kinds of calls, by this s. */
static void calls(struct scheduler *s)
{
    long zero = 0, sum = -1, n = 12;
    int numbers[ALONE_N];
    atomic_int counted = 0;
    sched_group g = SCHED_GROUP_INIT;
    sched_task t;

    for (int i = 0; i < ALONE_N; i++)
        ran[i] = 0;
    CHECK_EQ(sched_for(0, ALONE_N, 0, alone_body, NULL, s), 0);
    for (int i = 0; i < ALONE_N; i++)
        CHECK_EQ(ran[i], 1);
    CHECK_EQ(sched_reduce(0, ALONE_N, 0, sizeof sum, &zero, sum_of, plus, NULL, &sum, s), 0);
    CHECK_EQ(sum, ALONE_N * (ALONE_N - 1L) / 2);
    CHECK_EQ(sched_reduce_relaxed(0, ALONE_N, 0, sizeof sum, &zero, sum_of, plus, NULL, &sum, s), 0);
    CHECK_EQ(sum, ALONE_N * (ALONE_N - 1L) / 2);
    for (int i = 0; i < ALONE_N; i++)
        numbers[i] = (i * 7919) % ALONE_N;
    CHECK_EQ(sched_sort(numbers, ALONE_N, sizeof *numbers, by_value, s), 0);
    for (int i = 0; i < ALONE_N; i++)
        CHECK_EQ(numbers[i], i);
    for (int i = 0; i < ALONE_N; i++)
        numbers[i] = (i * 7919) % ALONE_N;
    sort_ints(numbers, ALONE_N, s);
    for (int i = 0; i < ALONE_N; i++)
        CHECK_EQ(numbers[i], i);
    if (outside) { /* in the kinds with one queue these may stand behind tasks of others */
        CHECK_TIMES(WANT, sched_group_spawn(&g, alone_count, (void *)&counted, s));
        CHECK_EQ(sched_group_wait(&g, s), 0);
        CHECK_EQ(counted, WANT);
        sched_fork(&t, fib, &n, s);
        sched_join(&t, s);
        CHECK_EQ(n, 144);
    }
}

static void lock(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_mutex_lock(&m, s), 0);
    atomic_fetch_add(&locked, 1);
    CHECK_EQ(sched_mutex_unlock(&m), 0);
}

/* Occupies all workers of this s, makes all kinds of calls, and frees the workers. */
static void alone_beside(struct scheduler *s, int workers)
{
    sched_group g = SCHED_GROUP_INIT;
    occupied = released = locked = 0;
    CHECK_TIMES(workers, sched_group_spawn(&g, occupy, NULL, s));
    while (occupied < workers)
        pause_us(200);
    calls(s);
    CHECK_EQ(sched_mutex_lock(&m, s), 0);
    CHECK_TIMES(WANT, sched_spawn(lock, NULL, s));
    released = 1;
    CHECK_TIMES(20, sched_for(0, ALONE_N, 0, alone_body, NULL, s));
    CHECK_EQ(locked, 0);
    CHECK_EQ(sched_mutex_unlock(&m), 0);
    CHECK_EQ(sched_group_wait(&g, s), 0);
    while (locked < WANT)
        pause_us(200);
}

CASE(guest_alone)
{
    if (!has_threads())
        return;
    outside = kind_has("deques");
    CHECK_EQ(sched_mutex_init(&m), 0);
    struct sched_pool *pool = pool_of(2);
    alone_beside(sched_pool_scheduler(pool), threads_of(2));
    CHECK_EQ(sched_pool_wait(pool), 0);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    alone_beside(NULL, threads_of(sched_default_threads()));
}
