/* The course's quicksort: exactly 368,439 tasks over its own data, 458,749 over the alternating one, and as exactly for
 * smaller arrays, on any kind and any number of threads. (A small array meets all pairs of the settings.)
 * ctest: matrix stats=629 args=lcg,16384
 * ctest: matrix kind=serial,lifo,steal,cont deque=mutex,split idle=park threads=2 stats=36743 args=lcg,1048576
 * ctest: matrix kind=steal,cont deque=chaselev idle=park threads=1,16 stats=36743 args=lcg,1048576
 * ctest: matrix kind=lifo,steal deque=mutex idle=park threads=2 stats=368439 args=lcg,10485760 timeout=60
 * ctest: matrix kind=steal deque=split idle=nap threads=4 stats=458749 args=alt,10485760 timeout=60
 * ctest: matrix kind=lifo deque=spin idle=park threads=2 stats=28669 args=alt,1048576
 * ctest: matrix kind=cont deque=chaselev idle=park threads=4 stats=28669 args=alt,1048576 */
#include "check.h"

static int *a;

/* Hoare's partition around a[lo]: a[lo..=p] <= a[p+1..=hi]. */
static int partition(int lo, int hi)
{
    int pivot = a[lo], i = lo - 1, j = hi + 1;
    for (;;) {
        do
            i++;
        while (a[i] < pivot);
        do
            j--;
        while (a[j] > pivot);
        if (i >= j)
            return j;
        int t = a[i];
        a[i] = a[j];
        a[j] = t;
    }
}

static void sort_serial(int lo, int hi)
{
    while (lo < hi) {
        int p = partition(lo, hi);
        sort_serial(lo, p);
        lo = p + 1;
    }
}

struct range {
    int lo, hi;
};

static void sort(void *closure, struct scheduler *s)
{
    struct range range = *(struct range *)closure;
    free(closure);
    if (range.hi - range.lo <= 128) {
        sort_serial(range.lo, range.hi);
        return;
    }
    int p = partition(range.lo, range.hi);
    struct range *left = malloc(sizeof *left), *right = malloc(sizeof *right);
    CHECK(left && right);
    *left = (struct range){range.lo, p};
    *right = (struct range){p + 1, range.hi};
    CHECK_EQ(sched_spawn(sort, left, s), 0);
    CHECK_EQ(sched_spawn(sort, right, s), 0);
}

int main(int argc, char **argv)
{
    int alternate = argc > 1 && strcmp(argv[1], "alt") == 0;
    int n = argc > 2 ? atoi(argv[2]) : 16384;
    uint64_t s = 0, sum = 0;
    a = malloc((size_t)n * sizeof *a);
    struct range *all = malloc(sizeof *all);
    CHECK(a && all);
    for (int i = 0; i < n; i++) {
        s = s * 6364136223846793005u + 1442695040888963407u;
        a[i] = alternate ? (i % 2 ? -i : i) : (int)(s >> 33 & 0x7FFFFFFF);
        sum += (unsigned)a[i];
    }
    *all = (struct range){0, n - 1};
    CHECK_EQ(sched_init(-1, (n + 127) / 128, sort, all), 0);
    for (int i = 0; i < n; i++) {
        sum -= (unsigned)a[i];
        CHECK(i == 0 || a[i - 1] <= a[i]);
    }
    CHECK_EQ(sum, 0);
    free(a);
    return 0;
}
