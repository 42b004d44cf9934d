/* Large queues leave no address space behind: 40 runs (divided by SMALLER) with a million tasks each take no more of it
 * than one.
 * ctest: matrix kind=steal deque=split,chaselev idle=park threads=1,2 timeout=60 */
#include "proc.h"

static void leaf(void *closure, struct scheduler *s)
{
    (void)closure;
    (void)s;
}

static void flood(void *closure, struct scheduler *s)
{
    (void)closure;
    for (int i = 0; i < 1000000; i++)
        CHECK_EQ(sched_spawn(leaf, NULL, s), 0);
}

int main(void)
{
    one_heap();
    CHECK_EQ(sched_init(2, 4, flood, NULL), 0);
    long before = status_kb("VmSize");
    int mappings = mapping_count();
    for (int run = 0; run < 40 / SMALLER; run++)
        CHECK_EQ(sched_init(2, 4, flood, NULL), 0);
    CHECK(status_kb("VmSize") - before < 20 * 1024);
    CHECK(mapping_count() - mappings < 20);
    return 0;
}
