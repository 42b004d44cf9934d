/* Large queues leave no address space behind: 40 runs (divided by SMALLER) with a million tasks each take no more of it
 * than one.
 * ctest: matrix kind=steal deque=split,chaselev idle=park threads=1,2 timeout=60 */
#include "proc.h"
#include <stdatomic.h>

enum { TASKS = 1000000 };

static atomic_int full;

static void leaf(void *closure, struct scheduler *s)
{
}

/* Keeps the other worker from the rest, so that the queue becomes as long in each run. */
static void block(void *closure, struct scheduler *s)
{
    while (!full)
        pause_us(1000);
}

static void flood(void *closure, struct scheduler *s)
{
    full = 0;
    if (threads_of(2) > 1)
        CHECK_EQ(sched_spawn(block, NULL, s), 0);
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(sched_spawn(leaf, NULL, s), 0);
    full = 1;
}

int main(void)
{
    one_heap();
    /* A fixed size from which blocks are mapped, and unmapped when they are freed. Otherwise the C library keeps in its
     * heap what it has once unmapped: as much as a queue. */
    CHECK(mallopt(M_MMAP_THRESHOLD, 128 << 10));
    CHECK_EQ(sched_init(2, 4, flood, NULL), 0);
    long before = status_kb("VmSize");
    int mappings = mapping_count();
    for (int run = 0; run < 40 / SMALLER; run++)
        CHECK_EQ(sched_init(2, 4, flood, NULL), 0);
    CHECK(status_kb("VmSize") - before < 20 * 1024);
    CHECK(mapping_count() - mappings < 20);
    return 0;
}
