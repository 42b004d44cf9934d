/* sched_inline.h in C++.
 * ctest: static
 * ctest: matrix deque=mutex,split idle=park threads=1,4 */
#include "check.h"
#include <sched_inline.h>

static void sum(void *closure, struct scheduler *s)
{
    long *n = static_cast<long *>(closure);
    if (*n == 0)
        return;
    long a = *n / 2, b = (*n - 1) / 2;
    sched_task t;
    sched_fork(&t, sum, &a, s);
    sum(&b, s);
    sched_join(&t, s);
    *n = a + b + 1;
}

/* The commas between a template's arguments divide those of a macro. */
template <typename T, int add> static void increase(void *closure, struct scheduler *)
{
    *static_cast<T *>(closure) += add;
}

static void first(void *closure, struct scheduler *s)
{
    long n = 1;
    sched_task t;
    sched_fork(&t, increase<long, 2>, &n, s);
    sched_join(&t, s);
    CHECK_EQ(n, 3);
    CHECK_EQ(sched_spawn(sum, closure, s), 0);
}

int main()
{
    long n = 100000;
    CHECK_EQ(sched_init(0, 0, first, &n), 0);
    CHECK_EQ(n, 100000);
    return 0;
}
