/* Kind cont: ten million tasks spawned in a row take no more room than one.
 * ctest: matrix kind=cont idle=park threads=1,2 timeout=60
 * ctest: matrix kind=cont deque=split idle=nap,spin threads=2 timeout=60 */
#include "proc.h"
#include <stdatomic.h>

enum { N = 10000000, MOST_KB = 32 << 10 };

static atomic_long ran;

static void leaf(void *closure, struct scheduler *s)
{
    atomic_fetch_add_explicit(&ran, 1, memory_order_relaxed);
}

static void root(void *closure, struct scheduler *s)
{
    for (long i = 0; i < N; i++)
        CHECK_EQ(sched_spawn(leaf, NULL, s), 0);
}

int main(void)
{
    CHECK_EQ(sched_init(2, 4, root, NULL), 0);
    CHECK_EQ(ran, N);
    if (status_kb("VmHWM") >= MOST_KB)
        CHECK_EQ(status_kb("VmHWM"), MOST_KB);
    return 0;
}
