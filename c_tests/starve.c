/* Two workers, and one computes without an end until a task it spawned has run: the other
 * must run it. No task may stay unreachable while a worker is idle.
 * ctest: matrix kind=lifo,fifo,steal,cont threads=2 */
#include "check.h"
#include <stdatomic.h>

enum { ROUNDS = 20 };

static atomic_int ran;

static void helper(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&ran, 1);
}

static void root(void *closure, struct scheduler *s)
{
    for (int round = 1; round <= ROUNDS; round++) {
        CHECK_EQ(sched_spawn(helper, NULL, s), 0);
        while (atomic_load_explicit(&ran, memory_order_relaxed) < round)
            ;
        if (round % 5 == 0)
            pause_us(2000);
    }
}

int main(void)
{
    CHECK_EQ(sched_init(2, 4, root, NULL), 0);
    CHECK_EQ(ran, ROUNDS);
    return 0;
}
