/* sched_for: each number of the range is in exactly one part, in the order of numbers within a
 * part; with a grain the parts are those of so many numbers from lo on; what they wrote is seen
 * when it returns. Empty ranges, and ranges at the end of the type, too.
 * ctest: static
 * ctest: matrix refuse threads=1,4
 * ctest: matrix idle=park threads=2,16
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace */
#include "marks.h"
#include <sched_tasks.h>

struct loop {
    size_t lo, hi, grain;
    long plain[64]; /* the first numbers, written without atomics */
    atomic_long parts;
};

static void part(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    struct loop *loop = ctx;
    CHECK(s != NULL);
    CHECK(loop->lo <= lo && lo < hi && hi <= loop->hi);
    if (loop->grain > 0) {
        CHECK_EQ((lo - loop->lo) % loop->grain, 0);
        CHECK(hi - lo == loop->grain || hi == loop->hi);
        CHECK(hi - lo <= loop->grain);
    }
    for (size_t i = lo; i < hi; i++) {
        mark((long)(i - loop->lo));
        if (i - loop->lo < 64)
            loop->plain[i - loop->lo] = (long)(i - loop->lo) + 1;
    }
    atomic_fetch_add(&loop->parts, 1);
}

static void loop_over(size_t lo, size_t n, size_t grain, struct scheduler *s)
{
    struct loop loop = {lo, lo + n, grain, {0}, 0};
    CHECK_EQ(sched_for(lo, lo + n, grain, part, &loop, s), 0);
    for (size_t i = 0; i < 64 && i < n; i++)
        CHECK_EQ(loop.plain[i], i + 1);
    if (grain > 0)
        CHECK_EQ(loop.parts, n / grain + (n % grain > 0));
    check_marks((long)n);
}

static void root(void *closure, struct scheduler *s)
{
    static const size_t sizes[] = {1, 2, 3, 7, 8, 64, 65, 1000, 4097, 100000 / SMALLER};
    static const size_t grains[] = {0, 0, 1, 2, 3, 10, 64, 1000, 99999, SIZE_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t k = 0; k < sizeof grains / sizeof *grains; k++) {
            if (grains[k] > 0 && sizes[i] / grains[k] > 5000)
                continue;
            loop_over(0, sizes[i], grains[k], s);
            loop_over(12345, sizes[i], grains[k], s);
            loop_over(PTRDIFF_MAX - sizes[i], sizes[i], grains[k], s);
        }
    for (size_t grain = 0; grain < 3; grain++) {
        CHECK_EQ(sched_for(0, 0, grain, part, NULL, s), 0);
        CHECK_EQ(sched_for(7, 7, grain, part, NULL, s), 0);
        CHECK_EQ(sched_for(8, 7, grain, part, NULL, s), 0);
        CHECK_EQ(sched_for(PTRDIFF_MAX, 0, grain, part, NULL, s), 0);
    }
    loop_over(3, 1000000 / SMALLER, 0, s);
    loop_over(3, 1000000 / SMALLER, 1000, s);
}

int main(void)
{
    CHECK_EQ(sched_init(4, 10, root, NULL), 0);
    return 0;
}
