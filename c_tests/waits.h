/* waits.h: tasks that wait in all ways. */
#ifndef WAITS_H
#define WAITS_H

#include "check.h"
#include <sched_tasks.h>

/* A call that is not the function's last act, so that the function stays on the stack. */
#define STAYING(call)                \
    do {                             \
        volatile int staying = call; \
        (void)staying;               \
    } while (0)

static sched_mutex lock_a, lock_b, mine, guard;
static sched_sem never, next, ready;
static sched_cond changed;
static sched_barrier meeting;

__attribute__((unused)) static void wait_for_ever(void *closure, struct scheduler *s)
{
    STAYING(sched_sem_wait(&never, s));
}

__attribute__((noinline)) static int lock_both(sched_mutex *one, sched_mutex *other, struct scheduler *s)
{
    sched_mutex_lock(one, s);
    sched_sem_post(&ready);
    sched_sem_wait(&next, s);
    STAYING(sched_mutex_lock(other, s));
    return 0;
}

static void circle_a(void *closure, struct scheduler *s)
{
    STAYING(lock_both(&lock_a, &lock_b, s));
}

static void circle_b(void *closure, struct scheduler *s)
{
    STAYING(lock_both(&lock_b, &lock_a, s));
}

static void at_barrier(void *closure, struct scheduler *s)
{
    STAYING(sched_barrier_wait(&meeting, s));
}

static void in_condition(void *closure, struct scheduler *s)
{
    sched_mutex_lock(&guard, s);
    STAYING(sched_cond_wait(&changed, &guard, s));
}

static void member(void *closure, struct scheduler *s)
{
    STAYING(sched_sem_wait(&never, s));
}

static void has_group(void *closure, struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    CHECK_TIMES(3, sched_group_spawn(&g, member, NULL, s));
    STAYING(sched_group_wait(&g, s));
}

/* Runs on another fiber than its parent, since it must wait before it is joined. */
static void forked(void *closure, struct scheduler *s)
{
    sched_sem_post(&ready);
    STAYING(sched_mutex_lock(&lock_a, s));
}

static void wants_mine(void *closure, struct scheduler *s)
{
    STAYING(sched_mutex_lock(&mine, s));
}

/* Keeps the address of the descriptor in no register, so that it is on the child's stack only if the library has left it
 * there. */
static void joins(void *closure, struct scheduler *s)
{
    sched_task t, *volatile at = &t;
    sched_mutex_lock(&mine, s);
    sched_fork(at, forked, NULL, s);
    sched_sem_wait(&ready, s);
    CHECK_EQ(sched_spawn(wants_mine, NULL, s), 0);
    sched_join(at, s);
    check_say("joined\n");
}

/* Leaves twelve tasks that wait for ever. */
__attribute__((unused)) static void wait_in_all_ways(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_barrier_init(&meeting, 3), 0);
    CHECK_EQ(sched_spawn(circle_a, NULL, s), 0);
    CHECK_EQ(sched_spawn(circle_b, NULL, s), 0);
    sched_sem_wait(&ready, s);
    sched_sem_wait(&ready, s);
    sched_sem_post(&next);
    sched_sem_post(&next);
    CHECK_EQ(sched_spawn(at_barrier, NULL, s), 0);
    CHECK_EQ(sched_spawn(at_barrier, NULL, s), 0);
    CHECK_EQ(sched_spawn(in_condition, NULL, s), 0);
    CHECK_EQ(sched_spawn(has_group, NULL, s), 0);
    CHECK_EQ(sched_spawn(joins, NULL, s), 0);
}

#endif
