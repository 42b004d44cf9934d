/* Kind cont: a spawn that is refused leaves the stack for the child to the next: a thousand take no more stacks than
 * one.
 * ctest: matrix kind=cont idle=park threads=1 overflow=refuse */
#include "proc.h"
#include <sched_tasks.h>

enum { N = 1000, QLEN = 4, DEPTH = 3, MOST_KB = 64 << 10 };

static long ran;

static void leaf(void *closure, struct scheduler *s)
{
    ran++;
}

/* Spawns this deep, and then more than the queue has room for. */
static void deeper(void *closure, struct scheduler *s)
{
    long left = (long)closure;
    if (left > 1) {
        CHECK_EQ(sched_spawn(deeper, (void *)(left - 1), s), 0);
    } else {
        long before = status_kb("VmSize"), more;
        for (int i = 0; i < N; i++)
            CHECK_ERRNO(sched_spawn(leaf, NULL, s), EAGAIN);
        more = status_kb("VmSize") - before;
        if (more >= MOST_KB)
            CHECK_EQ(more, MOST_KB);
    }
    ran++;
}

static void root(void *closure, struct scheduler *s)
{
    for (int i = 0; i < DEPTH; i++)
        CHECK_EQ(sched_spawn(deeper, (void *)(long)QLEN, s), 0);
}

int main(void)
{
    CHECK_EQ(sched_init(1, QLEN, root, NULL), 0);
    CHECK_EQ(ran, DEPTH * QLEN);
    return 0;
}
