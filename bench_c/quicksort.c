/* quicksort.c: the course's quicksort: tasks of a natural size that depend on the data.
 *
 * Hoare's partition with the pivot a[lo]; a task of at most 129 elements sorts serially, a
 * larger one partitions and spawns both halves. The number of tasks is a property of the
 * data alone: with -n 10485760 it is 368,439, and with -d alternate 458,749. */

#include "bench.h"

enum { CUTOFF = 128 };

struct range {
    long lo, hi; /* both ends included */
};

static int *a;
static unsigned char *leaf; /* leaf[lo]: tasks that sorted serially from lo on */

/* a[lo..j] <= a[j+1..hi] afterwards, and lo <= j < hi. */
static long partition(long lo, long hi)
{
    int pivot = a[lo];
    long i = lo - 1, j = hi + 1;
    for (;;) {
        do i++; while (a[i] < pivot);
        do j--; while (a[j] > pivot);
        if (i >= j)
            return j;
        int t = a[i];
        a[i] = a[j];
        a[j] = t;
    }
}

/* Recurs into the smaller half: the C stack stays small on any data. */
static void sort(long lo, long hi)
{
    while (lo < hi) {
        long j = partition(lo, hi);
        if (j - lo < hi - j - 1) {
            sort(lo, j);
            lo = j + 1;
        } else {
            sort(j + 1, hi);
            hi = j;
        }
    }
}

static void task(void *closure, struct scheduler *s);

static void spawn(long lo, long hi, struct scheduler *s)
{
    struct range *r = bench_alloc(1, sizeof *r);
    r->lo = lo;
    r->hi = hi;
    bench_spawn(task, r, s);
}

static void task(void *closure, struct scheduler *s)
{
    struct range r = *(struct range *)closure;
    free(closure);
    if (r.hi - r.lo <= CUTOFF) {
        leaf[r.lo]++;
        sort(r.lo, r.hi);
        return;
    }
    long j = partition(r.lo, r.hi);
    spawn(r.lo, j, s);
    spawn(j + 1, r.hi, s);
}

/* The same splits without a scheduler. */
static void serial(long lo, long hi)
{
    while (hi - lo > CUTOFF) {
        long j = partition(lo, hi);
        if (j - lo < hi - j - 1) {
            serial(lo, j);
            lo = j + 1;
        } else {
            serial(j + 1, hi);
            hi = j;
        }
    }
    leaf[lo]++;
    sort(lo, hi);
}

static void serial_run(void *closure)
{
    struct range r = *(struct range *)closure;
    free(closure);
    serial(r.lo, r.hi);
}

static const struct bench_about about = {
    "quicksort", "elements", 1024 * 1024, 1, 1L << 30,
    "lcg (the course's numbers, default) or alternate (i, -i, ...)",
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    int alternate = b.data != NULL && strcmp(b.data, "alternate") == 0;
    if (b.data != NULL && !alternate && strcmp(b.data, "lcg") != 0) {
        fprintf(stderr, "quicksort: -d %s: lcg or alternate is wanted\n", b.data);
        return 2;
    }
    long n = b.n;
    a = bench_alloc((size_t)n, sizeof *a);
    leaf = bench_alloc((size_t)n, 1);

    for (int r = 0; r < b.repetitions; r++) {
        if (alternate)
            for (long i = 0; i < n; i++)
                a[i] = (int)(i % 2 == 0 ? i : -i);
        else
            bench_lcg(a, n);
        for (long i = 0; i < n; i++)
            leaf[i] = 0;
        uint64_t before = bench_multiset(a, n);
        struct range *all = bench_alloc(1, sizeof *all);
        all->lo = 0;
        all->hi = n - 1;

        bench_run(&b, task, serial_run, all);

        /* Every task that splits spawns two: with L leaves there are L - 1 of them. */
        long leaves = 0;
        int once = 1;
        for (long i = 0; i < n; i++) {
            leaves += leaf[i];
            once = once && leaf[i] <= 1;
        }
        long tasks = 2 * leaves - 1;
        int right = once && bench_sorted(a, n) && bench_multiset(a, n) == before;
        if (n == 10 * 1024 * 1024)
            right = right && tasks == (alternate ? 458749 : 368439);
        bench_line(&b, tasks, before + (uint64_t)tasks, right);
    }
    free(a);
    free(leaf);
    return bench_end(&b);
}
