/* sched_typed.h: descriptors that are forked on twice, joined twice or never end the process with a message.
 * ctest: static debug
 * ctest: matrix kind=steal deque=split idle=park threads=1 */
#include "child.h"
#include <sched_typed.h>

SCHED_TASK(long, square, long, n)
{
    return n * n;
}

SCHED_TASK(long, forks_twice, int, how)
{
    square_task t;
    SCHED_FORK(square, &t, 3);
    SCHED_FORK(square, &t, 4);
    long r = SCHED_JOIN(square, &t);
    return r + SCHED_JOIN(square, &t);
}

SCHED_TASK(long, joins_twice, int, how)
{
    square_task t;
    SCHED_FORK(square, &t, 3);
    long r = SCHED_JOIN(square, &t);
    return r + SCHED_JOIN(square, &t);
}

SCHED_TASK(long, forgets, int, how)
{
    square_task t;
    SCHED_FORK(square, &t, how);
    return 1;
}

static void root(void *misuse, struct scheduler *s)
{
    if (strcmp(misuse, "twice") == 0)
        forks_twice(0, s);
    else if (strcmp(misuse, "joined") == 0)
        joins_twice(0, s);
    else
        forgets(7, s);
}

static void body(void *misuse)
{
    sched_init(1, 0, root, misuse);
}

int main(void)
{
    static char twice[] = "twice", joined[] = "joined", never[] = "never";
    in_child(body, twice);
    CHECK_CHILD_ABORTED("libsched: sched_");
    in_child(body, joined);
    CHECK_CHILD_ABORTED("libsched: sched_");
    in_child(body, never);
    CHECK_CHILD_ABORTED("libsched: sched_fork");
    return 0;
}
