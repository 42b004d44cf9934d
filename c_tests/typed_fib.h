/* typed_fib.h: Fibonacci without a cut-off, for the tests of sched_typed.h. */
#ifndef TYPED_FIB_H
#define TYPED_FIB_H

#include <sched_typed.h>

SCHED_TASK(long, fib, long, n)
{
    if (n < 2)
        return n;
    fib_task a;
    SCHED_FORK(fib, &a, n - 1);
    long b = SCHED_CALL(fib, n - 2);
    return SCHED_JOIN(fib, &a) + b;
}

#endif
