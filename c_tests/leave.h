/* leave.h: the three ways out of a process, for a task or a deed. */
#ifndef LEAVE_H
#define LEAVE_H

#include "check.h"

enum { WAYS_OUT = 3 };

static int way; /* out of the process, which exits with 40 + way */

static inline void leave(struct scheduler *s)
{
    (void)s;
    if (way == 0)
        exit(40);
    if (way == 1)
        _exit(41);
    quick_exit(42);
}

#endif
