/* reliefs: tasks that waited for descriptors or time, and timers, run although all workers are busy. */
#include "case.h"
#include "descriptors.h"
#include <poll.h>

/* io_busy: A task that waits for a descriptor runs although all workers are busy with tasks that never wait. (Where a spawn
 * calls the task, these tasks would be one endless chain of calls.)
 * ctest: static debug
 * ctest: matrix few without=calls join=suspend idle=park threads=1,2 */
static int busy[2];
static atomic_int busy_done;

static void spawns_itself(void *closure, struct scheduler *s)
{
    double end = now() + 0.0005;
    while (now() < end)
        continue;
    if (!busy_done)
        CHECK_EQ(sched_spawn(spawns_itself, NULL, s), 0);
}

static void *asks_from_outside(void *arg)
{
    char byte = 'b';
    for (int i = 0; i < 20; i++) {
        pause_us(500);
        CHECK_EQ(write(busy[1], &byte, 1), 1);
        CHECK_EQ(read(busy[1], &byte, 1), 1);
    }
    return NULL;
}

static void busy_root(void *closure, struct scheduler *s)
{
    char byte;
    spawn_all(4, spawns_itself, s);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(sched_read(busy[0], &byte, 1, s), 1);
        CHECK_EQ(sched_write(busy[0], &byte, 1, s), 1);
    }
    busy_done = 1;
}

CASE(io_busy)
{
    make_pair(busy);
    pthread_t thread = begin_thread(asks_from_outside, NULL);
    run(2, busy_root);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

/* io_relief: A task that waits for a descriptor runs although each worker is in a task that does not end before: a thread beside
 * the workers runs it, and what it spawns. There the task has no number; when it asks for one, it waits for a worker.
 * ctest: static debug
 * ctest: matrix few with=threads join=suspend idle=park threads=1,2,4 */
enum { RELIEVED = 10 };

static int relieved[RELIEVED][2];
static atomic_int spinning, relieved_all, children, numbered, spinners_may_end;

static void spins_until_all(void *closure, struct scheduler *s)
{
    unsigned turns = 0;
    spinning++;
    while (!spinners_may_end)
        spin(&turns);
}

static void is_child(void *closure, struct scheduler *s)
{
    children++;
}

APART void is_relieved(void *closure, struct scheduler *s)
{
    const int *ends = closure;
    char byte;
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(sched_read(ends[0], &byte, 1, s), 1);
        CHECK_EQ(sched_write(ends[0], &byte, 1, s), 1);
    }
    CHECK_EQ(sched_spawn(is_child, NULL, s), 0);
    if (++relieved_all == RELIEVED)
        spinners_may_end = 1;
    int index = sched_worker_index(s);
    CHECK(index >= 0 && index < sched_worker_count(s));
    numbered++;
    close_both(ends);
}

static void *asks_the_relieved(void *arg)
{
    unsigned turns = 0;
    char byte = 'r';
    while (spinning < threads_of(*(int *)arg))
        spin(&turns);
    for (int i = 0; i < 20; i++)
        for (int k = 0; k < RELIEVED; k++) {
            CHECK_EQ(write(relieved[k][1], &byte, 1), 1);
            CHECK_EQ(read(relieved[k][1], &byte, 1), 1);
        }
    return NULL;
}

static void relief_root(void *closure, struct scheduler *s)
{
    for (int k = 0; k < RELIEVED; k++)
        CHECK_EQ(sched_spawn(is_relieved, relieved[k], s), 0);
    for (int k = 0; k < RELIEVED; k++)
        sched_task_yield(s);
    CHECK_EQ(sched_sleep(10 * SHORT, s), 0); /* now they wait */
    spawn_all(threads_of(2), spins_until_all, s);
}

CASE(io_relief)
{
    int workers = 2;
    for (int k = 0; k < RELIEVED; k++)
        make_pair(relieved[k]);
    pthread_t thread = begin_thread(asks_the_relieved, &workers);
    run(workers, relief_root);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(relieved_all, RELIEVED);
    CHECK_EQ(numbered, RELIEVED);
    CHECK_EQ(children, RELIEVED);
}

/* sleep_relief: A task that sleeps, or waits until a deadline, continues although each worker is in
 * a task that does not end before.
 * ctest: static debug
 * ctest: matrix few with=threads join=suspend idle=park threads=1,2,4 global=one */
static atomic_int woken_up, sleep_spinning;

static void spins_until_woken(void *closure, struct scheduler *s)
{
    unsigned turns = 0;
    sleep_spinning++;
    while (woken_up < 2)
        spin(&turns);
}

static void sleeps_beside(void *closure, struct scheduler *s)
{
    sched_sem never_posted = SCHED_SEM_INIT(0);
    do
        if (closure == NULL)
            CHECK_EQ(sched_sleep(10 * SHORT, s), 0);
        else
            CHECK_ERRNO(sched_sem_wait_until(&never_posted, sched_now() + 10 * SHORT, s), ETIMEDOUT);
    while (sleep_spinning < threads_of(2));
    woken_up++;
}

static void sleep_relief_root(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(sleeps_beside, NULL, s), 0);
    CHECK_EQ(sched_spawn(sleeps_beside, &woken_up, s), 0);
    sched_task_yield(s);
    CHECK_EQ(sched_sleep(SHORT, s), 0); /* now they wait */
    spawn_all(threads_of(2), spins_until_woken, s);
}

CASE(sleep_relief)
{
    run(2, sleep_relief_root);
    CHECK_EQ(woken_up, 2);
}

/* timer_relief: The functions of timers, urgent or not, begin although each worker is in a task that does not end before.
 * ctest: static debug
 * ctest: matrix few with=threads join=suspend idle=park threads=1,2,4 global=one */
static sched_timer due[2];
static atomic_int were_due, timer_spinning;

static void spins_until_due(void *closure, struct scheduler *s)
{
    unsigned turns = 0;
    timer_spinning++;
    while (were_due < 2)
        spin(&turns);
}

static void starts_a_timer(int which, struct scheduler *s);

static void is_due(void *closure, struct scheduler *s)
{
    if (timer_spinning < threads_of(2))
        starts_a_timer(closure == &due[1], s);
    else
        were_due++;
}

static void starts_a_timer(int which, struct scheduler *s)
{
    const int levels[] = {SCHED_NORMAL, SCHED_URGENT};
    CHECK_EQ(sched_timer_start_at(&due[which], levels[which], sched_now() + 10 * SHORT, is_due, &due[which], s), 0);
}

static void timer_relief_root(void *closure, struct scheduler *s)
{
    starts_a_timer(0, s);
    starts_a_timer(1, s);
    spawn_all(threads_of(2), spins_until_due, s);
}

CASE(timer_relief)
{
    run(2, timer_relief_root);
    CHECK_EQ(were_due, 2);
}

/* sleep_relief_same: Tasks that sleep until the same time all continue, although the first ones do
 * not end before all have.
 * ctest: static debug
 * ctest: matrix few with=threads join=suspend idle=park threads=1,2,4 global=one */
enum { ROUNDS_SAME = 5 };

static atomic_int begun[ROUNDS_SAME], awake[ROUNDS_SAME];
static _Atomic sched_time wake_at[ROUNDS_SAME];

static void spins_until_all_awake(void *closure, struct scheduler *s)
{
    int round = *(int *)closure, tasks = threads_of(2) + 1;
    unsigned turns = 0;
    if (++begun[round] == tasks)
        wake_at[round] = sched_now() + 10 * SHORT;
    while (wake_at[round] == 0) /* a task that has not begun is not the business of a thread beside the workers */
        CHECK_EQ(sched_sleep(SHORT, s), 0);
    CHECK_EQ(sched_sleep_until(wake_at[round], s), 0);
    awake[round]++;
    while (awake[round] < tasks)
        spin(&turns);
}

static void sleep_relief_same_root(void *closure, struct scheduler *s)
{
    static int rounds[ROUNDS_SAME];
    for (int round = 0; round < ROUNDS_SAME; round++) {
        sched_group group = SCHED_GROUP_INIT;
        rounds[round] = round;
        CHECK_TIMES(threads_of(2) + 1, sched_group_spawn(&group, spins_until_all_awake, &rounds[round], s));
        CHECK_EQ(sched_group_wait(&group, s), 0);
        CHECK_EQ(awake[round], threads_of(2) + 1);
    }
}

CASE(sleep_relief_same)
{
    run(2, sleep_relief_same_root);
}

/* relief_nested: A task that a thread beside the workers has resumed starts a run, whose tasks wait for the outer run, too.
 * ctest: static debug
 * ctest: matrix few with=threads join=suspend idle=park threads=1,2,4 global=one */
static atomic_int nested_spinning, nested_done;

static void spins_until_nested(void *closure, struct scheduler *s)
{
    unsigned turns = 0;
    nested_spinning++;
    while (!nested_done)
        spin(&turns);
}

static void waits_in_both(void *outer, struct scheduler *s)
{
    sched_sem never_posted = SCHED_SEM_INIT(0);
    CHECK_EQ(sched_sleep(SHORT, s), 0);
    CHECK_ERRNO(sched_sem_wait_until(&never_posted, sched_now() + 10 * SHORT, outer), ETIMEDOUT);
    CHECK_EQ(sched_sleep(SHORT, outer), 0);
}

static void nests(void *closure, struct scheduler *s)
{
    do
        CHECK_EQ(sched_sleep(10 * SHORT, s), 0);
    while (nested_spinning < threads_of(2));
    CHECK_EQ(sched_init(2, 10, waits_in_both, s), 0);
    nested_done = 1;
}

static void beside_spinners(taskfunc f, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(f, NULL, s), 0);
    sched_task_yield(s);
    CHECK_EQ(sched_sleep(SHORT, s), 0); /* now it sleeps */
    spawn_all(threads_of(2), spins_until_nested, s);
}

static void relief_nested_root(void *closure, struct scheduler *s)
{
    beside_spinners(nests, s);
}

CASE(relief_nested)
{
    run(2, relief_nested_root);
    CHECK_EQ(nested_done, 1);
}

/* relief_works: A task that a thread beside the workers has resumed forks, joins, loops, and waits for a group: the tasks that it
 * spawns run there, too. (In kinds lifo and fifo they are in the queue of all, and wait for a worker.)
 * ctest: static debug
 * ctest: matrix few with=deques join=suspend idle=park threads=1,2,4 global=one */
static atomic_int beside_ran;

static void runs_beside(void *closure, struct scheduler *s)
{
    int depth = (int)(intptr_t)closure;
    sched_task child;
    beside_ran++;
    if (depth == 0)
        return;
    sched_fork(&child, runs_beside, (void *)(intptr_t)(depth - 1), s);
    runs_beside((void *)(intptr_t)(depth - 1), s);
    sched_task_yield(s);
    sched_join(&child, s);
}

static void loops_beside(size_t lo, size_t hi, void *closure, struct scheduler *s)
{
    beside_ran += (int)(hi - lo);
    sched_task_yield(s);
}

static void works_beside(struct scheduler *s)
{
    sched_group group = SCHED_GROUP_INIT;
    beside_ran = 0;
    runs_beside((void *)5, s);
    CHECK_EQ(sched_for(0, 100, 1, loops_beside, NULL, s), 0);
    CHECK_TIMES(20, sched_group_spawn(&group, runs_beside, (void *)2, s));
    CHECK_EQ(sched_group_wait(&group, s), 0);
    CHECK_EQ(beside_ran, 63 + 100 + 20 * 7);
}

static void works(void *closure, struct scheduler *s)
{
    do
        CHECK_EQ(sched_sleep(10 * SHORT, s), 0);
    while (nested_spinning < threads_of(2));
    works_beside(s);
    nested_done = 1;
}

static void relief_works_root(void *closure, struct scheduler *s)
{
    beside_spinners(works, s);
}

CASE(relief_works)
{
    run(2, relief_works_root);
    CHECK_EQ(nested_done, 1);
}
