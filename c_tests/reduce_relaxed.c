/* sched_reduce_relaxed: each value stands for numbers that follow on each other, and values are combined in their order,
 * so that the operation need not commute; the parts are those of the grain, if there is one; one worker alone has one
 * value, unless its queue overflows. Values of any size; the result is written at the end.
 * ctest: static
 * ctest: matrix refuse threads=1,4
 * ctest: matrix idle=park threads=2,16
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace */
#include "reductions.h"
#include <stdatomic.h>

enum { MOST = 5000 / SMALLER };

static atomic_long combinations;

/* --- stretches: what follows on what, and a hash that does not commute --------------------- */

struct stretch {
    size_t lo, hi; /* no numbers: both are 0 */
    uint64_t hash, power;
};

static const struct stretch NONE = {0, 0, 0, 1};
enum { FACTOR = 1000003 };

static void append(struct stretch *stretch, size_t lo, size_t hi)
{
    if (stretch->hi == stretch->lo)
        stretch->lo = lo;
    else
        CHECK_EQ(stretch->hi, lo);
    for (size_t i = lo; i < hi; i++) {
        stretch->hash = stretch->hash * FACTOR + (i * 31 + 7);
        stretch->power *= FACTOR;
    }
    stretch->hi = hi;
}

struct grain {
    size_t lo, hi, grain;
};

static void body(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s)
{
    const struct grain *all = ctx;
    CHECK(lo < hi && all->lo <= lo && hi <= all->hi);
    CHECK_EQ((uintptr_t)acc % _Alignof(max_align_t), 0);
    CHECK(sched_worker_index(s) >= 0);
    if (all->grain > 0) {
        CHECK_EQ((lo - all->lo) % all->grain, 0);
        CHECK(hi == all->hi || hi - lo == all->grain);
    }
    append(acc, lo, hi);
}

static void combine(void *into, const void *from, void *ctx)
{
    struct stretch *left = into;
    const struct stretch *right = from;
    const struct grain *all = ctx;
    CHECK(left->lo < left->hi && right->lo < right->hi);
    CHECK_EQ(left->hi, right->lo);
    CHECK(all->lo <= left->lo && right->hi <= all->hi);
    left->hash = left->hash * right->power + right->hash;
    left->power *= right->power;
    left->hi = right->hi;
    combinations++;
}

static void reduce(size_t lo, size_t hi, size_t grain, struct scheduler *s)
{
    struct grain all = {lo, hi, grain};
    struct stretch expected = NONE, result = {7, 7, 7, 7};
    if (lo < hi)
        append(&expected, lo, hi);
    CHECK_EQ(sched_reduce_relaxed(lo, hi, grain, sizeof result, &NONE, body, combine, &all, &result, s), 0);
    CHECK_EQ(result.lo, expected.lo);
    CHECK_EQ(result.hi, expected.hi);
    CHECK_EQ(result.hash, expected.hash);
    CHECK_EQ(result.power, expected.power);
}

static void root(void *closure, struct scheduler *s)
{
    static const size_t sizes[] = {1, 2, 3, 17, MOST / 5, MOST};
    static const size_t grains[] = {0, 1, 2, 5, 64, MOST - 1, SIZE_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t k = 0; k < sizeof grains / sizeof *grains; k++) {
            reduce(0, sizes[i], grains[k], s);
            reduce(PTRDIFF_MAX - sizes[i], PTRDIFF_MAX, grains[k], s);
        }
    reduce(5, 5, 0, s);
    reduce(9, 3, 1, s);
    for (int round = 0; round < 20; round++)
        reduce(3, 200000 / SMALLER, 0, s);
    for (size_t size = 1; size < 300; size += 1 + size / 20)
        sized(sched_reduce_relaxed, size, s);
    sized(sched_reduce_relaxed, 100000 / SMALLER, s);
    /* The result may be where the identity is. */
    struct grain all = {0, 5000, 7};
    struct stretch both = NONE, expected = NONE;
    append(&expected, 0, 5000);
    CHECK_EQ(sched_reduce_relaxed(0, 5000, 7, sizeof both, &both, body, combine, &all, &both, s), 0);
    CHECK_EQ(both.hash, expected.hash);
    /* A worker whose offers have overflowed into the global queue may find there one that it does not wait for. */
    const char *overflow = getenv("SCHED_OVERFLOW");
    int overflows = overflow != NULL && (strcmp(overflow, "one") == 0 || strcmp(overflow, "half") == 0);
    if (threads_of(4) == 1 && !overflows)
        CHECK_EQ(combinations, 0);
}

int main(void)
{
    CHECK_EQ(sched_init(4, 10, root, NULL), 0);
    return 0;
}
