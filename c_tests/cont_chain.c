/* Kind cont: a chain of a million tasks that each spawn the next takes few stacks. Then tasks are called at once again,
 * and in the serial order as deep as libsched(7) says.
 * ctest: matrix kind=cont idle=park threads=1,2,4 timeout=60
 * ctest: matrix kind=cont deque=split idle=nap,spin threads=2 timeout=60 */
#include "proc.h"
#include <sched_tasks.h>
#include <stdatomic.h>

enum { LENGTH = 1000000, NESTED = 1000, LEAVES = 1000, GENERATIONS = 3000, FEW = 10, MOST_KB = 32 << 10 };

static atomic_long ran;
static int alone; /* one worker */
static atomic_int open_generations, in_order;

static void link_of_chain(void *closure, struct scheduler *s)
{
    long left = (long)closure;
    atomic_fetch_add_explicit(&ran, 1, memory_order_relaxed);
    if (left > 1)
        CHECK_EQ(sched_spawn(link_of_chain, (void *)(left - 1), s), 0);
}

static void leaf(void *closure, struct scheduler *s)
{
    ran++;
}

/* Spawns the next; after that, in serial order, all deeper ones have ended. */
static void nested(void *closure, struct scheduler *s)
{
    long deeper = (long)closure, before = ran;
    if (deeper > 0) {
        CHECK_EQ(sched_spawn(nested, (void *)(deeper - 1), s), 0);
        if (in_order)
            CHECK_EQ(ran, before + deeper);
    }
    ran++;
}

/* A chain whose tasks wait: each begins anew to count how deeply it spawns. The partner answers. Tasks of the chain
 * that have not ended are in the queue, which must not hold too many of them: then children are queued, too. */
static sched_sem asked = SCHED_SEM_INIT(0), answered = SCHED_SEM_INIT(0);

static void generation(void *closure, struct scheduler *s)
{
    long left = (long)closure;
    open_generations++;
    CHECK_EQ(sched_sem_post(&asked), 0);
    CHECK_EQ(sched_sem_wait(&answered, s), 0);
    long before = ran;
    in_order = alone && open_generations < NESTED;
    CHECK_EQ(sched_spawn(nested, (void *)(long)(FEW - 1), s), 0);
    if (in_order)
        CHECK_EQ(ran, before + FEW);
    if (left > 1)
        CHECK_EQ(sched_spawn(generation, (void *)(left - 1), s), 0);
    open_generations--;
}

static void partner(void *closure, struct scheduler *s)
{
    for (int i = 0; i < GENERATIONS; i++) {
        CHECK_EQ(sched_sem_wait(&asked, s), 0);
        CHECK_EQ(sched_sem_post(&answered), 0);
    }
}

static void root(void *closure, struct scheduler *s)
{
    alone = sched_worker_count(s) == 1;
    CHECK_EQ(sched_spawn(link_of_chain, (void *)(long)LENGTH, s), 0);
    if (alone)
        CHECK_EQ(ran, LENGTH);
    for (int i = 0; i < LEAVES; i++) {
        CHECK_EQ(sched_spawn(leaf, NULL, s), 0);
        if (alone)
            CHECK_EQ(ran, LENGTH + i + 1);
    }
    in_order = alone;
    CHECK_EQ(sched_spawn(nested, (void *)(long)(NESTED - 1), s), 0);
    CHECK_EQ(sched_spawn(partner, NULL, s), 0);
    CHECK_EQ(sched_spawn(generation, (void *)(long)GENERATIONS, s), 0);
}

int main(void)
{
    for (int round = 0; round < 3; round++) {
        ran = 0;
        CHECK_EQ(sched_init(2, 4, root, NULL), 0);
        CHECK_EQ(ran, LENGTH + LEAVES + NESTED + GENERATIONS * FEW);
    }
    if (status_kb("VmHWM") >= MOST_KB)
        CHECK_EQ(status_kb("VmHWM"), MOST_KB);
    return 0;
}
