/* sched_sort makes few comparisons where few values are distinct: in any order, and also where nearly all is in order.
 * ctest: static
 * ctest: matrix few idle=park threads=1,2,4 */
#include "check.h"
#include <sched_tasks.h>
#include <stdatomic.h>

enum { N = 100000 };

static int a[N];
static atomic_long comparisons;

static int compare(const void *one, const void *other)
{
    int x = *(const int *)one, y = *(const int *)other;
    atomic_fetch_add_explicit(&comparisons, 1, memory_order_relaxed);
    return (x > y) - (x < y);
}

/* Sorts what was written to a. Returns how many comparisons were made for 100 elements. */
static long per_hundred(struct scheduler *s)
{
    atomic_store(&comparisons, 0);
    CHECK_EQ(sched_sort(a, N, sizeof *a, compare, s), 0);
    for (int i = 1; i < N; i++)
        CHECK(a[i - 1] <= a[i]);
    return atomic_load(&comparisons) * 100 / N;
}

static void root(void *closure, struct scheduler *s)
{
    uint64_t seed = 1;
    for (int distinct = 2; distinct <= 32; distinct *= 4) {
        int levels = distinct == 2 ? 1 : distinct == 8 ? 3 : 5; /* a partition each, if all pivots were medians */
        for (int i = 0; i < N; i++)
            a[i] = (int)((next_random(&seed) >> 33) % (uint64_t)distinct);
        CHECK(per_hundred(s) < levels * 100 + 150); /* merges alone make 700 more than 100 times `levels` */

        for (int i = 0; i < N; i++)
            a[i] = (int)((long)i * distinct / N);
        a[N - 1] = 0;
        CHECK(per_hundred(s) < 300);
    }
    for (int i = 0; i < N; i++) /* nearly all are equal */
        a[i] = next_random(&seed) >> 33 & 63 ? 5 : (int)(next_random(&seed) >> 33);
    CHECK(per_hundred(s) < 200);
}

int main(void)
{
    CHECK_EQ(sched_init(0, 0, root, NULL), 0);
    return 0;
}
