/* A loop over as many numbers as there can be: each number is in exactly one part, also after thefts, whose measured
 * pace is beyond all numbers.
 * ctest: debug matrix kind=steal,cont deque=split idle=park threads=1,2,4 */
#include "check.h"
#include <sched_tasks.h>
#include <stdatomic.h>

static _Atomic size_t numbers;

static void count(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    atomic_fetch_add(&numbers, hi - lo);
    if (hi - lo == 1)
        pause_us(1); /* so that thieves come */
}

static void root(void *closure, struct scheduler *s)
{
    for (int round = 0; round < 20; round++) {
        numbers = 0;
        CHECK_EQ(sched_for(0, PTRDIFF_MAX, 0, count, NULL, s), 0);
        CHECK_EQ(numbers, (size_t)PTRDIFF_MAX);
    }
}

int main(void)
{
    CHECK_EQ(sched_init(4, 10, root, NULL), 0);
    return 0;
}
