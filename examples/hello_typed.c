/* Typed tasks: a function that can be forked, joined and called, with arguments and results by value. */
#include <sched_typed.h>
#include <stdio.h>

SCHED_TASK(long, fib, int, n)
{
    fib_task t; /* no initialization, no allocation */
    if (n < 2)
        return n;
    SCHED_FORK(fib, &t, n - 1);             /* any worker may run the call from now on */
    long smaller = SCHED_CALL(fib, n - 2);  /* ... beside this, which is a plain call */
    return smaller + SCHED_JOIN(fib, &t);   /* if no worker has begun the call, it is made here */
}

int main(void)
{
    printf("Hello, fib(30) = %ld!\n", fib(30, NULL)); /* NULL: in the default pool of the process */
    return 0;
}
