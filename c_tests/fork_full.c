/* SCHED_OVERFLOW=refuse: a fork that finds no room runs the child at once, and it is joined as any
 * other; group spawns are refused with EAGAIN, and change nothing.
 * ctest: debug
 * ctest: matrix overflow=refuse */
#include "marks.h"
#include <sched_tasks.h>

enum { N = 40, QLEN = 5 };

static int refuse;

static void leaf(void *closure, struct scheduler *s)
{
    mark((long)closure);
}

/* What a child run at once forks finds no room either. */
static void branch(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    sched_task t;
    sched_fork(&t, leaf, (void *)(N + i), s);
    mark(i);
    sched_join(&t, s);
}

static void forks(void *closure, struct scheduler *s)
{
    sched_task tasks[N];
    for (long i = 0; i < N; i++) {
        sched_fork(&tasks[i], branch, (void *)i, s);
        if (refuse && threads_of(4) == 1)
            CHECK_EQ(marks[i], i >= QLEN || kind_is("cont")); /* which has them called in any case */
    }
    for (int i = 0; i < N; i++) {
        sched_join(&tasks[i], s);
        CHECK_EQ(marks[i], 1);
        CHECK_EQ(marks[N + i], 1);
    }
}

/* In kind cont each of these waits in the queue for the next to return. */
static void nest(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    sched_task t;
    mark(i);
    if (i + 1 == 2 * N)
        return;
    sched_fork(&t, nest, (void *)(i + 1), s);
    if (threads_of(4) == 1 && kind_is("cont"))
        CHECK_EQ(marks[2 * N - 1], 1); /* where there is no room, too, it has been called */
    sched_join(&t, s);
    CHECK_EQ(marks[i + 1], 1);
}

static long accepted;

static void spawns(void *closure, struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    long before = 0;
    for (int tries = 0; tries < N; tries++) {
        set_errno(0);
        if (sched_group_spawn(&g, leaf, (void *)accepted, s) == 0)
            accepted++;
        else
            CHECK_EQ(get_errno(), EAGAIN);
    }
    CHECK(accepted >= QLEN);
    if (refuse && threads_of(4) == 1)
        CHECK_EQ(accepted, kind_is("cont") ? N : QLEN);
    CHECK_EQ(sched_group_wait(&g, s), 0);
    for (; before < accepted; before++)
        CHECK_EQ(marks[before], 1);
}

int main(void)
{
    refuse = getenv("SCHED_OVERFLOW") != NULL;
    CHECK_EQ(sched_init(4, QLEN, forks, NULL), 0);
    check_marks(2 * N);
    CHECK_EQ(sched_init(4, QLEN, nest, NULL), 0);
    check_marks(2 * N);
    CHECK_EQ(sched_init(4, QLEN, spawns, NULL), 0);
    check_marks(accepted);
    return 0;
}
