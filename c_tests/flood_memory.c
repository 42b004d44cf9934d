/* Ten million tasks queued at once take 17 bytes each, and a little, under the default deque; all
 * goes back to the system when the run has ended.
 * ctest: matrix kind=steal deque=split idle=park threads=1,2 timeout=60 */
#include "proc.h"
#include <stdatomic.h>

enum { N = 10000000, SLACK_KB = 4 << 10 };

static long before, queued_kb;
static atomic_long ran;

static void leaf(void *closure, struct scheduler *s)
{
    atomic_fetch_add_explicit(&ran, 1, memory_order_relaxed);
}

static atomic_int full;

/* Keeps the other worker from taking any. */
static void block(void *closure, struct scheduler *s)
{
    while (!full)
        pause_us(1000);
}

static void root(void *closure, struct scheduler *s)
{
    if (threads_of(1) == 2)
        CHECK_EQ(sched_spawn(block, NULL, s), 0);
    for (long i = 0; i < N; i++)
        CHECK_EQ(sched_spawn(leaf, NULL, s), 0);
    queued_kb = status_kb("VmHWM") - before; /* the most it was, at any time */
    full = 1;
}

int main(void)
{
    before = status_kb("VmRSS");
    CHECK_EQ(sched_init(1, 10, root, NULL), 0);
    CHECK_EQ(ran, N);
    long most = 17 * (N / 1024) + SLACK_KB, back = status_kb("VmRSS") - before;
    if (queued_kb > most)
        CHECK_EQ(queued_kb, most);
    CHECK(queued_kb > 8 * (N / 1024)); /* it was measured */
    if (back > SLACK_KB)
        CHECK_EQ(back, SLACK_KB);
    return 0;
}
