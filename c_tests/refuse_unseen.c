/* What the manual says of SCHED_OVERFLOW=refuse: a caller that does not look at the result of sched_spawn loses the tasks
 * that were refused. The run ends as any other, with those that were accepted, once each; and nobody says so.
 * ctest: matrix kind=lifo,fifo,steal,serial idle=park threads=1 overflow=refuse
 * ctest: matrix kind=lifo,fifo,steal,serial idle=park threads=4 overflow=refuse */
#include "child.h"

enum { QLEN = 8, N = 1000 };

static char ran[N];
static int accepted;

static void leaf(void *closure, struct scheduler *s)
{
    __atomic_fetch_add((char *)closure, 1, __ATOMIC_RELAXED);
}

static void careless(void *closure, struct scheduler *s)
{
    for (int i = 0; i < N; i++)
        sched_spawn(leaf, &ran[i], s);
}

static void careful(void *closure, struct scheduler *s)
{
    for (int i = 0; i < N; i++)
        if (sched_spawn(leaf, &ran[i], s) == 0)
            accepted++;
        else
            leaf(&ran[i], s);
}

static int sum(void)
{
    int n = 0;
    for (int i = 0; i < N; i++) {
        CHECK(ran[i] == 0 || ran[i] == 1);
        n += ran[i];
    }
    return n;
}

static void losing(void *unused)
{
    CHECK_EQ(sched_init(1, QLEN, careless, NULL), 0);
    CHECK(sum() >= QLEN);
    if (threads_of(1) == 1) /* the others take some meanwhile */
        CHECK_EQ(sum(), QLEN);
}

int main(void)
{
    in_child(losing, NULL);
    CHECK_CHILD_EXITED(0);
    CHECK_EQ(strlen(child.said), 0);

    CHECK_EQ(sched_init(1, QLEN, careful, NULL), 0);
    CHECK_EQ(sum(), N);
    CHECK(accepted >= QLEN);
    return 0;
}
