/* One task spawns very many, far beyond qlen: the queue grows, all run, the statistics
 * count them. One program of the course spawns 8.3 million.
 * ctest: matrix stats=5001
 * ctest: matrix idle=park threads=1,2 deque=mutex,split,chaselev args=8300000 timeout=60 */
#include "check.h"
#include <stdatomic.h>

static atomic_long ran;
static long n = 5000;

static void leaf(void *closure, struct scheduler *s)
{
    CHECK(closure == &n);
    atomic_fetch_add_explicit(&ran, 1, memory_order_relaxed);
}

static void root(void *closure, struct scheduler *s)
{
    for (long i = 0; i < n; i++)
        CHECK_EQ(sched_spawn(leaf, closure, s), 0);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        n = atol(argv[1]);
    CHECK_EQ(sched_init(4, 1, root, &n), 0);
    CHECK_EQ(ran, n);
    return 0;
}
