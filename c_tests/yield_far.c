/* A task that yields until others have run gets its worker to take them, also from one who computes meanwhile and
 * never touches its own queue.
 * ctest: matrix kind=steal,lifo,fifo threads=2,4 */
#include "check.h"
#include <sched_tasks.h>
#include <stdatomic.h>

enum { LEAVES = 10 };

static atomic_int came, ran;

static void leaf(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&ran, 1);
}

static void waits(void *closure, struct scheduler *s)
{
    came = 1;
    while (ran < LEAVES)
        sched_task_yield(s);
}

/* Without the scheduler; where there are fewer processors than threads, others are to run, too. */
static void compute_until(atomic_int *count, int least)
{
    while (*count < least)
        pause_us(0);
}

static void root(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(waits, closure, s), 0);
    compute_until(&came, 1);
    for (int i = 0; i < LEAVES; i++)
        CHECK_EQ(sched_spawn(leaf, closure, s), 0);
    compute_until(&ran, LEAVES);
}

int main(void)
{
    CHECK_EQ(sched_init(2, 4, root, NULL), 0);
    CHECK_EQ(ran, LEAVES);
    return 0;
}
