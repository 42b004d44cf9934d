/* yields: sched_task_yield. */
#include "case.h"
#include <pthread.h>
#include <sched_tasks.h>
#include <stdatomic.h>

/* yield_drift: With one worker, tasks that yield in a loop keep step: never more than 10 turns
 * apart, and one more for each millisecond begun, in which tasks from outside may go before others once
 * (policy::turns); whatever else is queued, and whether they are in the worker's own queue or come
 * from outside; also (args: its room) where the own queue has room for few of them.
 * ctest: static debug
 * ctest: matrix threads=1
 * ctest: matrix threads=1 deque=mutex,split idle=park join=help
 * ctest: matrix threads=1 deque=mutex,split idle=park env=SCHED_SEED=7
 * ctest: matrix threads=1 deque=mutex,split idle=park overflow=refuse
 * ctest: matrix threads=1 deque=mutex,split idle=park env=SCHED_STACK=64K
 * ctest: matrix threads=1 deque=queue,mutex,spin kind=steal idle=park overflow=one args=1
 * ctest: matrix threads=1 deque=queue,mutex,spin kind=steal idle=park overflow=half args=2
 * ctest: matrix threads=1 deque=queue,mutex,spin kind=steal idle=park overflow=half args=3
 * ctest: matrix threads=1 deque=queue,mutex,spin kind=steal idle=park overflow=half global=all args=1
 * ctest: matrix threads=1 deque=queue,ring kind=steal idle=park global=all
 * ctest: matrix threads=1 deque=queue,ring kind=steal idle=park join=help */
enum { DRIFT_TURNS = 2000, APART = 10, DRIFT_MOST = 5 };

static int turns[DRIFT_MOST], tasks, strangers;
static int others, wanted; /* the latter: do all spawn others? */
static double drift_begun;

static int most_apart(void)
{
    return APART + 1 + (int)(1000 * (now() - drift_begun));
}

COUNTING_TASK(other, others)

static void drift_turn(void *closure, struct scheduler *s)
{
    int *mine = closure;
    while (*mine < DRIFT_TURNS) {
        ++*mine;
        for (int i = 0; i < tasks; i++)
            if (turns[i] < *mine - APART && turns[i] < *mine - most_apart())
                CHECK_EQ(turns[i], *mine);
        if (wanted)
            CHECK_EQ(sched_spawn(other, NULL, s), 0);
        sched_task_yield(s);
    }
}

static void *stranger(void *s)
{
    for (int i = tasks - strangers; i < tasks; i++)
        CHECK_EQ(sched_spawn(drift_turn, &turns[i], s), 0);
    return NULL;
}

static void drift_root(void *closure, struct scheduler *s)
{
    run_thread(stranger, s);
    for (int i = 0; i < tasks - strangers; i++)
        CHECK_EQ(sched_spawn(drift_turn, &turns[i], s), 0);
}

CASE(yield_drift)
{
    int qlen = argc > 1 ? atoi(argv[1]) : 2 * DRIFT_MOST;
    int with_others = argc == 1;
    for (tasks = 2; tasks <= DRIFT_MOST; tasks++)
        for (strangers = 0; strangers <= tasks; strangers++) {
            memset(turns, 0, sizeof turns);
            wanted = with_others && tasks == DRIFT_MOST;
            drift_begun = now();
            CHECK_EQ(sched_init(1, qlen, drift_root, NULL), 0);
            for (int i = 0; i < tasks; i++)
                CHECK_EQ(turns[i], DRIFT_TURNS);
        }
    CHECK_EQ(others, with_others * (DRIFT_MOST + 1) * DRIFT_MOST * DRIFT_TURNS);
}

/* yield_far: A task that yields until others have run gets its worker to take them, also from one
 * who computes meanwhile and never touches its own queue.
 * ctest: matrix with=threads without=calls threads=2,4 */
enum { LEAVES = 10 };

static atomic_int came, ran;

COUNTING_TASK(far_leaf, ran)

static void waits(void *closure, struct scheduler *s)
{
    came = 1;
    while (ran < LEAVES)
        sched_task_yield(s);
}

/* Without the scheduler; where there are fewer processors than threads, others are to run, too. */
static void compute_until(atomic_int *count, int least)
{
    while (*count < least)
        pause_us(0);
}

static void far_root(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(waits, closure, s), 0);
    compute_until(&came, 1);
    CHECK_TIMES(LEAVES, sched_spawn(far_leaf, closure, s));
    compute_until(&ran, LEAVES);
}

CASE(yield_far)
{
    CHECK_EQ(sched_init(2, 4, far_root, NULL), 0);
    CHECK_EQ(ran, LEAVES);
}

/* yield_many: Many tasks that yield, fork, spawn and wait for groups between: each ends, with its
 * own variables.
 * ctest: static debug
 * ctest: matrix
 * ctest: matrix deque=mutex,split idle=park join=help
 * ctest: matrix deque=mutex,split idle=park env=SCHED_STACK=64K
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace
 * ctest: matrix deque=split,mutex idle=park threads=2,4 join=help trace */
enum { TASKS = 60, MANY_TURNS = 8 * (1 + 4 / SMALLER) };

static atomic_int ended, spawned;

static void many_leaf(void *closure, struct scheduler *s)
{
    sched_task_yield(s);
    atomic_fetch_add(&spawned, 1);
}

static void add_one(void *closure, struct scheduler *s)
{
    sched_task_yield(s);
    ++*(int *)closure;
    sched_task_yield(s);
}

static void many_turn(void *closure, struct scheduler *s)
{
    uint64_t x = 1 + (uint64_t)(intptr_t)closure, sum = 0, again = 1 + (uint64_t)(intptr_t)closure;
    int forked = 0, grouped[2] = {0, 0};
    for (int i = 0; i < MANY_TURNS; i++) {
        sum += next_random(&x);
        sched_task_yield(s);
        if (i % 8 == 0) {
            sched_task t;
            sched_fork(&t, add_one, &forked, s);
            sched_task_yield(s);
            sched_join(&t, s);
        }
        if (i % 8 == 3) {
            sched_group g = SCHED_GROUP_INIT;
            for (int k = 0; k < 2; k++)
                CHECK_EQ(sched_group_spawn(&g, add_one, &grouped[k], s), 0);
            CHECK_EQ(sched_group_wait(&g, s), 0);
        }
        if (i % 8 == 5)
            CHECK_EQ(sched_spawn(many_leaf, NULL, s), 0);
    }
    for (int i = 0; i < MANY_TURNS; i++)
        sum -= next_random(&again);
    CHECK_EQ(sum, 0);
    CHECK_EQ(forked, MANY_TURNS / 8);
    CHECK_EQ(grouped[0] + grouped[1], MANY_TURNS / 4);
    atomic_fetch_add(&ended, 1);
}

static void many_root(void *closure, struct scheduler *s)
{
    for (intptr_t i = 0; i < TASKS; i++)
        CHECK_EQ(sched_spawn(many_turn, (void *)i, s), 0);
}

CASE(yield_many)
{
    for (int run = 1; run <= 3; run++) {
        CHECK_EQ(sched_init(4, 10, many_root, NULL), 0);
        CHECK_EQ(ended, run * TASKS);
        CHECK_EQ(spawned, run * TASKS * (MANY_TURNS / 8));
    }
}

/* yield_starve: With one worker, a task that yields continues however many others come: each task
 * here spawns the next and yields.
 * ctest: matrix kind=steal,fifo,serial threads=1 */
enum { STARVE_MOST = 20000 };

static int starve_begun, first_went_on;

static void next(void *closure, struct scheduler *s)
{
    int number = ++starve_begun;
    if (number < STARVE_MOST && !first_went_on)
        CHECK_EQ(sched_spawn(next, closure, s), 0);
    sched_task_yield(s);
    if (number == 1)
        first_went_on = 1;
}

CASE(yield_starve)
{
    CHECK_EQ(sched_init(1, 10, next, NULL), 0);
    CHECK(first_went_on);
    CHECK(starve_begun < 1000);
}
