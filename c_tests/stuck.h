/* stuck.h: two pools, and tasks of theirs that wait for a mutex or for ever. */
#ifndef STUCK_H
#define STUCK_H

#include "child.h"
#include "pool.h"

/* A message names a function that is called. */
#define APART static __attribute__((noinline))

static sched_mutex held = SCHED_MUTEX_INIT;
static sched_sem never;
static struct sched_pool *a, *b;

static void pools(int workers)
{
    alarm(60);
    a = pool_of(workers);
    b = pool_of(workers);
}

APART void wants(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_mutex_lock(&held, s), 0);
    check_say("locked\n");
}

APART void waits_for_ever(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_sem_wait(&never, s), 0);
    check_say("posted\n");
}

APART void posts(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_sem_post(&never), 0);
}

/* For a thread of the program's: posts after more than two looks for a deadlock. */
static void *posts_late(void *arg)
{
    struct timespec late = {2, 500000000};
    nanosleep(&late, NULL);
    posts(NULL, NULL);
    return NULL;
}

#endif
