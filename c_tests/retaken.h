/* retaken.h: an exception that leaves a forked task which thieves could have taken before its join took it back.
 * C++. */
#ifndef RETAKEN_H
#define RETAKEN_H

#include "check.h"
#include <sched_tasks.h>
#include <stdexcept>

enum { FORKS = 16 };

static int thrower; /* 0 to FORKS - 1; some of these tasks are public when their joins take them back */
static int begun_elsewhere;

static void maybe_throws(void *index, struct scheduler *)
{
    if ((long)index == thrower)
        throw std::runtime_error("thrown by a forked task");
    if (!on_caller()) {
        __atomic_store_n(&begun_elsewhere, 1, __ATOMIC_SEQ_CST);
        pause_us(2000);
    }
}

static inline void join_retaken(struct scheduler *s)
{
    sched_task t[FORKS];
    for (long i = 0; i < FORKS; i++)
        sched_fork(&t[i], maybe_throws, (void *)i, s);
    /* A thief makes some tasks public and takes one. */
    for (int i = 0; i < 1000 && threads_of(4) > 1 && !__atomic_load_n(&begun_elsewhere, __ATOMIC_SEQ_CST); i++)
        pause_us(100);
    for (int i = FORKS; i-- > 0;)
        sched_join(&t[i], s);
}

#endif
