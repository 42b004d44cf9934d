/* Loops with the same body, long enough to be measured: each one is divided as the last one took its time, but takes its
 * time elsewhere. The body gets each number once, whatever was expected; a reduction gets them in ascending order.
 * ctest: static debug
 * ctest: matrix kind=steal,cont,lifo deque=split idle=park threads=1,2,4 */
#include "check.h"
#include <sched_tasks.h>
#include <stdatomic.h>
#include <string.h>

enum { MOST = 3000, LOOPS = 10, TURNS = 200000 };

enum shape { EVEN, RISING, FALLING, ONE, END, SHAPES };

struct loop {
    enum shape shape;
    size_t first, numbers;
};

static atomic_uchar calls[MOST];
static _Atomic unsigned sink;

static void compute(size_t turns)
{
    unsigned x = 1;
    for (size_t i = 0; i < turns; i++) {
        x = x * 1664525 + 1013904223;
        __asm__ volatile("" : "+r"(x));
    }
    sink = x;
}

/* The turns of a number; those of all numbers are about TURNS. */
static size_t turns_of(const struct loop *loop, size_t number)
{
    size_t n = loop->numbers, i = number - loop->first, mean = TURNS / n;
    switch (loop->shape) {
    case RISING: return 2 * mean * i / n;
    case FALLING: return 2 * mean * (n - i) / n;
    case ONE: return i == n / 3 ? TURNS : 0;
    case END: return i >= n - n / 16 ? 16 * mean : 0;
    default: return mean;
    }
}

static void body(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    const struct loop *loop = ctx;
    for (size_t i = lo; i < hi; i++) {
        atomic_fetch_add(&calls[i - loop->first], 1);
        compute(turns_of(loop, i));
    }
}

struct stretch {
    size_t lo, hi; /* no numbers: both are 0 */
};

static void append(void *into, const void *from, void *ctx)
{
    struct stretch *left = into;
    const struct stretch *right = from;
    if (left->lo == left->hi) {
        *left = *right;
    } else if (right->lo != right->hi) {
        CHECK_EQ(left->hi, right->lo);
        left->hi = right->hi;
    }
}

static void add(size_t lo, size_t hi, void *into, void *ctx, struct scheduler *s)
{
    append(into, &(struct stretch){lo, hi}, NULL);
    body(lo, hi, ctx, s);
}

static void check_calls(const struct loop *loop)
{
    for (size_t i = 0; i < loop->numbers; i++)
        CHECK_EQ(calls[i], 1);
    memset(calls, 0, sizeof calls);
}

static void root(void *closure, struct scheduler *s)
{
    static const size_t grains[] = {0, 0, 1, 7}, numbers[] = {MOST, MOST, MOST, 100, 17, 2};
    for (int k = 0; k < SHAPES * LOOPS; k++) {
        struct loop loop = {(enum shape)(k / LOOPS), (size_t)k, numbers[k % 6]};
        size_t lo = loop.first, hi = lo + loop.numbers, grain = grains[k % 4];

        CHECK_EQ(sched_for(lo, hi, grain, body, &loop, s), 0);
        check_calls(&loop);

        const struct stretch none = {0, 0};
        struct stretch all;
        CHECK_EQ(sched_reduce_relaxed(lo, hi, grain, sizeof all, &none, add, append, &loop, &all, s), 0);
        check_calls(&loop);
        CHECK_EQ(all.lo, lo);
        CHECK_EQ(all.hi, hi);
    }
}

int main(void)
{
    CHECK_EQ(sched_init(4, 10, root, NULL), 0);
    return 0;
}
