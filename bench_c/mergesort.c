/* mergesort.c: sorting with join counters: tasks that wait for others without blocking.
 *
 * A task splits and spawns both halves; of two siblings the one that ends last merges, and
 * goes on upwards. This is how a program joins with sched_spawn alone. */

#include "bench.h"

#include <stdatomic.h>

enum { CUTOFF = 1024, SMALL = 16 };

struct node {
    struct node *parent;
    long lo, hi;        /* hi not included */
    atomic_int pending; /* halves not yet sorted */
};

static int *a, *spare;

static long middle(long lo, long hi)
{
    return lo + (hi - lo) / 2;
}

/* Merges a[lo..mid) and a[mid..hi); the left half steps aside into spare. */
static void merge(long lo, long mid, long hi)
{
    memcpy(spare + lo, a + lo, (size_t)(mid - lo) * sizeof *a);
    long i = lo, j = mid, k = lo;
    while (i < mid && j < hi)
        a[k++] = a[j] < spare[i] ? a[j++] : spare[i++];
    memcpy(a + k, spare + i, (size_t)(mid - i) * sizeof *a);
}

static void sort(long lo, long hi)
{
    if (hi - lo > SMALL) {
        long mid = middle(lo, hi);
        sort(lo, mid);
        sort(mid, hi);
        merge(lo, mid, hi);
        return;
    }
    for (long i = lo + 1; i < hi; i++) {
        int x = a[i];
        long j = i;
        for (; j > lo && a[j - 1] > x; j--)
            a[j] = a[j - 1];
        a[j] = x;
    }
}

static struct node *new_node(struct node *parent, long lo, long hi)
{
    struct node *node = bench_alloc(1, sizeof *node);
    node->parent = parent;
    node->lo = lo;
    node->hi = hi;
    atomic_init(&node->pending, 2);
    return node;
}

static void task(void *closure, struct scheduler *s)
{
    struct node *node = closure;
    if (node->hi - node->lo > CUTOFF) {
        long lo = node->lo, mid = middle(lo, node->hi), hi = node->hi;
        bench_spawn(task, new_node(node, lo, mid), s);
        bench_spawn(task, new_node(node, mid, hi), s); /* node may be gone from here on */
        return;
    }
    sort(node->lo, node->hi);
    for (;;) {
        struct node *parent = node->parent;
        free(node);
        /* Release: my half is sorted. Acquire, by the last: so is the other. */
        if (parent == NULL ||
            atomic_fetch_sub_explicit(&parent->pending, 1, memory_order_acq_rel) != 1)
            return;
        merge(parent->lo, middle(parent->lo, parent->hi), parent->hi);
        node = parent;
    }
}

static void serial_run(void *closure)
{
    struct node *node = closure;
    sort(node->lo, node->hi);
    free(node);
}

static long count_tasks(long n)
{
    return n <= CUTOFF ? 1 : 1 + count_tasks(n / 2) + count_tasks(n - n / 2);
}

static const struct bench_about about = {
    "mergesort", "elements", 1024 * 1024, 1, 1L << 30, NULL,
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    long n = b.n;
    a = bench_alloc((size_t)n, sizeof *a);
    spare = bench_alloc((size_t)n, sizeof *spare);
    memset(spare, 0, (size_t)n * sizeof *spare); /* its pages are there before the clock runs */

    for (int r = 0; r < b.repetitions; r++) {
        bench_lcg(a, n);
        uint64_t before = bench_multiset(a, n);

        bench_run(&b, task, serial_run, new_node(NULL, 0, n));

        int right = bench_sorted(a, n) && bench_multiset(a, n) == before;
        bench_line(&b, count_tasks(n), before, right);
    }
    free(a);
    free(spare);
    return bench_end(&b);
}
