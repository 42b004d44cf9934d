/* fib.h: Fibonacci numbers by fork and join, without a cut-off. C and C++. */
#ifndef FIB_H
#define FIB_H

#include <sched_tasks.h>

static void fib(void *closure, struct scheduler *s)
{
    long *n = (long *)closure;
    if (*n < 2)
        return;
    long a = *n - 1, b = *n - 2;
    sched_task t;
    sched_fork(&t, fib, &a, s);
    fib(&b, s);
    sched_join(&t, s);
    *n = a + b;
}

#endif
