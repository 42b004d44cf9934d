/* Kind cont: a deep recursion has a stack for each level, and they are kept for the next one; but not by a pool whose
 * tasks have all ended, and not by a run that has ended.
 * ctest: matrix kind=cont idle=park threads=1,4 env=SCHED_STACK=64K */
#include "pool.h"
#include "proc.h"

/* The least address space of a stack, in KB. The library keeps some hundred stacks. */
enum { DEPTH = 3000, STACK_KB = 64 };

static long before, at_most;

static void deeper(void *closure, struct scheduler *s)
{
    long left = (long)closure;
    if (left == 0) {
        at_most = status_kb("VmSize");
        return;
    }
    sched_task t;
    sched_fork(&t, deeper, (void *)(left - 1), s);
    sched_join(&t, s);
}

static void returned(const char *when)
{
    CHECK(at_most - before > DEPTH * STACK_KB);
    for (int i = 0; status_kb("VmSize") - before > (at_most - before) / 2; i++) {
        if (i == 2000) {
            fprintf(stderr, "%s: %ld KB more than before; within the recursion %ld\n", when,
                    status_kb("VmSize") - before, at_most - before);
            CHECK(!"the stacks are unmapped");
        }
        usleep(10000);
    }
}

int main(void)
{
    one_heap();
    before = status_kb("VmSize");
    struct sched_pool *pool = pool_of(0);
    for (int round = 0; round < 3; round++) {
        CHECK_EQ(sched_pool_submit(pool, deeper, (void *)(long)DEPTH), 0);
        CHECK_EQ(sched_pool_wait(pool), 0);
        returned("a pool without tasks");
    }
    CHECK_EQ(sched_pool_destroy(pool), 0);
    CHECK_EQ(sched_init(0, 0, deeper, (void *)(long)DEPTH), 0);
    returned("after a run");
    return 0;
}
