/* Runs within runs, and tasks that wait for those of another run: the outer's within the inner, in a task or at
 * its side, and a task of one run for a group whose tasks are another run's.
 * ctest: matrix kind=lifo,fifo,steal,cont deque=mutex,split,chaselev idle=park,nap threads=4,16
 * ctest: matrix kind=lifo,fifo,steal,cont deque=mutex,split idle=park threads=4 join=help
 * ctest: matrix kind=lifo,fifo,steal,cont deque=mutex,split idle=park threads=4 trace env=SCHED_TRACE_LIVES=1 */
#include "aside.h"
#include <stdatomic.h>

enum { TASKS = 8, ROUNDS = 30 / SMALLER };

static atomic_int outer_ran, inner_ran, done;

static void add(void *closure, struct scheduler *s)
{
    sched_task_yield(s);
    atomic_fetch_add((atomic_int *)closure, 1);
}

struct both {
    struct scheduler *outer;
    sched_group *of_outer;
};

/* In the inner run: forks, groups and yields there, and waits for the outer's. */
static void inside(void *closure, struct scheduler *s)
{
    struct both *both = closure;
    sched_group g = SCHED_GROUP_INIT;
    sched_task t;
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(sched_group_spawn(&g, add, &inner_ran, s), 0);
    sched_fork(&t, add, &outer_ran, both->outer);
    change_thread(s);
    sched_task_yield(s);
    sched_join(&t, both->outer);
    CHECK_EQ(sched_group_wait(&g, s), 0);
    CHECK_EQ(sched_group_wait(both->of_outer, both->outer), 0);
}

static void has_run(void *closure, struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    struct both both = {s, &g};
    sched_task_yield(s);
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(sched_group_spawn(&g, add, &outer_ran, s), 0);
    CHECK_EQ(sched_init(2, 4, inside, &both), 0);
    sched_task_yield(s);
    done++;
}

static void outer(void *closure, struct scheduler *s)
{
    for (int i = 0; i < 3; i++)
        CHECK_EQ(sched_spawn(has_run, NULL, s), 0);
}

/* A run beside: its tasks are in a group for which a task of the other run waits. */
static sched_group across;
static atomic_int ready, ended_across;

static void slow(void *closure, struct scheduler *s)
{
    sched_task_yield(s);
    pause_us(300);
    ended_across++;
}

static void beside(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_group_spawn(&across, slow, NULL, s), 0);
    CHECK_EQ(sched_group_spawn(&across, slow, NULL, s), 0);
    ready = 1;
}

static void *run_beside(void *arg)
{
    CHECK_EQ(sched_init(2, 4, beside, arg), 0);
    return arg;
}

static void waits_across(void *closure, struct scheduler *s)
{
    while (!ready)
        sched_task_yield(s);
    CHECK_EQ(sched_group_wait(&across, s), 0);
    CHECK_EQ(ended_across, 2);
}

int main(void)
{
    for (int i = 0; i < 3; i++) {
        outer_ran = inner_ran = done = 0;
        CHECK_EQ(sched_init(4, 4, outer, NULL), 0);
        CHECK_EQ(done, 3);
        CHECK_EQ(inner_ran, 3 * TASKS);
        CHECK_EQ(outer_ran, 3 * TASKS + 3);
    }
    for (int i = 0; i < ROUNDS; i++) {
        pthread_t thread;
        ready = ended_across = 0;
        CHECK_EQ(pthread_create(&thread, NULL, run_beside, NULL), 0);
        CHECK_EQ(sched_init(1, 4, waits_across, NULL), 0);
        CHECK_EQ(ended_across, 2);
        pthread_join(thread, NULL);
    }
    return 0;
}
