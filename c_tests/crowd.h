/* crowd.h: a run that shows how many threads it has. */
#ifndef CROWD_H
#define CROWD_H

#include "proc.h"
#include <stdatomic.h>

static int crowd_wanted;
static atomic_int crowd_counted;

static inline void crowd_member(void *closure, struct scheduler *s)
{
    while (!crowd_counted)
        pause_us(200);
}

/* A thread starts when there is a task for it, so this spawns more tasks than enough. With cont each task needs another
 * worker, on which the spawner continues. */
static inline void crowd_root(void *closure, struct scheduler *s)
{
    int members = spawn_calls() ? crowd_wanted - 1 : 3 * crowd_wanted;
    CHECK_TIMES(members, sched_spawn(crowd_member, closure, s));
    CHECK(threads_become(crowd_wanted));
    pause_us(5000);
    CHECK_EQ(thread_count(), crowd_wanted); /* and no more */
    crowd_counted = 1;
}

/* Checks that a run that is asked for `asked` threads has `wanted` threads. */
static inline void check_crowd(int asked, int wanted)
{
    crowd_wanted = wanted;
    crowd_counted = 0;
    CHECK_EQ(sched_init(asked, 4, crowd_root, NULL), 0);
}

#endif
