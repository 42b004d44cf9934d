/* where.h: do something in a task on the caller's thread, or on another one. C and C++. */
#ifndef WHERE_H
#define WHERE_H

#include "check.h"

struct deed {
    void (*act)(struct scheduler *s);
    int on_caller;
    volatile int *done; /* NULL: the deed ends the process */
};

static inline void stay_here(void *closure, struct scheduler *s)
{
    struct deed *deed = (struct deed *)closure;
    while (!deed->done || !__atomic_load_n(deed->done, __ATOMIC_ACQUIRE))
        pause_us(100);
}

/* A task. In the wrong place it spawns itself once more and keeps its worker busy until the deed is done, so that the
 * copies reach every worker. With cont the child keeps the worker busy, and the other workers take this task. */
static inline void seek_place(void *closure, struct scheduler *s)
{
    struct deed *deed = (struct deed *)closure;
    while (spawn_calls() && on_caller() != deed->on_caller)
        CHECK_EQ(sched_spawn(stay_here, closure, s), 0);
    if (on_caller() == deed->on_caller) {
        deed->act(s);
        if (deed->done)
            __atomic_store_n(deed->done, 1, __ATOMIC_RELEASE);
        return;
    }
    CHECK_EQ(sched_spawn(seek_place, closure, s), 0);
    stay_here(closure, s);
}

#endif
