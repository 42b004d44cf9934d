/* blocks: sections that block, sched_block_begin and sched_block_end. */
#include "case.h"
#include "block.h"
#include "child.h"
#include "leaving.h"
#include "seccomp.h"
#include "proc.h"
#include "pool.h"
#include "marks.h"
#include <sched_tasks.h>
#include <semaphore.h>

/* block_beside: A task whose section has ended continues although its workers have tasks of their
 * own for ever: tasks that compute and spawn themselves again.
 * ctest: matrix with=threads without=calls threads=1,2 */
enum { COMPUTING = 4, BESIDE_ROUNDS = 20, BESIDE_MOST = 500 };

static atomic_int stop, computed;

static void beside_computes(void *closure, struct scheduler *s)
{
    for (volatile int i = 0; i < 5000; i++)
        continue;
    computed++;
    if (!stop)
        CHECK_EQ(sched_spawn(beside_computes, closure, s), 0);
}

/* Counts the tasks that run between the end of the section and the task's next step. The thread may lose its processor
 * before it has ended the section, and then the round counts many; so most rounds must count few, not all. */
static void beside_blocks(void *closure, struct scheduler *s)
{
    (void)closure;
    spawn_all(COMPUTING, beside_computes, s);
    int soon = 0;
    for (int i = 0; i < BESIDE_ROUNDS; i++) {
        begin(s);
        pause_us(300);
        computed = 0;
        end(s);
        soon += computed < BESIDE_MOST;
    }
    stop = 1;
    CHECK(soon > BESIDE_ROUNDS / 2);
}

CASE(block_beside)
{
    run(2, beside_blocks);
    CHECK(stop);
}

/* block_caller: sched_init returns on its caller's thread, when all tasks have ended, also where
 * that thread has left its worker, at any moment of the run; each task is counted once.
 * ctest: static debug
 * ctest: matrix deque=mutex,split,ring
 * ctest: matrix deque=mutex,split idle=park join=help */
enum { CALLER_RUNS = 6, CALLER_TASKS = 30 };

static atomic_int caller_ended, caller, caller_came, caller_blocked;
static int holders; /* that last has spawned */

static void leaf(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    if (i % 3 == 0)
        block(i % 7 * 20, s);
    atomic_fetch_add(&caller_ended, 1);
}

/* The caller's thread is in the section, and all else is over long before. */
static void block_caller(struct scheduler *s)
{
    int spawns_first = !spawn_calls(); /* where a task that is spawned runs at once, and the thread leaves it */
    if (spawns_first)
        spawn_all(CALLER_TASKS, leaf, s);
    begin(s);
    CHECK_EQ(thread_id(), caller);
    atomic_fetch_add(&caller_blocked, 1);
    if (!spawns_first)
        spawn_all(CALLER_TASKS, leaf, s);
    pause_us(2000);
    end(s);
}

/* Holds its worker until a task has come to the caller's thread. The task there blocks. */
static void hold(void *closure, struct scheduler *s)
{
    unsigned turns = 0;
    while (!caller_came) {
        if (thread_id() == caller) {
            caller_came = 1;
            block_caller(s);
            return;
        }
        spin(&turns);
    }
}

/* Any worker may be the first to take this task. If that is not the caller's worker, a task keeps
 * each other worker busy until the caller's worker also has one. (In kind cont this task may come
 * to the caller's thread on the way.) */
static void last(void *closure, struct scheduler *s)
{
    int n = threads_of(2);
    holders = 0;
    caller_came = 0;
    while (holders < n && thread_id() != caller && !caller_came) {
        holders++;
        CHECK_EQ(sched_spawn(hold, NULL, s), 0);
    }
    hold(closure, s);
}

/* The caller's thread retires, and the run continues. */
static void caller_first(void *closure, struct scheduler *s)
{
    block(0, s);
    spawn_all(CALLER_TASKS, leaf, s);
    pause_us(300);
}

/* Again and again: it is seldom the caller's then. */
static void always(void *closure, struct scheduler *s)
{
    for (long i = 0; i < CALLER_TASKS; i++) {
        CHECK_EQ(sched_spawn(leaf, (void *)i, s), 0);
        block(i % 5 * 10, s);
    }
}

APART void run_here(taskfunc f, void *closure)
{
    int here = thread_id();
    caller = here;
    CHECK_EQ(sched_init(2, 4, f, closure), 0);
    CHECK_EQ(thread_id(), here);
}

static void inner_run(void *closure, struct scheduler *s)
{
    taskfunc *f = closure;
    run_here(*f, NULL);
    block(100, s);
    run_here(*f, NULL);
}

static void counted_run(taskfunc f, void *closure, int tasks, int leaves)
{
    struct sched_stats stats;
    int before = caller_ended;
    run_here(f, closure);
    CHECK_EQ(caller_ended, before + leaves);
    CHECK_EQ(sched_last_stats(&stats, sizeof stats), 0);
    CHECK_EQ(stats.tasks, tasks + (f == last ? holders : 0));
}

CASE(block_caller)
{
    taskfunc all[] = {last, caller_first, always};
    for (int i = 0; i < CALLER_RUNS; i++)
        for (int k = 0; k < 3; k++) {
            counted_run(all[k], NULL, 1 + CALLER_TASKS, CALLER_TASKS);
            counted_run(inner_run, &all[k], 1, 2 * CALLER_TASKS);
        }
    CHECK_EQ(caller_blocked, 3 * CALLER_RUNS);
}

/* block_forgotten: A task that returns in a blocking section ends the process with a message,
 * whatever kind of task it is. A task that returns in a child which it made in the section gets a
 * message of its own.
 * ctest: static debug
 * ctest: matrix deque=mutex,split,ring threads=1,4
 * ctest: matrix deque=mutex,split idle=park threads=1,4 join=help */
static const char message[] = "a sched_block_end is missing";

static void forgets(void *closure, struct scheduler *s)
{
    begin(s);
}

static void forgets_outer(void *closure, struct scheduler *s)
{
    begin(s);
    begin(s);
    pause_us(1000);
    end(s);
}

static void spawned(void *closure, struct scheduler *s)
{
    spawn_all(10, nothing, s);
    CHECK_EQ(sched_spawn(forgets, NULL, s), 0);
    spawn_all(10, nothing, s);
}

static void copied(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn_copy(forgets, message, sizeof message, s), 0);
}

static void forked(void *closure, struct scheduler *s)
{
    sched_task t;
    sched_fork(&t, forgets, closure, s);
    pause_us(2000);
    sched_join(&t, s);
}

static void grouped(void *closure, struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    CHECK_EQ(sched_group_spawn(&g, forgets, closure, s), 0);
    sched_group_wait(&g, s);
}

static void forgotten_body(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    if (lo == 500)
        forgets(ctx, s);
}

static void looped(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_for(0, 1000, 1, forgotten_body, closure, s), 0);
}

static void after_others(void *closure, struct scheduler *s)
{
    for (int i = 0; i < 100; i++)
        block(10, s);
    forgets(closure, s);
}

static void forgotten_in_a_run(void *closure, struct scheduler *s)
{
    begin(s);
    sched_init(2, 4, forgets, closure);
    end(s);
}

static void child_returns(void *closure, struct scheduler *s)
{
    begin(s);
    if (fork() == 0)
        return;
    _exit(0);
}

static void forgotten_start(void *task)
{
    sched_init(2, 4, *(taskfunc *)task, NULL);
    check_say("sched_init came back\n");
}

CASE(block_forgotten)
{
    taskfunc ways[] = {forgets, forgets_outer, spawned, copied, forked, grouped, looped, after_others, forgotten_in_a_run};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        in_child(forgotten_start, &ways[i]);
        CHECK_CHILD_ABORTED("a sched_block_end is missing");
        CHECK(strstr(child.said, "came back") == NULL);
    }
    taskfunc returning = child_returns;
    in_child(forgotten_start, &returning);
    CHECK_CHILD_SAID("returned in a child");
}

/* block_leave: Ways out of a blocking section: exit, _exit, quick_exit; fork with a run in the
 * child, where the parent's s is refused; pthread_exit and cancellation, which end the process with
 * a message, as elsewhere; an overflow of the stack says so.
 * ctest: static debug
 * ctest: matrix deque=mutex,split,chaselev idle=park threads=1,2,4
 * ctest: matrix deque=mutex,split idle=park threads=2 env=SCHED_WARM=0 */
static void busy(void *closure, struct scheduler *s)
{
    for (int i = 0; i < 20; i++) {
        sched_task_yield(s);
        block(10, s);
    }
}

static void get_ready(struct scheduler *s)
{
    spawn_all(5, busy, s);
    begin(s);
    pause_us(500);
}

static void go_on(struct scheduler *s)
{
    end(s);
}

static void try_parents(struct scheduler *s)
{
    CHECK_ERRNO(sched_block_end(s), EINVAL);
    CHECK_ERRNO(sched_block_begin(s), EINVAL);
}

static void inner(void *closure, struct scheduler *s)
{
    block(100, s);
    *(int *)closure = 1;
}

static __attribute__((noinline)) int deep(volatile char *above, long levels)
{
    volatile char room[4096];
    room[0] = *above;
    return levels == 0 ? 0 : deep(room, levels - 1) + room[0];
}

static void overflows(void *closure, struct scheduler *s)
{
    volatile char here = 0;
    get_ready(s);
    deep(&here, LONG_MAX);
}

CASE(block_leave)
{
    check_leaving(5);
    run_in_child(overflows);
    CHECK_CHILD_SAID("overflowed its stack");
}

/* block_limit: A run has at most 512 threads beside its workers' threads, or as many as
 * SCHED_BLOCKING says: the next section is refused with EAGAIN, and nothing has changed. When
 * others have ended their sections, there are threads again. The same holds if no thread can be had
 * at all.
 * ctest: timeout=60
 * ctest: timeout=60 env=SCHED_BLOCKING=7
 * ctest: timeout=60 env=SCHED_BLOCKING=1 env=SCHED_KIND=lifo
 * ctest: timeout=60 env=SCHED_BLOCKING=600
 * ctest: matrix deque=mutex,split idle=park with=threads without=calls threads=1,2,4 env=SCHED_STACK=64K */
static int most = 512;

static atomic_int limit_within, limit_refused, limit_ended, again;
static atomic_int full;

static void holds(void *closure, struct scheduler *s)
{
    set_errno(0);
    if (sched_block_begin(s) == 0) {
        atomic_fetch_add(&limit_within, 1);
        while (!full) /* seldom: hundreds look, while others are to begin */
            pause_us(20000);
        atomic_fetch_sub(&limit_within, 1);
        end(s);
    } else {
        CHECK_EQ(get_errno(), EAGAIN);
        CHECK(sched_worker_index(s) >= 0);
        CHECK_ERRNO(sched_block_end(s), EPERM);
        /* The others have begun, and are about to say so. */
        struct patience p = patience_of(20);
        while (!full && limit_within < most && is_patient(&p))
            pause_us(1000);
        CHECK(full || limit_within == most);
        atomic_fetch_add(&limit_refused, 1);
        full = 1;
    }
    while (sched_block_begin(s) != 0)
        pause_us(1000);
    pause_us(100);
    end(s);
    atomic_fetch_add(&again, 1);
    atomic_fetch_add(&limit_ended, 1);
}

static void limit_root(void *closure, struct scheduler *s)
{
    spawn_all(most + 40, holds, s);
}

static void denied(void *closure, struct scheduler *s)
{
    CHECK_ERRNO(sched_block_begin(s), EAGAIN);
    CHECK_ERRNO(sched_block_begin(s), EAGAIN);
    CHECK_ERRNO(sched_block_end(s), EPERM);
    CHECK(sched_worker_index(s) >= 0);
    sched_task_yield(s);
    atomic_fetch_add(&limit_ended, 1);
}

static void denied_root(void *closure, struct scheduler *s)
{
    spawn_all(20, denied, s);
}

static void without_threads(void *arg)
{
    no_threads();
    run(4, denied_root);
    CHECK_EQ(limit_ended, 20);
}

CASE(block_limit)
{
    const char *limit = getenv("SCHED_BLOCKING");
    if (limit)
        most = atoi(limit);
    in_child(without_threads, NULL);
    CHECK_CHILD_PASSED();
    for (int i = 1; i <= 2; i++) {
        full = 0;
        run(2, limit_root);
        CHECK_EQ(limit_ended, i * (most + 40));
        CHECK_EQ(again, i * (most + 40));
        CHECK(limit_refused >= i);
    }
}

/* block_limit_line: When the limit of blocking sections refuses one, a line on standard error names
 * SCHED_BLOCKING and the limit, once in the life of the process. This is not a mistake of the
 * program: the run continues.
 * ctest: env=SCHED_BLOCKING=3
 * ctest: env=SCHED_BLOCKING=3 env=SCHED_KIND=fifo
 * ctest: env=SCHED_BLOCKING=1 env=SCHED_KIND=cont */
enum { LIMIT_LINE_TASKS = 12, LIMIT_LINE_RUNS = 2 };

static atomic_int limit_line_refused, limit_line_ended;

static void limit_line_blocks(void *closure, struct scheduler *s)
{
    int began = sched_block_begin(s) == 0;
    if (!began)
        atomic_fetch_add(&limit_line_refused, 1);
    /* Nobody ends a section before one was refused. */
    while (!limit_line_refused)
        pause_us(1000);
    if (began)
        end(s);
    atomic_fetch_add(&limit_line_ended, 1);
}

static void limit_line_root(void *closure, struct scheduler *s)
{
    spawn_all(LIMIT_LINE_TASKS, limit_line_blocks, s);
}

static void runs(void *arg)
{
    for (int i = 1; i <= LIMIT_LINE_RUNS; i++) {
        limit_line_refused = 0;
        run(2, limit_line_root);
        CHECK(limit_line_refused > 0);
        CHECK_EQ(limit_line_ended, i * LIMIT_LINE_TASKS);
    }
}

CASE(block_limit_line)
{
    char expected[64];
    CHECK_IN_CHILD(runs, NULL);
    snprintf(expected, sizeof expected, "SCHED_BLOCKING=%s", getenv("SCHED_BLOCKING"));
    char *line = strstr(child.said, expected);
    if (!line)
        check_say(child.said);
    CHECK(line != NULL);
    CHECK_EQ(strchr(child.said, '\n') - child.said, (long)strlen(child.said) - 1);
}

/* block_nested: Sections within sections, and calls that make no section: an end without a begin,
 * callers that are not tasks of the run, tasks of a run that a task in a section has started. Also
 * the errors of the two functions. Both keep errno, also where the task continues in another
 * thread.
 * ctest: static debug
 * ctest: matrix deque=mutex,split,ring threads=1,2,4
 * ctest: matrix deque=mutex,split idle=park threads=1,4 join=help */
static struct scheduler *_Atomic nested_ended;
static atomic_int done;

APART void check_errno(int error)
{
    CHECK_EQ(get_errno(), error);
}

APART int is_worker(struct scheduler *s)
{
    return sched_worker_index(s) >= 0;
}

static void errors(struct scheduler *s)
{
    CHECK_ERRNO(sched_block_end(s), EPERM);
    CHECK_ERRNO(sched_block_end(NULL), EPERM);
    begin(s);
    end(s);
    CHECK_ERRNO(sched_block_end(s), EPERM);
}

static void nests(struct scheduler *s)
{
    for (int depth = 1; depth <= 20; depth++) {
        for (int i = 0; i < depth; i++) {
            set_errno(1000 + i);
            begin(s);
            check_errno(1000 + i);
            CHECK_EQ(is_worker(s), !has_threads());
        }
        for (int i = 0; i < depth; i++) {
            CHECK_EQ(is_worker(s), !has_threads());
            set_errno(2000 + i);
            end(s);
            check_errno(2000 + i);
        }
        CHECK(is_worker(s));
    }
}

/* A thread that does not belong to the run. */
static void *foreign(void *s)
{
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(sched_block_end(s), 0);
        CHECK_EQ(sched_block_begin(s), 0);
    }
    return NULL;
}

/* The test allocates the stack of the thread. With a stack of the C library's, the thread might get the id of a thread
 * that another task is joining, and valgrind's DRD would mistake it for that one. */
APART void with_foreigner(struct scheduler *s)
{
    enum { STACK = 1 << 20 };
    pthread_attr_t attributes;
    pthread_t thread;
    void *stack;
    CHECK_EQ(posix_memalign(&stack, 1 << 16, STACK), 0);
    CHECK_EQ(pthread_attr_init(&attributes), 0);
    CHECK_EQ(pthread_attr_setstack(&attributes, stack, STACK), 0);
    CHECK_EQ(pthread_create(&thread, &attributes, foreign, s), 0);
    CHECK_EQ(pthread_attr_destroy(&attributes), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    free(stack);
}

/* In a run within outer's run; s is a worker of the inner run. */
static void nested_inner(void *outer, struct scheduler *s)
{
    CHECK_EQ(sched_block_end(outer), 0);
    CHECK_EQ(sched_block_begin(outer), 0);
    CHECK_EQ(sched_block_begin(outer), 0);
    errors(s);
    begin(s);
    CHECK_EQ(sched_block_begin(outer), 0);
    CHECK_EQ(sched_block_end(outer), 0);
    CHECK_EQ(sched_block_end(outer), 0);
    end(s);
    nests(s);
    CHECK_ERRNO(sched_block_end(s), EPERM);
    atomic_fetch_add(&done, 1);
}

APART void start_inner(struct scheduler *s)
{
    CHECK_EQ(sched_init(2, 4, nested_inner, s), 0);
}

static void nested_task(void *closure, struct scheduler *s)
{
    nested_ended = s;
    errors(s);
    nests(s);
    with_foreigner(s);
    start_inner(s);
    CHECK_ERRNO(sched_block_end(s), EPERM); /* the inner run's calls have had no effect */
    begin(s);
    with_foreigner(s);
    start_inner(s);
    begin(s);
    start_inner(s);
    end(s);
    end(s);
    errors(s);
    atomic_fetch_add(&done, 1);
}

static void nested_root(void *closure, struct scheduler *s)
{
    spawn_all(4, nested_task, s);
}

CASE(block_nested)
{
    for (int i = 1; i <= 3; i++) {
        run(2, nested_root);
        CHECK_EQ(done, i * 16);
    }
    CHECK_ERRNO(sched_block_begin(nested_ended), EINVAL);
    CHECK_ERRNO(sched_block_end(nested_ended), EINVAL);
}

/* block_no_stack: There is memory for one task's stack only, which the first worker gets. The other
 * workers, and a thread that takes over a worker while a task blocks on that stack, run on their
 * threads' own stacks. One of them continues with that task when its section has ended on a thread
 * without a worker.
 * ctest: matrix deque=mutex,split idle=park threads=1,2,4 env=SCHED_STACK=256M timeout=60 */
enum { NO_STACK_TASKS = 20, NO_STACK_RUNS = 3 };

static atomic_int elsewhere, no_stack_ended;
static long sleep_us = 2000;

static void no_stack_sleeps(void *closure, struct scheduler *s)
{
    int here = thread_id();
    int began = sched_block_begin(s) == 0;
    CHECK(began || errno == EAGAIN);
    pause_us(sleep_us);
    if (began)
        end(s);
    elsewhere += thread_id() != here;
    no_stack_ended++;
}

static void no_stack_first(void *closure, struct scheduler *s)
{
    CHECK_TIMES(NO_STACK_TASKS, sched_spawn(no_stack_sleeps, NULL, s));
    no_stack_sleeps(closure, s);
}

static void with_one_stack(void *arg)
{
    /* Half of it may be stacks. */
    limit_space(700 << 10);
    /* On a busy machine no other thread may come while a task sleeps: then they sleep for longer. */
    struct patience p = patience_of(30);
    for (int i = 1; i <= NO_STACK_RUNS || (elsewhere == 0 && has_threads() && is_patient(&p)); i++) {
        CHECK_EQ(sched_init(1, 4, no_stack_first, NULL), 0);
        CHECK_EQ(no_stack_ended, i * (NO_STACK_TASKS + 1));
        sleep_us += i < NO_STACK_RUNS ? 0 : 1000;
    }
    CHECK(elsewhere > 0 || !has_threads());
}

CASE(block_no_stack)
{
    in_child(with_one_stack, NULL);
    CHECK_CHILD_PASSED();
}

/* block_others: Tasks that begin and end sections for ever keep nobody waiting: a task in the
 * worker's own queue, and one that another thread has spawned, have their turns.
 * ctest: matrix with=threads threads=1,2
 * ctest: matrix kind=steal deque=mutex,ring idle=park threads=1 global=all */
enum { OTHERS_TASKS = 8, OTHERS_MOST = 20000000 };

static atomic_int others_within, goes, own, outside, others_ended;

static void others_sets(void *closure, struct scheduler *s)
{
    *(atomic_int *)closure = 1;
}

static void *spawns(void *s)
{
    CHECK_EQ(sched_spawn(others_sets, &outside, s), 0);
    return NULL;
}

static void loops(void *closure, struct scheduler *s)
{
    begin(s);
    atomic_fetch_add(&others_within, 1);
    while (!goes)
        pause_us(100);
    end(s);
    for (int i = 0; !own || !outside; i++) {
        CHECK(i < OTHERS_MOST);
        begin(s);
        end(s);
    }
    atomic_fetch_add(&others_ended, 1);
}

static void others_root(void *closure, struct scheduler *s)
{
    spawn_all(OTHERS_TASKS, loops, s);
    while (others_within < OTHERS_TASKS)
        sched_task_yield(s);
    CHECK_EQ(sched_spawn(others_sets, &own, s), 0);
    run_thread(spawns, s);
    goes = 1;
}

CASE(block_others)
{
    run(2, others_root);
    CHECK_EQ(others_ended, OTHERS_TASKS);
}

/* block_pool: Sections in a pool: the wait for the pool is not over before their tasks are; none of
 * these tasks may wait for the pool; and later rounds need no more threads than the first. Resting
 * threads end in time.
 * ctest: static debug
 * ctest: matrix deque=mutex,split,ring threads=1,2,4
 * ctest: matrix deque=mutex,split idle=park threads=2 env=SCHED_WARM=0 */
enum { POOL_TASKS = 20, POOL_ROUNDS = 50 };

static struct sched_pool *pool;
static atomic_int pool_ended, pool_within;

static void pool_waits(struct scheduler *s)
{
    CHECK_ERRNO(sched_pool_wait(pool), EDEADLK);
    CHECK_ERRNO(sched_pool_destroy(pool), EDEADLK);
}

static void in_another_run(void *closure, struct scheduler *s)
{
    begin(s);
    if (thread_id() == *(int *)closure) /* on another thread the wait would be a circle */
        pool_waits(s);
    end(s);
}

static void pool_task(void *closure, struct scheduler *s)
{
    begin(s);
    pool_waits(s);
    int here = thread_id();
    if (closure == NULL)
        CHECK_EQ(sched_init(2, 4, in_another_run, &here), 0);
    atomic_fetch_add(&pool_within, 1);
    double until = now() + 2;
    while (has_threads() && pool_within < POOL_TASKS && now() < until)
        pause_us(200); /* all are to be in sections at once */
    end(s);
    atomic_fetch_add(&pool_ended, 1);
}

CASE(block_pool)
{
    struct sched_options options = {.size = sizeof options, .nthreads = 2, .qlen = POOL_TASKS};
    pool = sched_pool_create(&options);
    CHECK(pool != NULL);
    int most = threads_of(2) + POOL_TASKS + 1, before = count_threads();
    for (int round = 1; round <= POOL_ROUNDS; round++) {
        pool_within = 0;
        for (intptr_t i = 0; i < POOL_TASKS; i++)
            CHECK_EQ(sched_pool_submit(pool, pool_task, (void *)(i + (round > 1))), 0);
        CHECK_EQ(sched_pool_wait(pool), 0);
        CHECK_EQ(pool_ended, round * POOL_TASKS);
        /* A thread that is preempted between its section and its rest is not found by the next section, which starts
         * another one; and those of the inner run may still rest. A thread lost in each round would exceed this. */
        CHECK(count_threads() <= most + POOL_TASKS);
    }
    /* The workers' threads stay, also threads whose workers now have other threads. */
    struct patience p = patience_of(20);
    while (count_threads() > before + 2 * threads_of(2) && is_patient(&p))
        pause_us(10000);
    CHECK(count_threads() <= before + 2 * threads_of(2));
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

/* block_short: Sections in which nothing blocks: most end on the thread that began them, because no
 * other thread has come by then. (The threads have the policy SCHED_BATCH, so that one that is
 * called does not take the caller's processor at once. One of several attempts must show it: others
 * use the machine, too.) If the task does block in a section after many such, its worker gets
 * another thread all the same, also if that thread was called long before. A child made by fork in
 * a section knows nothing of a thread that was on its way to the parent's worker.
 * ctest: static debug
 * ctest: matrix deque=mutex,split,ring threads=1,2,4
 * ctest: matrix deque=mutex,split idle=park threads=1,4 env=SCHED_JOIN=help
 * ctest: matrix deque=mutex,split idle=park threads=2 env=SCHED_WARM=0 */
enum { SECTIONS = 2000, SHORT_TASKS = 40, SHORT_RUNS = 80, SHORT_ATTEMPTS = 40 };

static atomic_int flag, stayed, short_ended;

static void short_sets(void *closure, struct scheduler *s)
{
    flag = 1;
}

/* A single worker needs another thread for the task that sets the flag. */
APART void short_waits(struct scheduler *s)
{
    flag = 0;
    CHECK_EQ(sched_spawn(short_sets, NULL, s), 0);
    begin(s);
    while (!flag && has_threads())
        pause_us(20);
    end(s);
}

APART void section(long turns, struct scheduler *s)
{
    int here = thread_id();
    begin(s);
    for (volatile long i = 0; i < turns; i++)
        continue;
    end(s);
    stayed += thread_id() == here;
}

static void empty(void *closure, struct scheduler *s)
{
    for (int i = 0; i < 20; i++) {
        for (int n = 0; n < SECTIONS / 20; n++)
            section(0, s);
        short_waits(s);
    }
}

/* Sections of all lengths, up to the time that a thread takes to come, beside each other. */
static void short_some(void *closure, struct scheduler *s)
{
    uint64_t x = (uintptr_t)closure + 1;
    for (int i = 0; i < 50; i++) {
        section((long)(next_random(&x) % 8 * next_random(&x) % 8 * 500), s);
        if (next_random(&x) % 4 == 0)
            sched_task_yield(s);
    }
    atomic_fetch_add(&short_ended, 1);
}

static void short_all(void *closure, struct scheduler *s)
{
    for (intptr_t i = 0; i < SHORT_TASKS; i++)
        CHECK_EQ(sched_spawn(short_some, (void *)i, s), 0);
}

static void short_one(void *closure, struct scheduler *s)
{
    short_waits(s);
}

static void short_forks(void *closure, struct scheduler *s)
{
    for (int i = 0; i < 100; i++)
        section(0, s);
    begin(s); /* somebody is on the way, and not here yet */
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK_TIMES(SHORT_RUNS, sched_init(1, 4, short_one, NULL));
        _exit(0);
    }
    CHECK_EQ(wait_for(child), 0);
    end(s);
}

CASE(block_short)
{
    struct sched_param none = {.sched_priority = 0};
    CHECK_EQ(sched_setscheduler(0, SCHED_BATCH, &none), 0);
    for (int i = 0; i < SHORT_ATTEMPTS && stayed <= SECTIONS / 2; i++) {
        pause_us(i * 10000); /* the work of the others may be over then */
        stayed = 0;
        run(2, empty);
    }
    CHECK(stayed > SECTIONS / 2);
    run(2, short_all);
    CHECK_EQ(short_ended, SHORT_TASKS);
    run(1, short_forks);
}

/* block_sleep: 64 tasks that each sleep in a blocking section are all in their sections at the same
 * time, and end together, while a task beside them computes and keeps its processor. (Of several
 * attempts one must show the latter, and that all end in less than half of the 6.4 s that they
 * would sleep one after the other: others use the machine, too.)
 * ctest: matrix deque=mutex,split idle=park,nap threads=1,2,4
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace */
enum { SLEEP_TASKS = 64, MS = 100, SLEEP_ATTEMPTS = 30 };

static atomic_int sleep_within, sleep_ended;
static double share; /* of a processor, that the computing task had */

static double processor_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Sleeps for 100 ms at least, and until all others have begun to sleep. */
static void sleep_sleeps(void *closure, struct scheduler *s)
{
    begin(s);
    atomic_fetch_add(&sleep_within, 1);
    pause_us(MS * 1000);
    for (struct patience p = patience_of(20); sleep_within < SLEEP_TASKS && has_threads(); pause_us(5000))
        CHECK(is_patient(&p));
    end(s);
    atomic_fetch_add(&sleep_ended, 1);
}

static void sleep_computes(void *closure, struct scheduler *s)
{
    double from = now(), used = processor_time();
    int here = thread_id();
    while (now() < from + 1e-3 * MS)
        for (volatile int i = 0; i < 10000; i++)
            continue;
    CHECK_EQ(thread_id(), here);
    share = (processor_time() - used) / (now() - from);
}

static void sleep_root(void *closure, struct scheduler *s)
{
    spawn_all(SLEEP_TASKS, sleep_sleeps, s);
    CHECK_EQ(sched_spawn(sleep_computes, closure, s), 0);
}

CASE(block_sleep)
{
    double took = 0, alone = 0;
    for (int i = 0; i < SLEEP_ATTEMPTS; i++) {
        run(2, sleep_computes);
        alone = share;
        sleep_within = sleep_ended = 0;
        double from = now();
        run(2, sleep_root);
        took = now() - from;
        CHECK_EQ(sleep_ended, SLEEP_TASKS);
        if (!has_threads() || (took < 1e-3 * MS * SLEEP_TASKS / 2 && share > 0.6 * alone))
            return;
    }
    fprintf(stderr, "the last took %.3f s; the computing task had %.2f of a processor, alone %.2f\n",
            took, share, alone);
    exit(1);
}

/* block_stress: Random trees of tasks that block in sections for 0 to 100 us, wait for each other,
 * yield and start runs, all at once: each runs once, with its own variables.
 * ctest: static debug
 * ctest: matrix deque=mutex,split,ring idle=park,spin
 * ctest: matrix deque=mutex,split threads=1,2,4 join=help
 * ctest: matrix deque=mutex,split idle=park threads=2,4 env=SCHED_WARM=0
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace */
enum { STRESS_TASKS = 400 / SMALLER, STRESS_RUNS = 3 };

static atomic_long next_mark;

static void node(void *closure, struct scheduler *s);

static void stress_child(void *closure, struct scheduler *s)
{
    int *sum = closure; /* of several tasks, in a run within */
    block(__atomic_load_n(sum, __ATOMIC_RELAXED) % 100, s);
    sched_task_yield(s);
    __atomic_fetch_add(sum, 1, __ATOMIC_RELAXED);
}

static void stress_in_a_run(void *closure, struct scheduler *s)
{
    CHECK_TIMES(3, sched_spawn(stress_child, closure, s));
}

/* Does some of the actions, as the bits of `what` say. */
APART void stress_some(uint64_t what, struct scheduler *s)
{
    int sum = (int)(what % 97), before = sum;
    uint64_t x = what | 1, again = x, check = 0;
    check += next_random(&x);
    if (what & 1)
        block((long)(what >> 8) % 100, s);
    if (what & 2) {
        sched_task t;
        sched_fork(&t, stress_child, &sum, s);
        if (what & 4)
            block((long)(what >> 16) % 50, s);
        if (what & 8) {
            begin(s);
            sched_join(&t, s);
            end(s);
        } else {
            sched_join(&t, s);
        }
        CHECK_EQ(sum, before + 1);
    }
    if (what & 16)
        sched_task_yield(s);
    if ((what & 0xe0) == 0xe0) {
        int sums = 0;
        sched_group g = SCHED_GROUP_INIT;
        CHECK_EQ(sched_group_spawn(&g, stress_child, &sums, s), 0);
        begin(s);
        block(10, s);
        CHECK_EQ(sched_group_wait(&g, s), 0);
        end(s);
        CHECK_EQ(sums, 1);
    }
    if ((what & 0xfe0) == 0) {
        int sums[1] = {0};
        begin(s);
        CHECK_EQ(sched_init(1, 4, stress_in_a_run, sums), 0);
        end(s);
        CHECK_EQ(sums[0], 3);
    }
    check -= next_random(&again);
    CHECK_EQ(check, 0);
}

static void node(void *closure, struct scheduler *s)
{
    long me = (long)closure;
    uint64_t x = (uint64_t)me * 2654435769u + 1;
    mark(me);
    for (int i = 0; i < 2; i++) {
        long next = atomic_fetch_add(&next_mark, 1);
        if (next < STRESS_TASKS)
            CHECK_EQ(sched_spawn(node, (void *)next, s), 0);
        stress_some(next_random(&x), s);
    }
}

CASE(block_stress)
{
    for (int i = 0; i < STRESS_RUNS; i++) {
        next_mark = 1;
        CHECK_EQ(sched_init(2, 4, node, (void *)0), 0);
        check_marks(STRESS_TASKS);
    }
}

/* block_turns: Tasks whose sections end while their worker is busy continue in the order in which
 * the sections ended. A task that then begins and ends sections without blocking gives way: at the
 * end of its first section each of the others has continued.
 * ctest: static debug
 * ctest: matrix with=threads threads=1
 * ctest: matrix kind=steal,lifo deque=mutex,split idle=park threads=1 env=SCHED_JOIN=help */
enum { TURNS_TASKS = 8, TURNS_ROUNDS = 20 };

static sem_t go[TURNS_TASKS];
static atomic_int turns_within, awake[TURNS_TASKS], continued, turns_ended;
static int thread[TURNS_TASKS], asked[TURNS_TASKS], got[TURNS_TASKS];

/* True if the thread sleeps in the kernel. */
static int turns_sleeps(int id)
{
    char path[64], line[512] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", id);
    FILE *file = fopen(path, "r");
    if (!file)
        return 1; /* it has ended, since no task needs it */
    CHECK(fgets(line, sizeof line, file) != NULL);
    fclose(file);
    const char *state = strrchr(line, ')');
    CHECK(state != NULL);
    return state[2] == 'S';
}

static void asks(void *closure, struct scheduler *s)
{
    long me = (long)closure;
    begin(s);
    thread[me] = thread_id();
    atomic_fetch_add(&turns_within, 1);
    while (sem_wait(&go[me]) != 0)
        CHECK_EQ(get_errno(), EINTR);
    awake[me] = 1;
    end(s);
    got[atomic_fetch_add(&continued, 1)] = (int)me;
    for (int i = 0; i < TURNS_ROUNDS; i++) {
        begin(s);
        end(s);
        CHECK_EQ(continued, TURNS_TASKS);
    }
    atomic_fetch_add(&turns_ended, 1);
}

static void turns_root(void *closure, struct scheduler *s)
{
    spawn_all(TURNS_TASKS, asks, s);
    while (turns_within < TURNS_TASKS)
        sched_task_yield(s);
    /* The worker is this task's. A thread that sleeps after it was awake has ended its section, and stands in line. */
    for (int i = 0; i < TURNS_TASKS; i++) {
        int next = asked[i] = i * 3 % TURNS_TASKS;
        CHECK_EQ(sem_post(&go[next]), 0);
        while (!awake[next] || !turns_sleeps(thread[next]))
            pause_us(100);
    }
    CHECK_EQ(continued, 0);
}

CASE(block_turns)
{
    for (int i = 0; i < TURNS_TASKS; i++)
        CHECK_EQ(sem_init(&go[i], 0, 0), 0);
    run(1, turns_root);
    CHECK_EQ(turns_ended, TURNS_TASKS);
    for (int i = 0; i < TURNS_TASKS; i++)
        CHECK_EQ(got[i], asked[i]);
}

/* block_within: In a blocking section a task may do everything that a thread which is not a worker
 * may do: spawn, fork and join, wait for groups, lock, loop, sort, yield, start runs, use pools.
 * Afterwards it may do what a task may. Tasks that it forked before the section it may join within
 * the section, and vice versa.
 * ctest: static debug
 * ctest: matrix deque=mutex,split,ring threads=1,2,4
 * ctest: matrix deque=mutex,split idle=park threads=1,2,4 join=help
 * ctest: matrix deque=mutex,split idle=park threads=2 env=SCHED_WARM=0 */
enum { WITHIN_TASKS = 12, N = 2000 };

static sched_mutex mutex = SCHED_MUTEX_INIT;
static sched_cond cond = SCHED_COND_INIT;
static sched_sem sem = SCHED_SEM_INIT(0);
static atomic_int counted;
static long locked, rounds;

COUNTING_TASK(count, counted)

static void blocks_and_counts(void *closure, struct scheduler *s)
{
    block(20, s);
    count(closure, s);
}

static void add_one(void *closure, struct scheduler *s)
{
    sched_task_yield(s);
    ++*(int *)closure;
}

static void posts(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_sem_post(&sem), 0);
}

static void fill(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    int *a = ctx;
    for (size_t i = lo; i < hi; i++)
        a[i] = (int)(i * 7919 % N);
}

static int by_value(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void within_all(struct scheduler *s)
{
    int forked = 0, grouped = 0, copied = 0, a[N];
    sched_task t;
    sched_group g = SCHED_GROUP_INIT;

    sched_fork(&t, add_one, &forked, s);
    CHECK_EQ(sched_group_spawn(&g, add_one, &grouped, s), 0);
    CHECK_EQ(sched_spawn(count, NULL, s), 0);
    CHECK_EQ(sched_spawn_copy(count, &copied, sizeof copied, s), 0);
    sched_task_yield(s);
    sched_join(&t, s);
    CHECK_EQ(forked, 1);
    CHECK_EQ(sched_group_wait(&g, s), 0);
    CHECK_EQ(grouped, 1);

    CHECK_EQ(sched_mutex_lock(&mutex, s), 0);
    long before = locked;
    sched_task_yield(s);
    locked = before + 1;
    CHECK_EQ(sched_mutex_unlock(&mutex), 0);

    CHECK_EQ(sched_spawn(posts, NULL, s), 0);
    CHECK_EQ(sched_sem_wait(&sem, s), 0);

    CHECK_EQ(sched_for(0, N, 0, fill, a, s), 0);
    CHECK_EQ(sched_sort(a, N, sizeof *a, by_value, s), 0);
    for (int i = 1; i < N; i++)
        CHECK(a[i - 1] <= a[i]);

    CHECK_EQ(sched_init(2, 4, blocks_and_counts, NULL), 0);
    CHECK_EQ(sched_pool_submit(pool, blocks_and_counts, NULL), 0);
    CHECK_EQ(sched_pool_run(pool, blocks_and_counts, NULL), 0);
}

/* Holds a mutex over the beginning and the end of a section. */
static void crossing(struct scheduler *s)
{
    int forked[2] = {0, 0};
    sched_task t[2];
    sched_fork(&t[0], add_one, &forked[0], s);
    CHECK_EQ(sched_mutex_lock(&mutex, s), 0);
    begin(s);
    CHECK_EQ(sched_mutex_unlock(&mutex), 0);
    sched_fork(&t[1], add_one, &forked[1], s);
    sched_join(&t[0], s);
    CHECK_EQ(sched_mutex_lock(&mutex, s), 0);
    end(s);
    long before = locked;
    sched_task_yield(s);
    locked = before + 1;
    CHECK_EQ(sched_mutex_unlock(&mutex), 0);
    sched_join(&t[1], s);
    CHECK_EQ(forked[0] + forked[1], 2);
}

static void within_task(void *closure, struct scheduler *s)
{
    begin(s);
    within_all(s);
    end(s);
    within_all(s);
    begin(s);
    block(20, s);
    within_all(s);
    end(s);
    crossing(s);
    CHECK_EQ(sched_mutex_lock(&mutex, s), 0);
    rounds++;
    CHECK_EQ(sched_cond_signal(&cond), 0);
    CHECK_EQ(sched_mutex_unlock(&mutex), 0);
}

static void within_root(void *closure, struct scheduler *s)
{
    spawn_all(WITHIN_TASKS, within_task, s);
    begin(s);
    CHECK_EQ(sched_mutex_lock(&mutex, s), 0);
    while (has_threads() && rounds < WITHIN_TASKS)
        CHECK_EQ(sched_cond_wait(&cond, &mutex, s), 0);
    CHECK_EQ(sched_mutex_unlock(&mutex), 0);
    end(s);
}

CASE(block_within)
{
    pool = pool_of(2);
    for (int i = 1; i <= 2; i++) {
        rounds = 0;
        run(2, within_root);
        CHECK_EQ(sched_pool_wait(pool), 0);
        CHECK_EQ(locked, i * WITHIN_TASKS * 4);
        CHECK_EQ(counted, i * WITHIN_TASKS * 3 * 5);
    }
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

/* From here on the compiler puts spawns, forks and joins into the program. */
#include <sched_typed.h>

/* block_above: A task may run on the stack of a task that is in a blocking section, and that waits
 * for it or calls a loop. The upper task is not in the section: sched_block_end gives EPERM there,
 * in every kind, in a run, in a pool, and in a call of main; the section of the task below
 * continues. The task may have a section of its own.
 * ctest: static
 * ctest: matrix deque=mutex,split idle=park threads=1,2 */
static int above;

static void has_no_section(struct scheduler *s)
{
    CHECK_ERRNO(sched_block_end(s), EPERM);
    if (sched_block_begin(s) == 0) { /* EAGAIN: too deep below other tasks */
        CHECK_EQ(sched_block_end(s), 0);
        CHECK_ERRNO(sched_block_end(s), EPERM);
    }
    __atomic_add_fetch(&above, 1, __ATOMIC_RELAXED);
}

static void above_task(void *closure, struct scheduler *s)
{
    has_no_section(s);
}

static void above_body(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    for (; lo < hi; lo++)
        has_no_section(s);
}

static void add(size_t lo, size_t hi, void *into, void *ctx, struct scheduler *s)
{
    above_body(lo, hi, ctx, s);
    *(size_t *)into += hi - lo;
}

static void combine(void *into, const void *from, void *ctx)
{
    *(size_t *)into += *(const size_t *)from;
}

SCHED_TASK(int, typed, int, n)
{
    has_no_section(SCHED_SELF);
    return n;
}

SCHED_TASK(int, in_section, int, unused)
{
    struct scheduler *s = SCHED_SELF;
    sched_task before, within;
    sched_group group = SCHED_GROUP_INIT;
    typed_task late;
    size_t sum = 0, zero = 0;

    sched_fork(&before, above_task, NULL, s);
    CHECK_EQ(sched_group_spawn(&group, above_task, NULL, s), 0);
    CHECK_EQ(sched_block_begin(s), 0);
    sched_join(&before, s);
    sched_fork(&within, above_task, NULL, s);
    sched_join(&within, s);
    CHECK_EQ(sched_group_spawn(&group, above_task, NULL, s), 0);
    CHECK_EQ(sched_group_wait(&group, s), 0);
    SCHED_FORK(typed, &late, 3);
    CHECK_EQ(SCHED_JOIN(typed, &late), 3);
    CHECK_EQ(sched_for(0, 10, 1, above_body, NULL, s), 0);
    CHECK_EQ(sched_reduce(0, 10, 1, sizeof sum, &zero, add, combine, NULL, &sum, s), 0);
    CHECK_EQ(sum, 10);
    CHECK_EQ(sched_block_end(s), 0);
    CHECK_ERRNO(sched_block_end(s), EPERM);
    return unused;
}

static void above_root(void *closure, struct scheduler *s)
{
    CHECK_EQ(in_section(1, s), 1);
}

static void above_one(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    for (; lo < hi; lo++)
        CHECK_EQ(in_section((int)lo, s), (int)lo);
}

CASE(block_above)
{
    enum { EACH = 25 };
    CHECK_EQ(sched_init(2, 16, above_root, NULL), 0);
    CHECK_EQ(above, EACH);
    CHECK_EQ(sched_for(0, 4, 1, above_one, NULL, NULL), 0); /* main is a guest */
    CHECK_EQ(above, 5 * EACH);
}
