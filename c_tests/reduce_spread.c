/* A reduction keeps all workers busy: a few long parts go to a worker each at once, and where one part
 * is much longer than the others these are taken meanwhile, except up to seven short ones beside it.
 * (Each reduction takes milliseconds: after one that was short for a wake-up, the next one with this body
 * begins alone.)
 * ctest: matrix idle=park threads=2,4 */
#include "reductions.h"
#include <stdatomic.h>

enum { PARTS = 1000, LATE = 700, BESIDE = 7, LONG_US = 3000 };

static atomic_int inside;
static atomic_long done, combinations;

/* Ends when so many are in it at the same time. */
static void meet(size_t lo, size_t hi, void *into, void *ctx, struct scheduler *s)
{
    int all = *(int *)ctx;
    CHECK_EQ(hi - lo, 1);
    atomic_fetch_add(&inside, 1);
    while (inside < all)
        pause_us(50);
    pause_us(LONG_US);
    *(long *)into += (long)lo;
}

/* Part `ctx` ends after all others, except those beside it if it comes late. */
static void last_of_all(size_t lo, size_t hi, void *into, void *ctx, struct scheduler *s)
{
    size_t last = *(size_t *)ctx;
    CHECK_EQ(hi - lo, 1);
    while (lo == last && done < PARTS - 1 - (last > 0 ? BESIDE : 0))
        pause_us(50);
    if (lo == last)
        pause_us(LONG_US);
    *(long *)into += (long)lo;
    atomic_fetch_add(&done, 1);
}

static void add(void *into, const void *from, void *ctx)
{
    *(long *)into += *(const long *)from;
    atomic_fetch_add(&combinations, 1);
}

static void reduce(reduction *by, int workers, struct scheduler *s)
{
    const long none = 0;
    long sum = -1;
    inside = 0;
    combinations = 0;
    CHECK_EQ(by(0, (size_t)workers, 1, sizeof none, &none, meet, add, &workers, &sum, s), 0);
    CHECK_EQ(sum, workers * (workers - 1L) / 2);
    CHECK_EQ(combinations, workers - 1); /* each worker had one part */
    /* Where the parts are those of a loop, the owner keeps some microseconds of them for itself. */
    for (size_t last = 0; last <= (by == sched_reduce ? LATE : 0); last += LATE) {
        done = 0;
        CHECK_EQ(by(0, PARTS, 1, sizeof none, &none, last_of_all, add, &last, &sum, s), 0);
        CHECK_EQ(sum, PARTS * (PARTS - 1L) / 2);
        CHECK_EQ(done, PARTS);
    }
}

static void root(void *closure, struct scheduler *s)
{
    int workers = *(int *)closure;
    for (int round = 0; round < 20; round++) {
        reduce(sched_reduce, workers, s);
        reduce(sched_reduce_relaxed, workers, s);
    }
}

int main(void)
{
    int workers = threads_of(4);
    if (workers > 1)
        CHECK_EQ(sched_init(4, 10, root, &workers), 0);
    return 0;
}
