/* leave.h: the three ways to end a process, for a task or a deed; and a task that keeps its worker busy. */
#ifndef LEAVE_H
#define LEAVE_H

#include "check.h"

enum { WAYS_OUT = 3 };

static int way; /* how to end the process, which exits with 40 + way */

static inline void leave(struct scheduler *s)
{
    if (way == 0)
        exit(40);
    if (way == 1)
        _exit(41);
    quick_exit(42);
}

static inline void leave_task(void *closure, struct scheduler *s)
{
    leave(s);
}

/* A task that counts itself and then never ends. */
static inline void compute(void *begun, struct scheduler *s)
{
    volatile unsigned long x = 1;
    __atomic_fetch_add((int *)begun, 1, __ATOMIC_SEQ_CST);
    for (;;)
        x = x * 3 + 1;
}

#endif
