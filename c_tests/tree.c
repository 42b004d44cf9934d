/* A binary tree of tasks: the count is exact, in the program and in the statistics.
 * ctest: matrix stats=4095
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace stats=4095 */
#include "check.h"
#include <stdatomic.h>

static atomic_long ran;

static void node(void *closure, struct scheduler *s)
{
    long depth = (long)closure;
    atomic_fetch_add(&ran, 1);
    if (depth == 0)
        return;
    CHECK_EQ(sched_spawn(node, (void *)(depth - 1), s), 0);
    CHECK_EQ(sched_spawn(node, (void *)(depth - 1), s), 0);
}

int main(void)
{
    CHECK_EQ(sched_init(4, 64, node, (void *)11), 0);
    CHECK_EQ(ran, 4095);
    return 0;
}
