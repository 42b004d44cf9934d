/* aside.h: tasks that wait, and continue in another thread. C and C++. */
#ifndef ASIDE_H
#define ASIDE_H

#include "check.h"
#include <sched_tasks.h>

static inline int join_is(const char *join)
{
    const char *now = getenv("SCHED_JOIN");
    return strcmp(now ? now : "suspend", join) == 0;
}

/* A task: sets its closure, an int, to show that it has begun, and takes some time. */
static void aside_other(void *closure, struct scheduler *s)
{
    __atomic_store_n((int *)closure, 1, __ATOMIC_SEQ_CST);
    pause_us(100);
}

/* A task: computes until its closure is set, but for at most a second. */
static inline void aside_until_set(void *closure, struct scheduler *s)
{
    double end = now() + 1;
    unsigned turns = 0;
    while (now() < end && !__atomic_load_n((int *)closure, __ATOMIC_SEQ_CST))
        spin(&turns);
}

/* Waits for a task that another worker runs, if a worker is free. With cont the caller itself moves to that worker; if
 * the child were still running at the join, the caller would move back to the child's worker. */
static inline void wait_aside(struct scheduler *s)
{
    if (spawn_calls() && threads_of(2) > 1) {
        int went_on = 0;
        sched_task child;
        sched_fork(&child, aside_until_set, &went_on, s);
        __atomic_store_n(&went_on, 1, __ATOMIC_SEQ_CST);
        sched_join(&child, s);
        return;
    }
    int begun = 0;
    unsigned turns = 0;
    sched_task t;
    sched_fork(&t, aside_other, &begun, s);
    double end = now() + (threads_of(2) > 1 ? 1 : 0);
    while (now() < end && !__atomic_load_n(&begun, __ATOMIC_SEQ_CST))
        spin(&turns);
    sched_join(&t, s);
}

/* A task with two ints: like aside_until_set with the first int; at its end it sets the second. */
static void aside_until_followed(void *closure, struct scheduler *s)
{
    int *flags = (int *)closure;
    aside_until_set(&flags[0], s);
    __atomic_store_n(&flags[1], 1, __ATOMIC_SEQ_CST);
}

/* With cont: lets another worker take the caller while a child runs, and joins after the child has ended. If the join
 * had to wait, the caller would move back to the worker on which the child ends. */
static inline void leave_to_thief(struct scheduler *s)
{
    int flags[2] = {0, 0};
    unsigned turns = 0;
    sched_task child;
    sched_fork(&child, aside_until_followed, flags, s);
    __atomic_store_n(&flags[0], 1, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&flags[1], __ATOMIC_SEQ_CST))
        spin(&turns);
    sched_join(&child, s);
}

/* Waits until the calling task continues in another thread. With one worker, or if waiting tasks
 * are not suspended, the task stays on its thread: then it waits once. */
static inline void change_thread(struct scheduler *s)
{
    int here = thread_id();
    int stays = threads_of(2) == 1 || join_is("help");
    do {
        if (spawn_calls() && !stays)
            leave_to_thief(s);
        else
            wait_aside(s);
    } while (!stays && thread_id() == here);
}

#endif
