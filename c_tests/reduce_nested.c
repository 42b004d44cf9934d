/* Loops and reductions within each other's bodies need little of a stack: a level takes less than 5 KiB, whichever of them it is.
 * (With several workers, one that helps runs tasks of other levels on top.)
 * ctest: matrix few idle=park threads=1 */
#include "check.h"
#include <sched_tasks.h>

enum { LEVELS = 12 };

static size_t below(size_t level, struct scheduler *s);

static void loop(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    size_t *sums = ctx;
    for (size_t i = lo; i < hi; i++)
        sums[i + 1] = below(sums[0], s);
}

static void part(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s)
{
    for (size_t i = lo; i < hi; i++)
        *(size_t *)acc += below(*(size_t *)ctx, s);
}

static void add(void *into, const void *from, void *ctx)
{
    *(size_t *)into += *(const size_t *)from;
}

/* How many calls there are at the last level: two for each of the level before. */
static size_t below(size_t level, struct scheduler *s)
{
    size_t next = level + 1, sums[3] = {next, 0, 0}, none = 0, sum = 0;
    if (level == LEVELS)
        return 1;
    if (level % 6 == 0) {
        CHECK_EQ(sched_for(0, 2, 0, loop, sums, s), 0);
        return sums[1] + sums[2];
    }
    if (level % 6 == 1)
        CHECK_EQ(sched_reduce(0, 2, 0, sizeof sum, &none, part, add, &next, &sum, s), 0);
    else
        CHECK_EQ(sched_reduce_relaxed(0, 2, 0, sizeof sum, &none, part, add, &next, &sum, s), 0);
    return sum;
}

static void root(void *closure, struct scheduler *s)
{
    CHECK_EQ(below(0, s), 1 << LEVELS);
}

int main(void)
{
    CHECK_EQ(setenv("SCHED_STACK", "64K", 1), 0);
    CHECK_EQ(sched_init(1, 100, root, NULL), 0);
    return 0;
}
