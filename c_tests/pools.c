/* pools: sched_pool_create and the work of a pool. */
#include "case.h"
#include "marks.h"
#include "pool.h"
#include "child.h"
#include "leave.h"
#include "nodes.h"
#include "proc.h"
#include "cpu.h"
#include "seccomp.h"
#include "stats_line.h"
#include "fib.h"
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

/* pool: A pool runs each submitted task once, and all tasks that these spawn. sched_pool_wait and
 * sched_pool_run return when no task is left, again and again; the caller then sees all that the
 * tasks wrote.
 * ctest: static
 * ctest: matrix
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace */
enum { POOL_N = 300, POOL_ROUNDS = 12 / SMALLER };

static long plain[POOL_N]; /* not atomic: the pool orders it */

static void pool_node(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    mark(i);
    plain[i]++;
    for (long child = 3 * i + 1; child <= 3 * i + 3 && child < POOL_N; child++)
        CHECK_EQ(sched_spawn(pool_node, (void *)child, s), 0);
}

static void pool_leaf(void *closure, struct scheduler *s)
{
    mark((long)closure);
    plain[(long)closure]++;
}

static void pool_check_round(long *sum)
{
    check_marks(POOL_N);
    ++*sum;
    for (int i = 0; i < POOL_N; i++)
        CHECK_EQ(plain[i], *sum);
}

static void use(struct sched_pool *pool)
{
    long sum = plain[0];
    CHECK_EQ(sched_pool_wait(pool), 0); /* nothing to wait for */
    for (int round = 0; round < POOL_ROUNDS; round++) {
        CHECK_EQ(sched_pool_run(pool, pool_node, (void *)0), 0);
        pool_check_round(&sum);
        for (long i = 0; i < POOL_N; i++)
            CHECK_EQ(sched_pool_submit(pool, pool_leaf, (void *)i), 0);
        CHECK_EQ(sched_pool_wait(pool), 0);
        pool_check_round(&sum);
        CHECK_EQ(sched_pool_wait(pool), 0);
        if (round % 3 == 0)
            pause_us(2000); /* the workers go to sleep */
        CHECK_EQ(sched_pool_submit(pool, pool_node, (void *)0), 0);
        CHECK_EQ(sched_pool_wait(pool), 0);
        pool_check_round(&sum);
    }
}

CASE(pool)
{
    struct sched_pool *four = pool_of(4), *any = sched_pool_create(NULL);
    CHECK(any != NULL);
    use(four);
    use(any); /* two at a time are two */
    use(four);
    CHECK_EQ(sched_pool_destroy(four), 0);
    use(any);
    CHECK_EQ(sched_pool_destroy(any), 0);
}

/* pool_circle: A task that would wait for a pool, while a task of that pool waits for it, perhaps
 * through other pools and runs, gets EDEADLK, and its task is not added; everybody else's wait
 * ends. So does the call of a guest, a thread outside that is in a loop of the pool. Of two that
 * would wait for each other one is refused. No wait is refused that could end.
 * ctest: static sleeps
 * ctest: matrix refuse threads=1,4 */
enum { POOLS = 3, CIRCLE_ROUNDS = 300 / SMALLER };

static struct sched_pool *circle_pools[POOLS];
static atomic_int circle_ran, circle_refused;

COUNTING_TASK(circle_count, circle_ran)

/* The last wait of a chain. */
enum how { BY_RUN, BY_WAIT, BY_DESTROY, WAYS };

struct chain {
    int at, pools;
    enum how how;
    int by_wait, in_section, in_run;
};

static void may_be_refused(int rc)
{
    if (rc == 0)
        return;
    CHECK_EQ(rc, -1);
    CHECK_EQ(get_errno(), EDEADLK);
    atomic_fetch_add(&circle_refused, 1);
}

static void waits_for_first(enum how how)
{
    set_errno(0);
    switch (how) {
    case BY_RUN:
        may_be_refused(sched_pool_run(circle_pools[0], circle_count, NULL));
        break;
    case BY_WAIT:
        may_be_refused(sched_pool_wait(circle_pools[0]));
        break;
    default:
        may_be_refused(sched_pool_destroy(circle_pools[0]));
    }
}

static void link_in_chain(void *closure, struct scheduler *s);

static void next(struct chain *chain)
{
    int at = ++chain->at;
    if (at == chain->pools)
        waits_for_first(chain->how);
    else if (chain->by_wait) {
        CHECK_EQ(sched_pool_submit(circle_pools[at], link_in_chain, chain), 0);
        set_errno(0);
        may_be_refused(sched_pool_wait(circle_pools[at]));
    } else
        CHECK_EQ(sched_pool_run(circle_pools[at], link_in_chain, chain), 0);
}

/* Not the first task of its run, so that another worker may run it. */
static void circle_within(void *closure, struct scheduler *s)
{
    next(closure);
}

static void spawns_within(void *closure, struct scheduler *s)
{
    struct timespec shortly = {0, 2000000};
    CHECK_EQ(sched_spawn(circle_within, closure, s), 0);
    nanosleep(&shortly, NULL);
}

static void link_in_chain(void *closure, struct scheduler *s)
{
    struct chain *chain = closure;
    const int in_section = chain->in_section;
    if (in_section)
        CHECK_EQ(sched_block_begin(s), 0);
    if (chain->in_run)
        CHECK_EQ(sched_init(2, 4, spawns_within, chain), 0);
    else
        next(chain);
    if (in_section)
        CHECK_EQ(sched_block_end(s), 0);
}

static void link_of_guest(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    link_in_chain(ctx, s);
}

static void circles(int by_guest)
{
    int n = circle_refused;
    for (int length = 1; length <= POOLS; length++)
        for (int how = 0; how < WAYS; how++)
            for (int way = 0; way < 8; way++) {
                struct chain chain = {0, length, how, way & 1, way >> 1 & 1, way >> 2 & 1};
                /* After a submission the last wait may be the first to begin; then another closes the circle. */
                if (chain.by_wait && how == BY_DESTROY)
                    continue;
                circle_ran = 0;
                if (by_guest)
                    CHECK_EQ(sched_for(0, 1, 1, link_of_guest, &chain, sched_pool_scheduler(circle_pools[0])), 0);
                else
                    CHECK_EQ(sched_pool_run(circle_pools[0], link_in_chain, &chain), 0);
                for (int i = 1; i < POOLS; i++)
                    CHECK_EQ(sched_pool_wait(circle_pools[i]), 0);
                CHECK_EQ(circle_refused, ++n);
                CHECK(circle_ran == 0 || (circle_ran == 1 && chain.by_wait && how == BY_RUN));
            }
}

/* --- two at once ----------------------------------------------------------------------- */

static atomic_int circle_begun, refusals;

static void meets(void *closure, struct scheduler *s)
{
    unsigned turns = 0;
    for (atomic_fetch_add(&circle_begun, 1); circle_begun < 2;)
        spin(&turns);
    set_errno(0);
    if (sched_pool_run(closure, circle_count, NULL) != 0) {
        CHECK_EQ(get_errno(), EDEADLK);
        atomic_fetch_add(&refusals, 1);
    }
}

static void two_at_once(void)
{
    for (int i = 0; i < CIRCLE_ROUNDS; i++) {
        circle_begun = refusals = circle_ran = 0;
        CHECK_EQ(sched_pool_submit(circle_pools[0], meets, circle_pools[1]), 0);
        CHECK_EQ(sched_pool_submit(circle_pools[1], meets, circle_pools[0]), 0);
        CHECK_EQ(sched_pool_wait(circle_pools[0]), 0);
        CHECK_EQ(sched_pool_wait(circle_pools[1]), 0);
        CHECK_EQ(refusals, 1);
        CHECK_EQ(circle_ran, 1);
    }
}

/* --- a wait that is over --------------------------------------------------------------- */

static atomic_int was_there, returned;

static void is_there(void *closure, struct scheduler *s)
{
    was_there = 1;
}

static void waits_shortly(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_pool_run(circle_pools[1], is_there, NULL), 0);
    returned = 1;
}

/* The refusal says that the other task waits until this one has ended. */
static void waits_back(void *closure, struct scheduler *s)
{
    set_errno(0);
    if (sched_pool_wait(circle_pools[0]) != 0) {
        CHECK_EQ(get_errno(), EDEADLK);
        pause_us(300);
        CHECK_EQ(returned, 0);
    }
}

static void over(void)
{
    unsigned turns = 0;
    for (int i = 0; i < CIRCLE_ROUNDS; i++) {
        was_there = returned = 0;
        CHECK_EQ(sched_pool_submit(circle_pools[0], waits_shortly, NULL), 0);
        while (!was_there)
            spin(&turns);
        CHECK_EQ(sched_pool_wait(circle_pools[1]), 0);
        CHECK_EQ(sched_pool_submit(circle_pools[1], waits_back, NULL), 0);
        CHECK_EQ(sched_pool_wait(circle_pools[0]), 0);
        CHECK_EQ(sched_pool_wait(circle_pools[1]), 0);
        CHECK_EQ(returned, 1);
    }
}

/* --- waits without a circle ----------------------------------------------------------- */

static struct scheduler *first;

static void by_group(void *closure, struct scheduler *s)
{
    sched_group group = SCHED_GROUP_INIT;
    CHECK_EQ(sched_group_spawn(&group, circle_count, NULL, first), 0);
    CHECK_EQ(sched_group_wait(&group, first), 0);
    CHECK_EQ(sched_spawn(circle_count, NULL, s), 0);
    CHECK_EQ(sched_pool_run(circle_pools[2], circle_count, NULL), 0);
}

static void to_second(void *closure, struct scheduler *s)
{
    sched_group group = SCHED_GROUP_INIT;
    struct sched_stats stats;
    first = s;
    CHECK_EQ(sched_stats(s, &stats, sizeof stats), 0);
    CHECK_EQ(sched_group_spawn(&group, circle_count, NULL, s), 0);
    /* With one worker, which waits for the second pool, the first could not run a task. */
    if (stats.threads > 1)
        CHECK_EQ(sched_pool_run(circle_pools[1], by_group, closure), 0);
    CHECK_EQ(sched_group_wait(&group, s), 0);
}

static void no_circles(void)
{
    circle_ran = 0;
    CHECK_EQ(sched_pool_run(circle_pools[0], to_second, NULL), 0);
    CHECK(circle_ran == 4 || circle_ran == 1);
}

CASE(pool_circle)
{
    for (int i = 0; i < POOLS; i++)
        circle_pools[i] = pool_of(2);
    alarm(60);
    circles(0);
    circles(1);
    two_at_once();
    over();
    no_circles();
    for (int i = 0; i < POOLS; i++)
        CHECK_EQ(sched_pool_destroy(circle_pools[i]), 0);
}

/* pool_crowd: A pool takes tasks from four threads at once while a fifth waits again and again, and
 * two run tasks of their own: each task runs once, and has when its run has returned.
 * ctest: matrix */
enum { SUBMITTERS = 4, RUNNERS = 2, EACH = 400 };

static struct sched_pool *pool;
static atomic_int left = SUBMITTERS;

static void two(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(mark_number, (void *)((long)closure + 1), s), 0);
    mark((long)closure);
}

static void *submitter(void *arg)
{
    for (long i = 0; i < EACH; i++) {
        CHECK_EQ(sched_pool_submit(pool, mark_number, (void *)((long)arg * EACH + i)), 0);
        if (i % 64 == 0)
            pause_us(200);
    }
    atomic_fetch_sub(&left, 1);
    return NULL;
}

static void *runner(void *arg)
{
    for (long i = 0; i < EACH; i += 20) {
        long at = ((long)arg + SUBMITTERS) * EACH + i;
        CHECK_EQ(sched_pool_run(pool, two, (void *)at), 0);
        CHECK_EQ(marks[at], 1);
        CHECK_EQ(marks[at + 1], 1);
        for (long k = at + 2; k < at + 20; k++)
            mark(k);
    }
    return NULL;
}

CASE(pool_crowd)
{
    pthread_t threads[SUBMITTERS + RUNNERS];
    pool = pool_of(3);
    for (long i = 0; i < SUBMITTERS + RUNNERS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, i < SUBMITTERS ? submitter : runner,
                                (void *)(i < SUBMITTERS ? i : i - SUBMITTERS)), 0);
    while (left)
        CHECK_EQ(sched_pool_wait(pool), 0);
    CHECK_EQ(sched_pool_wait(pool), 0);
    for (long i = 0; i < SUBMITTERS * EACH; i++)
        CHECK_EQ(marks[i], 1);
    for (int i = 0; i < SUBMITTERS + RUNNERS; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    check_marks((SUBMITTERS + RUNNERS) * EACH);
}

/* pool_destroy: sched_pool_destroy waits for all tasks, queued or running, and for the tasks that
 * they add, by sched_spawn or sched_pool_submit; no thread of the pool runs a task afterwards.
 * ctest: matrix */
enum { DESTROY_N = 200, DESTROY_ROUNDS = 30 };

static void destroy_node(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    if (i % 50 == 0)
        pause_us(500);
    for (long child = 2 * i + 1; child <= 2 * i + 2 && child < DESTROY_N; child++)
        if (child % 2)
            CHECK_EQ(sched_spawn(destroy_node, (void *)child, s), 0);
        else
            CHECK_EQ(sched_pool_submit(pool, destroy_node, (void *)child), 0);
    mark(i);
}

CASE(pool_destroy)
{
    for (int round = 0; round < DESTROY_ROUNDS; round++) {
        pool = pool_of(4);
        if (round % 3 == 0)
            pause_us(1000);
        if (round % 5 != 0)
            CHECK_EQ(sched_pool_submit(pool, destroy_node, (void *)0), 0);
        else /* from many: 0 has the others in its tree */
            for (long i = DESTROY_N / 2; i < DESTROY_N; i++)
                CHECK_EQ(sched_pool_submit(pool, destroy_node, (void *)i), 0);
        CHECK_EQ(sched_pool_destroy(pool), 0);
        if (round % 5 == 0)
            for (long i = 0; i < DESTROY_N / 2; i++)
                mark(i);
        check_marks(DESTROY_N);
    }
}

/* pool_errors: The calls that the functions of a pool refuse: with NULL, and calls that would wait
 * for themselves. A refusal changes nothing.
 * ctest: matrix idle=park,spin deque=mutex,split threads=1,4 */
static struct scheduler *outer; /* of the pool */
static atomic_int shared_ran;

COUNTING_TASK(errors_task, shared_ran)

static void wait_for_self(void *closure, struct scheduler *s)
{
    if (sched_worker_index(outer) < 0) /* another thread, of the run within */
        return;
    CHECK_ERRNO(sched_pool_wait(pool), EDEADLK);
    CHECK_ERRNO(sched_pool_run(pool, errors_task, NULL), EDEADLK);
    CHECK_ERRNO(sched_pool_destroy(pool), EDEADLK);
}

/* A task of a run within a task of the pool: the pool's task waits for it. */
static void errors_within(void *closure, struct scheduler *s)
{
    outer = s;
    CHECK_EQ(sched_init(1, 4, wait_for_self, closure), 0);
    wait_for_self(closure, s);
}

CASE(pool_errors)
{
    pool = pool_of(4);
    CHECK_ERRNO(sched_pool_submit(NULL, errors_task, NULL), EINVAL);
    CHECK_ERRNO(sched_pool_submit(pool, NULL, NULL), EINVAL);
    CHECK_ERRNO(sched_pool_run(NULL, errors_task, NULL), EINVAL);
    CHECK_ERRNO(sched_pool_run(pool, NULL, NULL), EINVAL);
    CHECK_ERRNO(sched_pool_wait(NULL), EINVAL);
    CHECK_ERRNO(sched_pool_destroy(NULL), EINVAL);

    CHECK_EQ(sched_pool_run(pool, errors_within, NULL), 0);
    CHECK_EQ(shared_ran, 0);
    CHECK_EQ(sched_pool_run(pool, errors_task, NULL), 0);
    CHECK_EQ(shared_ran, 1);
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

/* pool_exit: exit, _exit and quick_exit end a process at once while a pool lives: with or without
 * tasks in it, by the thread that made it or by a task.
 * ctest: static
 * ctest: matrix deque=mutex,split idle=park,spin threads=1,4 */
enum { EMPTY, BUSY, BY_TASK };

static void exit_body(void *deed)
{
    static int begun;
    struct sched_pool *pool = pool_of(4);
    int what = *(int *)deed;
    if (what == BY_TASK)
        CHECK_EQ(sched_pool_run(pool, leave_task, NULL), 0);
    if (what == BUSY)
        CHECK_EQ(sched_pool_submit(pool, compute, &begun), 0);
    pause_us(2000);
    leave(NULL);
}

CASE(pool_exit)
{
    for (int deed = EMPTY; deed <= BY_TASK; deed++)
        for (way = 0; way < WAYS_OUT; way++) {
            in_child(exit_body, &deed);
            CHECK_CHILD_EXITED(40 + way);
        }
}

/* pool_fork: fork() beside a pool, or in a task of it: in the child the pool gives EINVAL, also
 * when runs of the child's have begun, and its destruction neither hangs nor harms; the child may
 * have a pool of its own, and the parent's continues.
 * ctest: matrix deque=mutex,split,chaselev idle=park,spin threads=1,4 */
static void check_dead(void)
{
    CHECK_ERRNO(sched_pool_submit(pool, node, (void *)3), EINVAL);
    CHECK_ERRNO(sched_pool_run(pool, node, (void *)3), EINVAL);
    CHECK_ERRNO(sched_pool_wait(pool), EINVAL);
    CHECK_EQ(ran, 0);
}

static void in_child_of_pool(void *arg)
{
    ran = 0;
    check_dead();
    struct sched_pool *own[8];
    for (int i = 0; i < 8; i++) /* records of the parent's pool are used again */
        own[i] = pool_of(4);
    check_dead();
    for (int i = 0; i < 8; i++)
        CHECK_EQ(sched_pool_run(own[i], node, (void *)4), 0);
    CHECK_EQ(ran, 8 * 31);
    ran = 0;
    CHECK_ERRNO(sched_pool_destroy(pool), EINVAL);
    check_dead();
    for (int i = 0; i < 8; i++)
        CHECK_EQ(sched_pool_destroy(own[i]), 0);
    check_dead();
    CHECK_EQ(sched_init(4, 4, node, (void *)4), 0);
    CHECK_EQ(ran, 31);
}

static void fork_in_task(void *closure, struct scheduler *s)
{
    CHECK_IN_CHILD(in_child_of_pool, closure);
}

CASE(pool_fork)
{
    pool = pool_of(4);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 50 * round; i++) /* busy, or not */
            CHECK_EQ(sched_pool_submit(pool, node, (void *)2), 0);
        CHECK_IN_CHILD(in_child_of_pool, NULL);
        CHECK_EQ(sched_pool_run(pool, fork_in_task, NULL), 0);
        ran = 0;
        CHECK_EQ(sched_pool_run(pool, node, (void *)5), 0);
        CHECK_EQ(ran, 63);
    }
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

/* pool_full: SCHED_OVERFLOW=refuse: a pool that holds qlen tasks from outside refuses further ones,
 * by EAGAIN, and all that it has accepted run.
 * ctest: matrix idle=park threads=1,4 plain */
enum { QLEN = 10 };

static atomic_int full_ran, full_begun, open;

static void blocker(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&full_begun, 1);
    while (!open)
        pause_us(100);
}

COUNTING_TASK(full_task, full_ran)

CASE(pool_full)
{
    struct sched_options options = {.size = sizeof options, .nthreads = 4, .qlen = QLEN,
                                    .settings = "SCHED_OVERFLOW=refuse"};
    struct sched_pool *pool = sched_pool_create(&options);
    int workers = threads_of(4), accepted = 0;
    CHECK(pool != NULL);
    for (int i = 1; i <= workers; i++) {
        CHECK_EQ(sched_pool_submit(pool, blocker, NULL), 0);
        while (full_begun < i)
            pause_us(100);
    }
    while (sched_pool_submit(pool, full_task, NULL) == 0)
        CHECK(++accepted <= QLEN);
    CHECK_EQ(errno, EAGAIN);
    CHECK_EQ(accepted, QLEN);
    CHECK_ERRNO(sched_pool_run(pool, full_task, NULL), EAGAIN);
    open = 1;
    CHECK_EQ(sched_pool_wait(pool), 0);
    CHECK_EQ(full_ran, QLEN);
    CHECK_EQ(sched_pool_run(pool, full_task, NULL), 0);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    CHECK_EQ(full_ran, QLEN + 1);
}

/* pool_gives_back: The memory of a long queue, and of argument blocks, goes back to the system when
 * the pool has been idle for SCHED_WARM: again after each time of many tasks, with the next tasks
 * run as before. So for tasks that a worker spawns, with copied arguments or without, and for tasks
 * from outside.
 * ctest: sleeps
 * ctest: matrix with=deques idle=park,backoff threads=1,4 overflow=grow,half timeout=120
 * ctest: matrix with=threads without=deques deque=mutex,spin,sem idle=park,nap threads=1,4 timeout=120
 * ctest: matrix kind=serial timeout=120
 * ctest: env=SCHED_WARM=0 timeout=120
 * ctest: env=SCHED_WARM=1500ms timeout=120 */
/* Tasks take at least 16 bytes each in a queue, and copies 48 in blocks. */
enum { GIVES_BACK_N = 400000 / SMALLER, GIVES_BACK_ROUNDS = 3, LEFT_KB = 3072 };
static atomic_long pool_gives_back_ran;
static atomic_int gives_back_full, holding;

static void gives_back_leaf(void *closure, struct scheduler *s)
{
    atomic_fetch_add_explicit(&pool_gives_back_ran, 1, memory_order_relaxed);
}

/* Keeps a worker from the tasks until all are queued. */
static void gives_back_hold(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&holding, 1);
    while (!gives_back_full)
        pause_us(200);
}

static void hold_others(struct scheduler *s, int others)
{
    CHECK_TIMES(others, sched_spawn(gives_back_hold, NULL, s));
    while (holding < others)
        pause_us(200);
}

static void gives_back_spawner(void *closure, struct scheduler *s)
{
    char argument[40] = {0};
    hold_others(s, spawn_calls() ? 0 : threads_of(4) - 1); /* a spawn of kind cont calls the task */
    for (long i = 0; i < GIVES_BACK_N; i++)
        CHECK_EQ(closure ? sched_spawn_copy(gives_back_leaf, argument, sizeof argument, s) : sched_spawn(gives_back_leaf, NULL, s), 0);
    gives_back_full = 1;
}

static void from_outside(void)
{
    CHECK_TIMES(threads_of(4), sched_pool_submit(pool, gives_back_hold, NULL));
    CHECK_TIMES(GIVES_BACK_N, sched_pool_submit(pool, gives_back_leaf, NULL));
    gives_back_full = 1;
    CHECK_EQ(sched_pool_wait(pool), 0);
}

/* Fills the queue, empties it, and waits until the memory has gone. */
static void gives_back_check_round(int what)
{
    long before = status_kb("VmRSS"), after = 0, full_kb;
    pool_gives_back_ran = 0;
    gives_back_full = holding = 0;
    if (what == 2)
        from_outside();
    else
        CHECK_EQ(sched_pool_run(pool, gives_back_spawner, what ? &pool : NULL), 0);
    CHECK_EQ(pool_gives_back_ran, GIVES_BACK_N);
    full_kb = status_kb("VmHWM");
    for (struct patience p = patience_of(30); is_patient(&p); pause_us(20000))
        if ((after = status_kb("VmRSS")) < before + LEFT_KB)
            break;
    if (after >= before + LEFT_KB) {
        printf("round %d: %ld kB before, at most %ld, %ld when idle\n", what, before, full_kb, after);
        CHECK(after < before + LEFT_KB);
    }
}

CASE(pool_gives_back)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    skip("the sanitizer keeps memory");
#endif
    pool = pool_of(4);
    CHECK_EQ(sched_pool_run(pool, gives_back_leaf, NULL), 0);
    for (int round = 0; round < GIVES_BACK_ROUNDS; round++)
        for (int what = 0; what < 3; what++)
            gives_back_check_round(what);
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

/* pool_idle: A pool without tasks costs next to nothing, if its workers park: less than 0.5 % of a
 * processor, before its first task and after many.
 * ctest: sleeps
 * ctest: matrix with=deques deque=split,mutex idle=park threads=1,8
 * ctest: matrix with=threads without=deques deque=mutex,spin,sem idle=park threads=4
 * ctest: matrix kind=serial */
static void idle_spawner(void *closure, struct scheduler *s)
{
    long left = (long)closure;
    for (int i = 0; i < 2 && left > 0; i++)
        CHECK_EQ(sched_spawn(idle_spawner, (void *)(left - 1), s), 0);
    pause_us(20);
}

CASE(pool_idle)
{
    struct sched_pool *pool = pool_of(4);
    pause_us(20000); /* it goes to sleep */
    check_idle();
    CHECK_EQ(sched_pool_run(pool, idle_spawner, (void *)8), 0);
    pause_us(100000);
    check_idle();
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

/* pool_many: 1,000 pools in a row, with tasks and without, leave no thread, no descriptor and no
 * memory behind.
 * ctest: matrix deque=mutex,split idle=park threads=1,4 timeout=60 */
enum { MANY_N = 12 };

MARKING_TREE(many_task, 2, MANY_N)

static void many_pools(int n)
{
    for (int i = 0; i < n; i++) {
        struct sched_pool *pool = pool_of(4);
        if (i % 3 == 1)
            CHECK_EQ(sched_pool_run(pool, many_task, (void *)0), 0);
        if (i % 3 == 2)
            CHECK_EQ(sched_pool_submit(pool, many_task, (void *)0), 0);
        CHECK_EQ(sched_pool_destroy(pool), 0);
        if (i % 3)
            check_marks(MANY_N);
    }
}

CASE(pool_many)
{
    check_no_growth(many_pools);
}

/* pool_memory: Memory ends (RLIMIT_AS): a task that cannot be queued is refused by EAGAIN, all that
 * were accepted run; a pool that cannot be made gives ENOMEM, a run of it EAGAIN, and nothing has
 * happened.
 * ctest: timeout=60
 * ctest: matrix idle=park threads=1 deque=mutex,split timeout=60 */
static atomic_int memory_begun, flooded;

static void memory_leaf(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&memory_begun, 1);
    while (!flooded) /* the queue must fill: nobody works before that */
        pause_us(1000);
    atomic_fetch_add_explicit(&pool_gives_back_ran, 1, memory_order_relaxed);
}

static void little(void *arg)
{
    long accepted = 0;
    struct sched_pool *pool = pool_of(2);
    /* Each worker has a task: later none takes one out of the full queue. */
    for (; accepted < threads_of(2); accepted++) {
        CHECK_EQ(sched_pool_submit(pool, memory_leaf, NULL), 0);
        while (memory_begun <= accepted)
            pause_us(100);
    }
    limit_space(32 * 1024);
    while (sched_pool_submit(pool, memory_leaf, NULL) == 0)
        CHECK(++accepted < 40000000);
    CHECK_EQ(errno, EAGAIN);
    CHECK(accepted > 1000);
    CHECK_ERRNO(sched_pool_run(pool, memory_leaf, NULL), EAGAIN);
    flooded = 1;
    CHECK_EQ(sched_pool_wait(pool), 0);
    CHECK_EQ(pool_gives_back_ran, accepted);
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

static void *volatile taken; /* else a compiler need not ask for it */

static void where_memory_ends(void *arg)
{
    limit_space(0);
    for (size_t size = 1 << 20; size >= 8; size /= 2)
        while ((taken = malloc(size)) != NULL)
            continue;
    for (int i = 0; i < 10; i++)
        CHECK_NO_POOL(NULL, ENOMEM);
}

CASE(pool_memory)
{
    CHECK_IN_CHILD(little, NULL);
    CHECK_IN_CHILD(where_memory_ends, NULL);
}

/* pool_no_futex: futex denied by seccomp: a pool is slower, and does the same.
 * ctest: matrix idle=park deque=mutex,split threads=1,4 timeout=60 */
static void no_futex_body(void *arg)
{
    static const long calls[] = {SYS_futex, 449 /* waitv */, 454, 455, 456 /* wake, wait, requeue */};
    deny(calls, 5, EPERM);
    for (int round = 1; round <= 3; round++) {
        struct sched_pool *pool = pool_of(4);
        ran = 0;
        CHECK_EQ(sched_pool_run(pool, node, (void *)6), 0);
        CHECK_EQ(ran, 127);
        pause_us(5000);
        CHECK_EQ(sched_pool_submit(pool, node, (void *)6), 0);
        CHECK_EQ(sched_pool_wait(pool), 0);
        CHECK_EQ(ran, 254);
        CHECK_EQ(sched_pool_submit(pool, node, (void *)6), 0);
        CHECK_EQ(sched_pool_destroy(pool), 0);
        CHECK_EQ(ran, 381);
    }
}

CASE(pool_no_futex)
{
    in_child_without_futex(no_futex_body, NULL);
    CHECK_CHILD_PASSED();
}

/* pool_options: The members of sched_options do what they say; a line names each that is refused;
 * the environment wins over them; size is that of the caller's version of the struct. */
static struct sched_options options;

static const char *text_of(const char *line, const char *key)
{
    static char value[64];
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":\"", key);
    const char *at = strstr(line, quoted);
    CHECK(at != NULL);
    snprintf(value, sizeof value, "%s", at + strlen(quoted));
    value[strcspn(value, "\"")] = 0;
    return value;
}

static void live(void *arg)
{
    struct sched_pool *pool = sched_pool_create(&options);
    CHECK(pool != NULL);
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

/* A pool with the options reports the wanted settings; threads 0 means any number. */
static void check_says(const char *kind, const char *deque, const char *idle, int threads)
{
    options.size = sizeof options;
    gather_stats();
    in_child(live, NULL);
    char *line = gathered_stats();
    CHECK_CHILD_EXITED(0);
    CHECK_EQ(strcmp(text_of(line, "kind"), kind), 0);
    CHECK_EQ(strcmp(text_of(line, "deque"), deque), 0);
    CHECK_EQ(strcmp(text_of(line, "idle"), idle), 0);
    if (threads)
        CHECK_EQ(stat_number(line, "threads"), threads);
    memset(&options, 0, sizeof options);
}

static void values(void)
{
    check_says("steal", "split", "park", 0);
    static const char *const deques[] = {"split", "chaselev", "ring", "mutex", "spin", "sem", "queue", "fair", "adaptive"};
    for (int i = 0; i < 9; i++) {
        char settings[64];
        snprintf(settings, sizeof settings, "SCHED_DEQUE=%s", deques[i]);
        options = (struct sched_options){.settings = settings, .nthreads = i + 1};
        check_says("steal", deques[i], "park", i + 1);
    }
    options = (struct sched_options){.kind = SCHED_KIND_LIFO, .settings = "SCHED_DEQUE=sem"};
    check_says("lifo", "sem", "park", 0);
    options = (struct sched_options){.kind = SCHED_KIND_FIFO, .settings = " SCHED_IDLE=spin\t\n", .nthreads = 3};
    check_says("fifo", "mutex", "spin", 3);
    options = (struct sched_options){.kind = SCHED_KIND_FIFO, .nthreads = 3,
                                     .settings = "SCHED_KIND=lifo  SCHED_THREADS=2 SCHED_IDLE=nap SCHED_IDLE=spin"};
    check_says("lifo", "mutex", "spin", 2); /* settings go before members, and later ones before earlier ones */
    options = (struct sched_options){.settings = ""};
    check_says("steal", "split", "park", 0);
    options = (struct sched_options){.settings = "SCHED_DEQUE=queue SCHED_STEAL=half SCHED_GLOBAL=one SCHED_JOIN=help "
                                                 "SCHED_STACK=128K SCHED_WARM=10ms SCHED_SEED=7 SCHED_BLOCKING=3"};
    check_says("steal", "queue", "park", 0);
    options = (struct sched_options){.kind = SCHED_KIND_SERIAL, .nthreads = 3};
    check_says("serial", "none", "park", 1);
    options = (struct sched_options){.kind = SCHED_KIND_STEAL, .settings = "SCHED_IDLE=nap SCHED_DEQUE=chaselev",
                                     .nthreads = -1};
    check_says("steal", "chaselev", "nap", sched_default_threads());
    options = (struct sched_options){.settings = "SCHED_IDLE=backoff"};
    check_says("steal", "split", "backoff", 0);
    options = (struct sched_options){.settings = "SCHED_IDLE=park SCHED_OVERFLOW=grow"};
    check_says("steal", "split", "park", 0);
    options = (struct sched_options){.settings = "SCHED_DEQUE=ring SCHED_OVERFLOW=one"};
    check_says("steal", "ring", "park", 0);
    options = (struct sched_options){.settings = "SCHED_DEQUE=spin SCHED_OVERFLOW=half"};
    check_says("steal", "spin", "park", 0);
}

static void environment(void)
{
    setenv("SCHED_KIND", "lifo", 1);
    setenv("SCHED_IDLE", "nap", 1);
    setenv("SCHED_THREADS", "2", 1);
    options = (struct sched_options){.kind = SCHED_KIND_STEAL, .settings = "SCHED_DEQUE=chaselev SCHED_IDLE=spin",
                                     .nthreads = 5};
    check_says("lifo", "mutex", "nap", 2); /* a deque of another kind does not count */
    setenv("SCHED_KIND", "steal", 1);
    options = (struct sched_options){.settings = "SCHED_DEQUE=chaselev"};
    check_says("steal", "chaselev", "nap", 2);
    setenv("SCHED_DEQUE", "mutex", 1);
    options = (struct sched_options){.settings = "SCHED_DEQUE=chaselev"};
    check_says("steal", "mutex", "nap", 2);
    setenv("SCHED_DEQUE", "ring", 1); /* which does not grow: nor does an overflow of another deque count */
    options = (struct sched_options){.settings = "SCHED_DEQUE=chaselev SCHED_OVERFLOW=grow"};
    check_says("steal", "ring", "nap", 2);
    options = (struct sched_options){.settings = "SCHED_DEQUE=queue SCHED_GLOBAL=all"};
    check_says("steal", "ring", "nap", 2);
    setenv("SCHED_DEQUE", "chaselev", 1);
    options = (struct sched_options){.settings = "SCHED_DEQUE=ring SCHED_STEAL=half"};
    check_says("steal", "chaselev", "nap", 2);
    setenv("SCHED_DEQUE", "nonesuch", 1);
    CHECK_NO_POOL(NULL, EINVAL);
    unsetenv("SCHED_KIND");
    unsetenv("SCHED_IDLE");
    unsetenv("SCHED_THREADS");
    unsetenv("SCHED_DEQUE");
    unsetenv("SCHED_STATS");
    unsetenv("SCHED_STATS_FILE");
}

static void creates(void *arg)
{
    CHECK_NO_POOL(&options, EINVAL);
}

/* There is no such pool, and a line says which member is wrong, its value and what is accepted. */
static void check_refused(const char *says, const char *accepted)
{
    options.size = sizeof options;
    CHECK_IN_CHILD(creates, NULL);
    CHECK_CHILD_SAID("libsched: sched_pool_create: options.");
    CHECK_CHILD_SAID(says);
    CHECK_CHILD_SAID(accepted);
    CHECK_EQ(count_lines(child.said), 1);
    memset(&options, 0, sizeof options);
}

static void options_refused(void)
{
    for (int bad = 0; bad < 4; bad++) {
        char says[64];
        options.kind = (int[]){-1, 10, INT_MAX, INT_MIN}[bad];
        snprintf(says, sizeof says, "options.kind is %d;", options.kind);
        check_refused(says, "the constants SCHED_KIND_..., 1 to 5");
    }
    static const struct {
        const char *settings, *says, *accepted;
    } bad[] = {
        {"SCHED_DEQUE=rung", "options.settings: SCHED_DEQUE=rung: no such value;", "accepted: split chaselev ring"},
        {"SCHED_IDLE=park SCHED_IDLE=", "options.settings: SCHED_IDLE=: no such value;", "accepted: park nap backoff spin"},
        {"SCHED_OVERFLOW", "options.settings: SCHED_OVERFLOW: no such value;", "accepted: grow one half refuse"},
        {"SCHED_DEQE=ring", "options.settings: SCHED_DEQE=ring: no such variable", ""},
        {"deque=ring", "options.settings: deque=ring: no such variable", ""},
        {"=", "options.settings: =: no such variable", ""},
        {"SCHED_TRACE=a.json", "options.settings: SCHED_TRACE=a.json: only the environment can name a file", ""},
        {"SCHED_STATS_FILE=a", "SCHED_STATS_FILE=a: only the environment", ""},
        {"SCHED_SEED=99999999999999999999999999999999999999999999999999999999999999999999999999999999",
         "options.settings: SCHED_SEED=99999999999999999999999999999999999999999999999999999: no such value;", "accepted: N"},
        {"SCHED_THREADS=0", "SCHED_THREADS=0: no such value;", "accepted: N (1 to 4096) auto"},
        {"SCHED_KIND=l\303\274fo", "SCHED_KIND=l\\xc3\\xbcfo: no such value;", "accepted: steal lifo"},
        {"SCHED_DEQUE=ring SCHED_STEAL=half SCHED_OVERFLOW=grow",
         "options.settings: SCHED_OVERFLOW=grow: not with SCHED_KIND=steal SCHED_DEQUE=ring;", "accepted: half one refuse"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        options.settings = bad[i].settings;
        check_refused(bad[i].says, bad[i].accepted);
    }
    options.reserved = 1;
    check_refused("options.reserved is 1", "accepted: 0");
    options.nthreads = 4097;
    check_refused("options.nthreads is 4097", "at most 4096");
    options.kind = SCHED_KIND_SERIAL + 1;
    check_refused("options.kind is 6", "1 to 5");
    options.blocking = 65537;
    check_refused("options.blocking is 65537", "1 to 65536");
    options.kind = SCHED_KIND_LIFO;
    options.settings = "SCHED_DEQUE=chaselev";
    check_refused("options.settings: SCHED_DEQUE=chaselev: not with SCHED_KIND=lifo;",
                  "accepted: mutex spin sem fair adaptive");
    options.settings = "SCHED_OVERFLOW=half";
    check_refused("options.settings: SCHED_OVERFLOW=half: not with SCHED_KIND=steal SCHED_DEQUE=split;",
                  "accepted: grow refuse");
    options.settings = "SCHED_STEAL=half";
    check_refused("options.settings: SCHED_STEAL=half: not with SCHED_KIND=steal SCHED_DEQUE=split;", "accepted: one");
}

static atomic_int began, refused_one;

static void begins(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_block_begin(s), 0);
    began = 1;
    while (!refused_one)
        pause_us(1000);
    CHECK_EQ(sched_block_end(s), 0);
}

static void is_refused(void *closure, struct scheduler *s)
{
    while (!began)
        sched_task_yield(s);
    CHECK_ERRNO(sched_block_begin(s), EAGAIN);
    refused_one = 1;
}

static void blocking(void)
{
    options = (struct sched_options){.size = sizeof options, .nthreads = 2, .blocking = 1};
    struct sched_pool *pool = sched_pool_create(&options);
    CHECK(pool != NULL);
    CHECK_EQ(sched_pool_submit(pool, begins, NULL), 0);
    CHECK_EQ(sched_pool_run(pool, is_refused, NULL), 0);
    CHECK_EQ(refused_one, 1);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    options.blocking = 65536;
    pool = sched_pool_create(&options);
    CHECK(pool != NULL);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    options.blocking++;
    CHECK_NO_POOL(&options, EINVAL);
}

static void sizes(void)
{
    struct {
        struct sched_options now;
        int later[4];
    } big = {.now = {.size = sizeof big, .nthreads = 2}};
    struct sched_pool *pool = sched_pool_create(&big.now);
    CHECK(pool != NULL);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    big.later[3] = 1; /* something that this version does not know */
    CHECK_NO_POOL(&big.now, EINVAL);
    big.now.size = 0;
    CHECK_NO_POOL(&big.now, EINVAL);
    big.now.size = sizeof big.now - 1; /* less than the first version */
    CHECK_NO_POOL(&big.now, EINVAL);
    big.now.size = SIZE_MAX;
    CHECK_NO_POOL(&big.now, EINVAL);
    big.now.size = sizeof big.now; /* the next bytes are not a member of the caller's struct */
    pool = sched_pool_create(&big.now);
    CHECK(pool != NULL);
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

CASE(pool_options)
{
    values();
    environment();
    options_refused();
    blocking();
    sizes();
}

/* pool_report: SCHED_STATS: a pool reports once, when it is destroyed, as a run does at its end.
 * ctest: matrix deque=mutex,split idle=park threads=1,4 */
static void report_leaf(void *closure, struct scheduler *s)
{
}

static void report_body(void *arg)
{
    struct sched_pool *pool = pool_of(4);
    struct stat file;
    CHECK_TIMES(100, sched_pool_submit(pool, report_leaf, NULL));
    CHECK_EQ(sched_pool_run(pool, report_leaf, NULL), 0);
    CHECK_EQ(stat(stats_path, &file), 0);
    CHECK_EQ(file.st_size, 0);
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

CASE(pool_report)
{
    gather_stats();
    in_child(report_body, NULL);
    char *line = gathered_stats();
    CHECK_CHILD_EXITED(0);
    CHECK_EQ(stat_number(line, "tasks"), 101);
    CHECK_EQ(stat_number(line, "threads"), threads_of(4));
    CHECK_EQ(strchr(line, '\n')[1], 0);
}

/* pool_rest: sched_pool_wait does not return between a task and another one that it spawns late,
 * nor while only one worker has tasks.
 * ctest: matrix */
static atomic_int steps;

static void step(void *closure, struct scheduler *s)
{
    long left = (long)closure;
    pause_us(left % 3 * 300);
    if (left > 0)
        CHECK_EQ(sched_spawn(step, (void *)(left - 1), s), 0);
    atomic_fetch_add(&steps, 1);
}

CASE(pool_rest)
{
    struct sched_pool *pool = pool_of(3);
    for (int round = 0; round < 20; round++) {
        steps = 0;
        CHECK_EQ(sched_pool_submit(pool, step, (void *)20), 0);
        CHECK_EQ(sched_pool_wait(pool), 0);
        CHECK_EQ(steps, 21);
    }
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

/* pool_scheduler: sched_pool_scheduler: the same s in each call, which any thread may use until the
 * pool is destroyed; EINVAL for NULL, and for the parent's pool in a child made by fork.
 * ctest: static
 * ctest: matrix few */
static void scheduler_count(void *closure, struct scheduler *s)
{
    CHECK(closure == NULL || sched_worker_count(closure) == sched_worker_count(s));
    atomic_fetch_add(&shared_ran, 1);
}

CASE(pool_scheduler)
{
    struct sched_pool *pool = pool_of(2);
    struct scheduler *s = sched_pool_scheduler(pool);

    CHECK(s != NULL);
    CHECK(sched_pool_scheduler(pool) == s);
    errno = 0;
    CHECK(sched_pool_scheduler(NULL) == NULL);
    CHECK_EQ(errno, EINVAL);
    CHECK_EQ(sched_spawn(scheduler_count, s, s), 0);
    CHECK_EQ(sched_pool_wait(pool), 0);
    CHECK_EQ(shared_ran, 1);
    pid_t child = fork();
    if (child == 0) {
        errno = 0;
        CHECK(sched_pool_scheduler(pool) == NULL);
        CHECK_EQ(errno, EINVAL);
        CHECK_ERRNO(sched_spawn(scheduler_count, NULL, s), EINVAL);
        _exit(0);
    }
    CHECK_EQ(wait_for(child), 0);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    CHECK_ERRNO(sched_spawn(scheduler_count, NULL, s), EINVAL);
}

/* pool_threads: A pool has nthreads threads of its own, without the caller's. If some cannot be
 * created, it has the others; if none can, sched_pool_create fails with EAGAIN.
 * ctest: timeout=60
 * ctest: matrix deque=mutex,split idle=park threads=1,4 */
static atomic_int arrived, all;

static void guest(void *closure, struct scheduler *s)
{
    CHECK(!on_caller());
    atomic_fetch_add(&arrived, 1);
    while (!all)
        pause_us(200);
}

static void threads_full(void *arg)
{
    int wanted = threads_of(4);
    struct sched_pool *pool = pool_of(4);
    CHECK_TIMES(3 * wanted, sched_pool_submit(pool, guest, NULL));
    CHECK(threads_become(wanted + 1));
    for (struct patience p = patience_of(20); arrived < wanted && is_patient(&p);)
        pause_us(1000);
    pause_us(5000);
    CHECK_EQ(arrived, wanted);
    all = 1;
    CHECK_EQ(sched_pool_destroy(pool), 0);
    CHECK_EQ(arrived, 3 * wanted);
    CHECK(threads_become(1));
}

static atomic_int destroyed;

static void destroy(void *value)
{
    atomic_fetch_add(&destroyed, 1);
}

static void set_key(void *key, struct scheduler *s)
{
    CHECK_EQ(pthread_setspecific(*(pthread_key_t *)key, key), 0);
}

/* SCHED_WARM=0: its threads have ended when sched_pool_destroy returns. */
static void unkept(void *arg)
{
    pthread_key_t key;
    setenv("SCHED_WARM", "0", 1);
    CHECK_EQ(pthread_key_create(&key, destroy), 0);
    for (int run = 1; run <= 20; run++) {
        struct sched_pool *pool = pool_of(1);
        CHECK_EQ(sched_pool_run(pool, set_key, &key), 0);
        CHECK_EQ(sched_pool_destroy(pool), 0);
        CHECK(destroyed >= run); /* SCHED_THREADS may want more workers, but one ran it */
    }
}

static void none(void *arg)
{
    no_threads();
    for (int i = 0; i < 100; i++)
        CHECK_NO_POOL(NULL, EAGAIN);
    CHECK_EQ(thread_count(), 1);
}

CASE(pool_threads)
{
    CHECK_IN_CHILD(threads_full, NULL);
    CHECK_IN_CHILD(unkept, NULL);
    in_child(none, NULL);
    CHECK_CHILD_PASSED();
}

/* pool_tools: What a task may use, a task of a pool may: copies, forks, groups, help while it
 * waits; a thread outside may use the s of a task that runs, and after the pool's end it gives
 * EINVAL.
 * ctest: matrix few refuse */
static struct scheduler *_Atomic known;
static atomic_int tools_ran, tools_hold;

static void add(void *copy, struct scheduler *s)
{
    atomic_fetch_add(&tools_ran, *(int *)copy);
}

COUNTING_TASK(one, tools_ran)

static void root(void *closure, struct scheduler *s)
{
    int seven = 7;
    sched_group group = SCHED_GROUP_INIT;
    CHECK_TIMES(20, sched_group_spawn(&group, one, NULL, s));
    CHECK_EQ(sched_group_wait(&group, s), 0);
    CHECK_EQ(tools_ran, 20);
    CHECK_EQ(sched_spawn_copy(add, &seven, sizeof seven, s), 0);
}

static void holder(void *closure, struct scheduler *s)
{
    known = s;
    while (tools_hold)
        pause_us(100);
}

CASE(pool_tools)
{
    struct sched_pool *pool = pool_of(3);
    long n = 16;
    CHECK_EQ(sched_pool_run(pool, fib, &n), 0);
    CHECK_EQ(n, 987);
    CHECK_EQ(sched_pool_run(pool, root, NULL), 0);
    CHECK_EQ(tools_ran, 27);

    tools_ran = 0;
    tools_hold = 1;
    CHECK_EQ(sched_pool_submit(pool, holder, NULL), 0);
    while (!known)
        pause_us(100);
    CHECK_TIMES(50, sched_spawn(one, NULL, known));
    tools_hold = 0;
    CHECK_EQ(sched_pool_wait(pool), 0);
    CHECK_EQ(tools_ran, 50);
    CHECK_EQ(sched_spawn(one, NULL, known), 0); /* the run has not ended, though it is at rest */
    CHECK_EQ(sched_pool_destroy(pool), 0);
    CHECK_EQ(tools_ran, 51);
    CHECK_ERRNO(sched_spawn(one, NULL, known), EINVAL);
}

/* pool_within: Pools and runs within each other: a task makes a pool and destroys it; a task of a
 * pool calls sched_init; tasks of pool A submit to pool B and back, and wait for B; a run's task
 * hands tasks to a pool that outlives it.
 * ctest: matrix refuse */
static struct sched_pool *a, *b;

COUNTING_TASK(within_count, shared_ran)

static void with_own_pool(void *closure, struct scheduler *s)
{
    struct sched_pool *own = pool_of(2);
    CHECK_EQ(sched_spawn(within_count, NULL, s), 0);
    CHECK_EQ(sched_pool_submit(own, within_count, NULL), 0);
    CHECK_EQ(sched_pool_run(own, within_count, NULL), 0);
    CHECK_EQ(sched_pool_destroy(own), 0);
    atomic_fetch_add(&shared_ran, 1);
}

static void with_own_run(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_init(2, 4, within_count, closure), 0);
    CHECK_EQ(sched_spawn(within_count, closure, s), 0);
    atomic_fetch_add(&shared_ran, 1);
}

/* A ball that two tasks throw to and fro. */
static void ball(void *closure, struct scheduler *s)
{
    long left = (long)closure;
    atomic_fetch_add(&shared_ran, 1);
    if (left > 0)
        CHECK_EQ(sched_pool_submit(left % 2 ? a : b, ball, (void *)(left - 1)), 0);
}

static void wait_for_b(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_pool_run(b, within_count, NULL), 0);
    CHECK_EQ(sched_pool_wait(b), 0);
    CHECK_ERRNO(sched_pool_wait(a), EDEADLK);
    atomic_fetch_add(&shared_ran, 1);
}

static void hand_over(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_pool_submit(a, with_own_run, NULL), 0);
}

CASE(pool_within)
{
    a = pool_of(2);
    b = pool_of(3);
    CHECK_EQ(sched_init(2, 4, with_own_pool, NULL), 0);
    CHECK_EQ(shared_ran, 4);
    CHECK_EQ(sched_pool_run(a, with_own_pool, NULL), 0);
    CHECK_EQ(shared_ran, 8);
    CHECK_EQ(sched_pool_run(b, with_own_run, NULL), 0);
    CHECK_EQ(shared_ran, 11);

    CHECK_EQ(sched_pool_submit(a, ball, (void *)200), 0);
    while (shared_ran < 11 + 201) {
        CHECK_EQ(sched_pool_wait(a), 0);
        CHECK_EQ(sched_pool_wait(b), 0);
    }
    CHECK_EQ(sched_pool_run(a, wait_for_b, NULL), 0);
    CHECK_EQ(shared_ran, 11 + 201 + 2);
    CHECK_EQ(sched_init(2, 4, hand_over, NULL), 0);
    CHECK_EQ(sched_pool_destroy(b), 0);
    CHECK_EQ(sched_pool_destroy(a), 0);
    CHECK_EQ(shared_ran, 11 + 201 + 2 + 3);
}
