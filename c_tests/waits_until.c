/* waits_until: sleeps, and waits with a deadline. No test has an upper bound for a time. */
#include "case.h"
#include "child.h"
#include "everywhere.h"

enum { SHORT = 200000 }; /* ns */

static int outcome(int rc)
{
    return rc == 0 ? 0 : get_errno();
}

/* until_sleep: sched_sleep returns 0 when the time has passed, and not before, wherever it is called: in tasks, with NULL,
 * in a section, in main, in a thread outside, in a loop of main. Times of 0, negative ones and deadlines in the past end at
 * once. After the end of its run an s is refused.
 * ctest: static debug
 * ctest: matrix */
APART void sleeps(void *closure, struct scheduler *s)
{
    const sched_time lengths[] = {1, 1023, 1024, 1025, 60000, SCHED_MILLISECOND + 1};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        sched_time before = sched_now();
        CHECK_EQ(sched_sleep(lengths[i], s), 0);
        CHECK(sched_now() >= before + lengths[i]);
        sched_time deadline = sched_now() + lengths[i];
        CHECK_EQ(sched_sleep_until(deadline, s), 0);
        CHECK(sched_now() >= deadline);
    }
    CHECK_EQ(sched_sleep(0, s), 0);
    CHECK_EQ(sched_sleep(-1, s), 0);
    CHECK_EQ(sched_sleep(INT64_MIN, s), 0);
    CHECK_EQ(sched_sleep_until(0, s), 0);
    CHECK_EQ(sched_sleep_until(-1, s), 0);
    CHECK_EQ(sched_sleep_until(INT64_MIN, s), 0);
    CHECK_EQ(sched_sleep_until(sched_now(), s), 0);
}

static void note_scheduler(void *at, struct scheduler *s)
{
    *(struct scheduler **)at = s;
}

CASE(until_sleep)
{
    struct scheduler *ended;
    struct timespec t;
    sched_time before = sched_now();
    CHECK_EQ(clock_gettime(CLOCK_MONOTONIC, &t), 0);
    sched_time between = t.tv_sec * SCHED_SECOND + t.tv_nsec;
    CHECK(before <= between && between <= sched_now());
    everywhere(sleeps);
    CHECK_EQ(sched_init(1, 10, note_scheduler, &ended), 0);
    CHECK_EQ(sched_sleep(0, ended), 0);
    CHECK_ERRNO(sched_sleep(SHORT, ended), EINVAL);
}

/* until_polls: A task polls with sleeps whose time has passed before the task is suspended. It still
 * lets the other tasks of its worker run, with s and with NULL.
 * ctest: static debug
 * ctest: matrix threads=1,2 */
static atomic_int polled;

static void is_polled(void *closure, struct scheduler *s)
{
    polled++;
}

static void polls(void *closure, struct scheduler *s)
{
    for (int i = 1; i <= 10; i++) {
        CHECK_EQ(sched_spawn(is_polled, NULL, s), 0);
        while (polled < i)
            CHECK_EQ(sched_sleep(1, i % 2 ? s : NULL), 0);
    }
}

CASE(until_polls)
{
    CHECK_EQ(sched_init(1, 10, polls, NULL), 0);
    CHECK_EQ(polled, 10);
}

/* until_many: Many tasks that sleep: each continues once, and not before its time, whatever the order of the times, while
 * other tasks compute. Their number is not that of the workers.
 * ctest: static debug
 * ctest: matrix */
enum { SLEEPERS = 4000 / SMALLER };
static atomic_int slept;
static atomic_int sleeps_left[SLEEPERS];

static void sleeper(void *closure, struct scheduler *s)
{
    uint64_t x = (uint64_t)(long)closure + 1;
    for (int i = 0; i < 3; i++) {
        sched_time deadline = sched_now() + (sched_time)(next_random(&x) % (2 * SCHED_MILLISECOND));
        CHECK_EQ(sched_sleep_until(deadline, s), 0);
        CHECK(sched_now() >= deadline);
    }
    CHECK_EQ(atomic_fetch_add(&sleeps_left[(long)closure], 1), 0);
    slept++;
}

static void computes(void *closure, struct scheduler *s)
{
    while (slept < SLEEPERS)
        sched_task_yield(s);
}

static void many_root(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(computes, NULL, s), 0);
    spawn_all(SLEEPERS, sleeper, s);
}

CASE(until_many)
{
    run(3, many_root);
    CHECK_EQ(slept, SLEEPERS);
}

/* A thread that does what another one needs, somewhat later. */
static sched_mutex mutex = SCHED_MUTEX_INIT;
static sched_cond cond = SCHED_COND_INIT;
static sched_sem sem = SCHED_SEM_INIT(0), group_end = SCHED_SEM_INIT(0);
static int signalled;

struct helper {
    pthread_t thread;
    atomic_int step; /* 1: it has begun; 2: it is to end */
};

static void *holds_mutex(void *arg)
{
    struct helper *helper = arg;
    CHECK_EQ(sched_mutex_lock(&mutex, NULL), 0);
    helper->step = 1;
    while (helper->step == 1)
        pause_us(100);
    if (helper->step == 3)
        pause_us(2000);
    CHECK_EQ(sched_mutex_unlock(&mutex), 0);
    return NULL;
}

static void *posts(void *arg)
{
    pause_us(2000);
    CHECK_EQ(sched_sem_post(arg), 0);
    return NULL;
}

static void *signals(void *arg)
{
    pause_us(2000);
    CHECK_EQ(sched_mutex_lock(&mutex, NULL), 0);
    signalled = 1;
    CHECK_EQ(sched_cond_signal(&cond), 0);
    CHECK_EQ(sched_mutex_unlock(&mutex), 0);
    return NULL;
}

static void help(struct helper *helper, void *(*f)(void *), void *arg)
{
    helper->step = 0;
    CHECK_EQ(pthread_create(&helper->thread, NULL, f, arg), 0);
}

static void helped(struct helper *helper)
{
    CHECK_EQ(pthread_join(helper->thread, NULL), 0);
}

/* until_objects: Each call with a deadline, wherever it is made: it succeeds at once if it need not wait, also with a
 * deadline in the past; succeeds later; fails with ETIMEDOUT at its deadline, and not before. Then the object is as if the
 * call had not been made, and all other functions work.
 * ctest: static debug
 * ctest: matrix */
APART void until_sem(struct scheduler *s)
{
    struct helper helper;
    CHECK_TIMES_OUT(sched_sem_wait_until(&sem, deadline, s));
    CHECK_ERRNO(sched_sem_trywait(&sem), EAGAIN);
    CHECK_TIMES(3, sched_sem_post(&sem));
    CHECK_EQ(sched_sem_wait_until(&sem, INT64_MIN, s), 0);
    CHECK_EQ(sched_sem_wait_until(&sem, SCHED_FOREVER, s), 0);
    CHECK_EQ(sched_sem_wait(&sem, s), 0);
    CHECK_ERRNO(sched_sem_trywait(&sem), EAGAIN);
    help(&helper, posts, &sem);
    CHECK_EQ(sched_sem_wait_until(&sem, SCHED_FOREVER, s), 0);
    helped(&helper);
    help(&helper, posts, &sem);
    CHECK_EQ(sched_sem_wait_until(&sem, sched_now() + 1000 * SCHED_SECOND, s), 0);
    helped(&helper);
    CHECK_TIMES_OUT(sched_sem_wait_until(&sem, deadline, s));
}

APART void until_mutex(struct scheduler *s)
{
    for (int way = 2; way <= 3; way++) {
        struct helper helper;
        help(&helper, holds_mutex, &helper);
        while (helper.step == 0)
            pause_us(100);
        CHECK_TIMES_OUT(sched_mutex_lock_until(&mutex, deadline, s));
        CHECK_ERRNO(sched_mutex_trylock(&mutex), EBUSY);
        helper.step = way;
        if (way == 3) {
            CHECK_EQ(sched_mutex_lock_until(&mutex, sched_now() + 1000 * SCHED_SECOND, s), 0);
            CHECK_EQ(sched_mutex_unlock(&mutex), 0);
        }
        helped(&helper);
        CHECK_EQ(sched_mutex_trylock(&mutex), 0);
        CHECK_EQ(sched_mutex_unlock(&mutex), 0);
        CHECK_EQ(sched_mutex_lock_until(&mutex, INT64_MIN, s), 0);
        CHECK_EQ(sched_mutex_unlock(&mutex), 0);
        CHECK_EQ(sched_mutex_lock(&mutex, s), 0);
        CHECK_EQ(sched_mutex_unlock(&mutex), 0);
    }
}

APART void until_cond(struct scheduler *s)
{
    CHECK_ERRNO(sched_cond_wait_until(&cond, &mutex, SCHED_FOREVER, s), EPERM);
    CHECK_EQ(sched_mutex_lock(&mutex, s), 0);
    CHECK_TIMES_OUT(sched_cond_wait_until(&cond, &mutex, deadline, s));
    CHECK_ERRNO(sched_mutex_trylock(&mutex), EBUSY); /* the caller has it */
    for (int way = 0; way < 3; way++) {
        struct helper helper;
        signalled = 0;
        help(&helper, signals, NULL);
        while (!signalled) {
            sched_time deadline = way ? sched_now() + (way == 1 ? 1000 * SCHED_SECOND : SHORT) : SCHED_FOREVER;
            int error = outcome(sched_cond_wait_until(&cond, &mutex, deadline, s));
            CHECK(error == 0 || (way == 2 && error == ETIMEDOUT));
        }
        CHECK_EQ(sched_mutex_unlock(&mutex), 0);
        helped(&helper);
        CHECK_EQ(sched_mutex_lock(&mutex, s), 0);
    }
    CHECK_EQ(sched_cond_signal(&cond), 0); /* nobody waits: no effect */
    CHECK_TIMES_OUT(sched_cond_wait_until(&cond, &mutex, deadline, s));
    CHECK_EQ(sched_mutex_unlock(&mutex), 0);
}

static void waits_for_end(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_sem_wait(&group_end, s), 0);
}

/* The caller is in a task, or s is a pool's. */
APART void until_group(struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    struct helper helper;
    CHECK_EQ(sched_group_wait_until(&g, INT64_MIN, s), 0);
    for (int way = 0; way < 3; way++) {
        CHECK_EQ(sched_group_spawn(&g, waits_for_end, NULL, s), 0);
        CHECK_TIMES_OUT(sched_group_wait_until(&g, deadline, s));
        help(&helper, posts, &group_end);
        if (way == 0)
            CHECK_EQ(sched_group_wait(&g, s), 0);
        else
            CHECK_EQ(sched_group_wait_until(&g, way == 1 ? SCHED_FOREVER : sched_now() + 1000 * SCHED_SECOND, s), 0);
        CHECK_EQ(sched_group_wait_until(&g, 0, s), 0);
        helped(&helper);
    }
}

/* Asks until the pool shows that it has no task: for a moment after its creation or its last task its workers are not idle. */
APART void asks_pool(struct sched_pool *pool)
{
    int error;
    while ((error = outcome(sched_pool_wait_until(pool, INT64_MIN))) != 0)
        CHECK_EQ(error, ETIMEDOUT);
}

APART void until_pool(void)
{
    struct sched_pool *pool = pool_of(1);
    struct helper helper;
    asks_pool(pool);
    for (int way = 0; way < 3; way++) {
        CHECK_EQ(sched_pool_submit(pool, waits_for_end, NULL), 0);
        CHECK_TIMES_OUT(sched_pool_wait_until(pool, deadline));
        help(&helper, posts, &group_end);
        if (way == 0)
            CHECK_EQ(sched_pool_wait(pool), 0);
        else
            CHECK_EQ(sched_pool_wait_until(pool, way == 1 ? SCHED_FOREVER : sched_now() + 1000 * SCHED_SECOND), 0);
        asks_pool(pool);
        helped(&helper);
    }
    CHECK_ERRNO(sched_pool_wait_until(NULL, SCHED_FOREVER), EINVAL);
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

APART void until_all(void *closure, struct scheduler *s)
{
    until_sem(s);
    until_mutex(s);
    until_cond(s);
    until_group(s);
    until_pool();
}

CASE(until_objects)
{
    struct scheduler *ended;
    everywhere(until_all);
    CHECK_ERRNO(sched_sem_wait_until(NULL, 0, NULL), EINVAL);
    CHECK_ERRNO(sched_mutex_lock_until(NULL, 0, NULL), EINVAL);
    CHECK_ERRNO(sched_cond_wait_until(NULL, &mutex, 0, NULL), EINVAL);
    CHECK_ERRNO(sched_cond_wait_until(&cond, NULL, 0, NULL), EINVAL);
    CHECK_ERRNO(sched_group_wait_until(NULL, 0, NULL), EINVAL);
    CHECK_EQ(sched_init(1, 10, note_scheduler, &ended), 0);
    CHECK_ERRNO(sched_sem_wait_until(&sem, SCHED_FOREVER, ended), EINVAL);
    CHECK_ERRNO(sched_sem_wait_until(&sem, 0, ended), ETIMEDOUT);
    CHECK_EQ(sched_sem_post(&sem), 0);
    CHECK_EQ(sched_sem_wait_until(&sem, SCHED_FOREVER, ended), 0);
}

/* until_race_sem: A unit that is posted at the moment of a deadline is neither lost nor taken twice, whoever waits: tasks and
 * threads, with deadlines and without. Each takes its number of units, as many as are posted in all.
 * ctest: static debug
 * ctest: matrix refuse
 * ctest: matrix deque=mutex,split idle=park threads=2,4 join=help */
enum { TAKERS = 6, TAKES = 20000 / SMALLER / TAKERS };
static sched_sem units = SCHED_SEM_INIT(0);
static atomic_long unit_timeouts;

static sched_time soon(uint64_t *x)
{
    return sched_now() + (sched_time)(next_random(x) % 20000);
}

static void *calls_from_outside(void *task)
{
    (*(taskfunc *)task)(NULL, NULL);
    return NULL;
}

/* Runs root, and beside it two threads: one has no deadlines, the other one has. */
static void race(taskfunc root, taskfunc without, taskfunc in_time)
{
    taskfunc tasks[] = {without, in_time};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        threads[i] = begin_thread(calls_from_outside, &tasks[i]);
    run(3, root);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

static void takes_in_time(void *closure, struct scheduler *s)
{
    uint64_t x = 99 + (uint64_t)(long)closure;
    for (int taken = 0; taken < TAKES;) {
        int error = outcome(sched_sem_wait_until(&units, soon(&x), s));
        CHECK(error == 0 || error == ETIMEDOUT);
        taken += error == 0;
        unit_timeouts += error != 0;
    }
}

static void takes(void *closure, struct scheduler *s)
{
    CHECK_TIMES(TAKES, sched_sem_wait(&units, s));
}

static void posts_units(void *closure, struct scheduler *s)
{
    uint64_t x = 7;
    for (long left = (long)closure * TAKES; left > 0; left--) {
        CHECK_EQ(sched_sem_post(&units), 0);
        if (next_random(&x) % 4 == 0)
            CHECK_EQ(sched_sleep_until(soon(&x), s), 0);
        else if (x % 8 == 0)
            sched_task_yield(s);
    }
}

static void race_sem_root(void *closure, struct scheduler *s)
{
    for (long i = 0; i < TAKERS; i++)
        CHECK_EQ(sched_spawn(i % 3 == 2 ? takes : takes_in_time, (void *)i, s), 0);
    CHECK_EQ(sched_spawn(posts_units, (void *)TAKERS, s), 0);
    CHECK_EQ(sched_spawn(posts_units, (void *)2, s), 0);
}

CASE(until_race_sem)
{
    race(race_sem_root, takes, takes_in_time);
    CHECK_ERRNO(sched_sem_trywait(&units), EAGAIN);
}

/* until_post: A post at the moment at which the only waiter gives up returns. Its unit goes to the
 * waiter, or remains for the next one.
 * ctest: static debug
 * ctest: matrix few idle=park threads=2 */
enum { POSTS = 40000 / SMALLER };
static atomic_int posted, waits_ended;

static void *posts_once_a_round(void *arg)
{
    unsigned turns = 0;
    for (int i = 0; i < POSTS; i++) {
        while (waits_ended < i)
            spin(&turns);
        for (volatile int pause = i % 97; pause > 0; pause--)
            continue;
        CHECK_EQ(sched_sem_post(&units), 0);
        posted++;
    }
    return NULL;
}

CASE(until_post)
{
    unsigned turns = 0;
    pthread_t thread = begin_thread(posts_once_a_round, NULL);
    for (int i = 0; i < POSTS; i++) {
        int error = outcome(sched_sem_wait_until(&units, sched_now() + i % 1009, NULL));
        CHECK(error == 0 || error == ETIMEDOUT);
        while (posted <= i)
            spin(&turns);
        CHECK_EQ(sched_sem_trywait(&units) == 0, error == ETIMEDOUT);
        waits_ended++;
    }
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

/* until_race_mutex: Lockers with deadlines and without exclude each other, tasks and threads, also when an unlock and a
 * deadline come at the same moment; none is forgotten. At the end the mutex is free.
 * ctest: static debug
 * ctest: matrix refuse
 * ctest: matrix deque=mutex,split idle=park threads=2,4 join=help */
enum { LOCKERS = 6, LOCKS = 6000 / SMALLER / LOCKERS };
static sched_mutex contended = SCHED_MUTEX_INIT;
static long in_all; /* not atomic */
static atomic_int inside;

static void holds(uint64_t *x, struct scheduler *s)
{
    long before = in_all;
    CHECK_EQ(inside++, 0);
    if (next_random(x) % 3 == 0)
        sched_task_yield(s);
    else if (*x % 5 == 0)
        CHECK_EQ(sched_sleep_until(soon(x), s), 0);
    CHECK_EQ(inside--, 1);
    in_all = before + 1;
    CHECK_EQ(sched_mutex_unlock(&contended), 0);
}

static void locks(void *closure, struct scheduler *s)
{
    uint64_t x = 3 + (uint64_t)(long)closure;
    for (int i = 0; i < LOCKS; i++) {
        CHECK_EQ(sched_mutex_lock(&contended, s), 0);
        holds(&x, s);
    }
}

static void locks_in_time(void *closure, struct scheduler *s)
{
    uint64_t x = 3 + (uint64_t)(long)closure;
    for (int i = 0; i < LOCKS;) {
        int error = outcome(sched_mutex_lock_until(&contended, soon(&x), s));
        CHECK(error == 0 || error == ETIMEDOUT);
        if (error == 0) {
            holds(&x, s);
            i++;
        }
    }
}

static void race_mutex_root(void *closure, struct scheduler *s)
{
    for (long i = 0; i < LOCKERS; i++)
        CHECK_EQ(sched_spawn(i % 3 == 2 ? locks : locks_in_time, (void *)i, s), 0);
}

CASE(until_race_mutex)
{
    race(race_mutex_root, locks, locks_in_time);
    CHECK_EQ(in_all, (LOCKERS + 2) * (long)LOCKS);
    CHECK_EQ(sched_mutex_trylock(&contended), 0);
    CHECK_EQ(sched_mutex_unlock(&contended), 0);
}

/* until_race_cond: A signal wakes a waiter that then returns 0, never one that returns ETIMEDOUT: otherwise waiters without a
 * deadline would be left over here.
 * ctest: static debug
 * ctest: matrix refuse
 * ctest: matrix deque=mutex,split idle=park threads=2,4 join=help */
enum { EATERS = 6, MEALS = 6000 / SMALLER / EATERS };
static sched_mutex kitchen = SCHED_MUTEX_INIT;
static sched_cond served = SCHED_COND_INIT;
static long meals;

static void eats(void *closure, struct scheduler *s)
{
    for (int i = 0; i < MEALS; i++) {
        CHECK_EQ(sched_mutex_lock(&kitchen, s), 0);
        while (meals == 0)
            CHECK_EQ(sched_cond_wait(&served, &kitchen, s), 0);
        meals--;
        CHECK_EQ(sched_mutex_unlock(&kitchen), 0);
    }
}

/* A caller that times out leaves without a look at the meals. */
static void eats_in_time(void *closure, struct scheduler *s)
{
    uint64_t x = 5 + (uint64_t)(long)closure;
    for (int i = 0; i < MEALS;) {
        int error = 0;
        CHECK_EQ(sched_mutex_lock(&kitchen, s), 0);
        while (meals == 0 && error == 0)
            error = outcome(sched_cond_wait_until(&served, &kitchen, soon(&x), s));
        CHECK(error == 0 || error == ETIMEDOUT);
        if (error == 0) {
            meals--;
            i++;
        }
        CHECK_EQ(sched_mutex_unlock(&kitchen), 0);
    }
}

static void cooks(void *closure, struct scheduler *s)
{
    uint64_t x = 11 + (uint64_t)(long)closure;
    for (long left = (long)closure * MEALS; left > 0; left--) {
        CHECK_EQ(sched_mutex_lock(&kitchen, s), 0);
        meals++;
        CHECK_EQ(sched_cond_signal(&served), 0);
        if (next_random(&x) % 4 == 0)
            sched_task_yield(s);
        CHECK_EQ(sched_mutex_unlock(&kitchen), 0);
        if (x % 3 == 0)
            CHECK_EQ(sched_sleep_until(soon(&x), s), 0);
    }
}

static void race_cond_root(void *closure, struct scheduler *s)
{
    for (long i = 0; i < EATERS; i++)
        CHECK_EQ(sched_spawn(i % 3 == 2 ? eats : eats_in_time, (void *)i, s), 0);
    CHECK_EQ(sched_spawn(cooks, (void *)EATERS, s), 0);
    CHECK_EQ(sched_spawn(cooks, (void *)2, s), 0);
}

CASE(until_race_cond)
{
    race(race_cond_root, eats, eats_in_time);
    CHECK_EQ(meals, 0);
}

/* until_race_group: The last task of a group ends at the moment of a waiter's deadline, with one waiter and with several:
 * each ends, and the group can be used again or freed.
 * ctest: static debug
 * ctest: matrix refuse */
enum { GROUP_ROUNDS = 1500 / SMALLER };

struct awaited {
    sched_group group, waiters;
};

static void ends_soon(void *closure, struct scheduler *s)
{
    uint64_t x = (uint64_t)(uintptr_t)closure + (uint64_t)sched_now();
    CHECK_EQ(sched_sleep_until(soon(&x), s), 0);
}

static void awaits_in_time(void *closure, struct scheduler *s)
{
    struct awaited *all = closure;
    uint64_t x = (uint64_t)(uintptr_t)&all + (uint64_t)sched_now();
    int error;
    while ((error = outcome(sched_group_wait_until(&all->group, soon(&x), s))) != 0)
        CHECK_EQ(error, ETIMEDOUT);
}

static void race_group_root(void *closure, struct scheduler *s)
{
    for (int i = 0; i < GROUP_ROUNDS; i++) {
        struct awaited all = {SCHED_GROUP_INIT, SCHED_GROUP_INIT};
        CHECK_TIMES(1 + i % 3, sched_group_spawn(&all.group, ends_soon, NULL, s));
        CHECK_TIMES(i % 4, sched_group_spawn(&all.waiters, awaits_in_time, &all, s));
        if (i % 2)
            awaits_in_time(&all, s);
        CHECK_EQ(sched_group_wait(&all.group, s), 0);
        CHECK_EQ(sched_group_wait(&all.waiters, s), 0);
    }
}

CASE(until_race_group)
{
    run(3, race_group_root);
}

/* until_leave: Waiters at the front, in the middle and at the end of a line give up. The others remain in their order, and
 * get what they wait for.
 * ctest: static debug
 * ctest: matrix */
enum { IN_LINE = 9 };
static int came, line_order[IN_LINE], line_got; /* under the mutex */
static unsigned leave_these; /* a bit for each waiter */
static atomic_int has_left;

static void in_line(void *closure, struct scheduler *s)
{
    long me = (long)closure;
    CHECK_EQ(sched_mutex_lock(&mutex, s), 0);
    came++;
    if (leave_these >> me & 1) {
        CHECK_ERRNO(sched_cond_wait_until(&cond, &mutex, sched_now() + SHORT, s), ETIMEDOUT);
        has_left++;
    } else {
        CHECK_EQ(me % 2 ? sched_cond_wait(&cond, &mutex, s)
                        : sched_cond_wait_until(&cond, &mutex, sched_now() + 1000 * SCHED_SECOND, s), 0);
        line_order[line_got++] = (int)me;
    }
    CHECK_EQ(sched_mutex_unlock(&mutex), 0);
}

static void leave_root(void *closure, struct scheduler *s)
{
    const unsigned all[] = {1, 1 << 4, 1 << 8, 1 << 3 | 1 << 4 | 1 << 5, 0x1ff & ~(1 << 4), 0x155, 0xaa, 0x1ff};
    for (size_t round = 0; round < sizeof all / sizeof *all; round++) {
        int leaving = 0;
        sched_group line = SCHED_GROUP_INIT;
        leave_these = all[round];
        came = 0;
        line_got = 0;
        has_left = 0;
        for (long i = 0; i < IN_LINE; i++) {
            leaving += leave_these >> i & 1;
            CHECK_EQ(sched_group_spawn(&line, in_line, (void *)i, s), 0);
            for (int now = 0; now <= i;) { /* one after the other */
                sched_task_yield(s);
                CHECK_EQ(sched_mutex_lock(&mutex, s), 0);
                now = came;
                CHECK_EQ(sched_mutex_unlock(&mutex), 0);
            }
        }
        while (has_left < leaving)
            CHECK_EQ(sched_sleep(SHORT / 10, s), 0);
        for (int i = 0; i < IN_LINE - leaving; i++) {
            CHECK_EQ(sched_mutex_lock(&mutex, s), 0);
            CHECK_EQ(sched_cond_signal(&cond), 0);
            CHECK_EQ(sched_mutex_unlock(&mutex), 0);
        }
        CHECK_EQ(sched_group_wait(&line, s), 0);
        for (int i = 0, at = 0; i < IN_LINE; i++)
            if (!(leave_these >> i & 1))
                CHECK_EQ(line_order[at++], i);
    }
}

CASE(until_leave)
{
    run(2, leave_root);
}

/* until_nested: Tasks of a run within a run sleep, and wait with deadlines, while tasks of the
 * outer run do the same.
 * ctest: static debug
 * ctest: matrix */
static atomic_int nested_slept;

APART void nested_sleeper(void *closure, struct scheduler *s)
{
    sched_sem own = SCHED_SEM_INIT(0);
    CHECK_EQ(sched_sleep(SHORT, s), 0);
    CHECK_ERRNO(sched_sem_wait_until(&own, sched_now() + SHORT, s), ETIMEDOUT);
    CHECK_ERRNO(sched_sem_wait_until(&own, sched_now() + SHORT, closure), ETIMEDOUT); /* NULL, or the outer run's s */
    nested_slept++;
}

static void inner_root(void *closure, struct scheduler *s)
{
    CHECK_TIMES(3, sched_spawn(nested_sleeper, closure, s));
    nested_sleeper(closure, s);
}

static void outer_task(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_init(2, 10, inner_root, closure ? s : NULL), 0);
    nested_sleeper(NULL, s);
}

static void outer_root(void *closure, struct scheduler *s)
{
    spawn_all(4, outer_task, s);
    nested_sleeper(NULL, s);
}

CASE(until_nested)
{
    run(2, outer_root);
    CHECK_EQ(nested_slept, 4 * 5 + 1);
}

/* until_stopped: A process that is stopped for a while, and continued, continues with all that has
 * become due.
 * ctest: static debug sleeps
 * ctest: matrix few idle=park,spin threads=1,4 */
static void stopped_sleeper(void *closure, struct scheduler *s)
{
    CHECK_TIMES(20, sched_sleep((long)closure % 7 * SHORT + 1, s));
    slept++;
}

static void stopped_root(void *closure, struct scheduler *s)
{
    spawn_all(20, stopped_sleeper, s);
}

static void is_stopped(void *arg)
{
    alarm(60);
    check_say("begins\n");
    run(2, stopped_root);
    CHECK_EQ(slept, 20);
}

CASE(until_stopped)
{
    for (int i = 0; i < 5; i++) {
        int said, status;
        child.said[0] = 0;
        pid_t pid = begin_child(is_stopped, NULL, &said);
        CHECK(reads_until(said, "begins"));
        pause_us(1000 * i);
        CHECK_EQ(kill(pid, SIGSTOP), 0);
        CHECK_EQ(waitpid(pid, &status, WUNTRACED), pid);
        if (WIFSTOPPED(status)) {
            pause_us(20000);
            CHECK_EQ(kill(pid, SIGCONT), 0);
            status = wait_for(pid);
        }
        child.status = status;
        reads_until(said, "(all)");
        close(said);
        CHECK_CHILD_EXITED(0);
    }
}
