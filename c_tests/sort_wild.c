/* sched_sort with a comparison that contradicts itself: it returns, and the array has the same
 * elements as before, in some order.
 * ctest: matrix few idle=park threads=1,4 */
#include "check.h"
#include <sched_tasks.h>
#include <stdatomic.h>

enum { N = 30000 };

static atomic_ulong calls;

static int at_random(const void *a, const void *b)
{
    uint64_t x = atomic_fetch_add(&calls, 1) * 2654435761u + 99991;
    return (int)(next_random(&x) >> 40) % 3 - 1;
}

static int always(const void *a, const void *b)
{
    return 1;
}

static int never(const void *a, const void *b)
{
    return -1;
}

static int around(const void *a, const void *b) /* stone, paper, scissors */
{
    int x = *(const int *)a % 3, y = *(const int *)b % 3;
    return x == y ? 0 : (x + 1) % 3 == y ? -1 : 1;
}

static void root(void *closure, struct scheduler *s)
{
    static int (*const wild[])(const void *, const void *) = {at_random, always, never, around};
    static const int sizes[] = {sizeof(int), 3 * sizeof(int), 64 * sizeof(int)};
    static char present[N], a[N * 64 * sizeof(int)];
    for (int k = 0; k < 4; k++)
        for (int z = 0; z < 3; z++)
            for (int n = 1; n <= N; n = n < 70 ? n + 1 : n * 4) {
                for (int i = 0; i < n; i++)
                    memcpy(a + (size_t)i * (size_t)sizes[z], &i, sizeof i);
                CHECK_EQ(sched_sort(a, (size_t)n, (size_t)sizes[z], wild[k], s), 0);
                memset(present, 0, sizeof present);
                for (int i = 0; i < n; i++) {
                    int v;
                    memcpy(&v, a + (size_t)i * (size_t)sizes[z], sizeof v);
                    CHECK(v >= 0 && v < n && !present[v]);
                    present[v] = 1;
                }
            }
}

int main(void)
{
    CHECK_EQ(sched_init(4, 10, root, NULL), 0);
    return 0;
}
