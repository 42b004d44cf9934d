/* sync.h: for the tests of mutexes and the like. */
#ifndef SYNC_H
#define SYNC_H

#include "check.h"
#include <sched_tasks.h>
#include <stdatomic.h>

/* For functions that read errno in tasks that wait. A compiler may keep the address of errno for a whole function, and
 * a task that has waited may be in another thread. */
#define APART static __attribute__((noinline))

/* Runs root with n workers. */
static inline void run(int n, taskfunc root)
{
    CHECK_EQ(sched_init(n, 100, root, NULL), 0);
}

/* Spawns n tasks f with closures 0 to n - 1. */
static inline void spawn_all(long n, taskfunc f, struct scheduler *s)
{
    for (long i = 0; i < n; i++)
        CHECK_EQ(sched_spawn(f, (void *)i, s), 0);
}

#endif
