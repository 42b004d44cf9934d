/* sched_init inside a task is a run of its own; its tasks may also spawn into the outer
 * run, which goes on.
 * ctest: matrix
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace */
#include "marks.h"

enum { OUTER = 3, INNER = 20 };

static struct scheduler *volatile outer_run;

static void from_inside(void *closure, struct scheduler *s)
{
    mark((long)closure);
}

static void inner(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    mark(i);
    if (i % INNER == 0)
        for (long k = 1; k < INNER; k++)
            CHECK_EQ(sched_spawn(inner, (void *)(i + k), s), 0);
    CHECK_EQ(sched_spawn(from_inside, (void *)(OUTER * INNER + i), outer_run), 0);
}

static void outer(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    CHECK_EQ(sched_init(2, 4, inner, (void *)(i * INNER)), 0);
    for (long k = 0; k < INNER; k++)
        CHECK_EQ(marks[i * INNER + k], 1);
    mark(2 * OUTER * INNER + i);
}

static void root(void *closure, struct scheduler *s)
{
    outer_run = s;
    for (long i = 0; i < OUTER; i++)
        CHECK_EQ(sched_spawn(outer, (void *)i, s), 0);
}

int main(void)
{
    CHECK_EQ(sched_init(4, 4, root, NULL), 0);
    check_marks(2 * OUTER * INNER + OUTER);
    return 0;
}
