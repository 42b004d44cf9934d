/* sched_typed.h: where the default pool cannot be made, a call with NULL and all that it forks run in the caller.
 * ctest: static debug */
#include "child.h"
#include <sched_typed.h>

static int selves;

SCHED_TASK(long, fib, long, n)
{
    selves += SCHED_SELF != NULL;
    if (n < 2)
        return n;
    fib_task a;
    SCHED_FORK(fib, &a, n - 1);
    long b = SCHED_CALL(fib, n - 2);
    return SCHED_JOIN(fib, &a) + b;
}

static void refused(void *arg)
{
    (void)arg;
    setenv("SCHED_KIND", "wrong", 1);
    CHECK_EQ(fib(15, NULL), 610);
    CHECK_EQ(selves, 0);
    unsetenv("SCHED_KIND");
    CHECK_EQ(fib(15, NULL), 610);
    CHECK(selves > 0);
}

int main(void)
{
    in_child(refused, NULL);
    CHECK_CHILD_PASSED();
    return 0;
}
