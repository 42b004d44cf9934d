/* kernels_fork.h: the work of the tasks of the fork/join programs, and the checks of their answers;
 * uts.h and dense.h have more of it. C11 and C++20, no scheduler here. */

#ifndef KERNELS_FORK_H
#define KERNELS_FORK_H

#include "kernels.h"

/* --- fib ----------------------------------------------------------------------- */

static inline long fib_serial(long n)
{
    return n < 2 ? n : fib_serial(n - 1) + fib_serial(n - 2);
}

/* fib(n) by addition. *tasks: the first task, and one fork for each call with n >= 2. */
static inline long fib_answer(long n, long *tasks)
{
    long fib = 0, next = 1;
    for (long i = 0; i < n; i++) {
        long sum = fib + next;
        fib = next;
        next = sum;
    }
    *tasks = next; /* fib(n + 1) calls return 0 or 1; each fork has made one call more */
    return fib;
}

/* --- mergesort ----------------------------------------------------------------- */

enum {
    MERGE_SMALL = 16,      /* elements that are sorted by insertion */
    MERGE_SORT_LEAF = 1024,
    MERGE_LEAF = 4096      /* elements that are merged without dividing them */
};

static inline void insertion_sort(int *a, long n)
{
    for (long i = 1; i < n; i++) {
        int x = a[i];
        long j = i;
        for (; j > 0 && a[j - 1] > x; j--)
            a[j] = a[j - 1];
        a[j] = x;
    }
}

/* Merges two sorted runs into out. */
static inline void merge(const int *x, long nx, const int *y, long ny, int *out)
{
    long i = 0, j = 0;
    while (i < nx && j < ny)
        *out++ = y[j] < x[i] ? y[j++] : x[i++];
    memcpy(out, x + i, (size_t)(nx - i) * sizeof *x);
    memcpy(out + (nx - i), y + j, (size_t)(ny - j) * sizeof *y);
}

/* Sorts a; the result is in spare if `away`, else in a. Both have n elements. */
static inline void merge_sort(int *a, int *spare, long n, int away)
{
    if (n <= MERGE_SMALL) {
        insertion_sort(a, n);
        if (away)
            memcpy(spare, a, (size_t)n * sizeof *a);
        return;
    }
    long half = n / 2;
    merge_sort(a, spare, half, !away);
    merge_sort(a + half, spare + half, n - half, !away);
    int *from = away ? a : spare;
    merge(from, half, from + half, n - half, away ? spare : a);
}

/* Two runs to be merged into out. */
struct runs {
    const int *x, *y;
    long nx, ny;
    int *out;
};

static inline struct runs runs_of(const int *from, long half, long n, int *out)
{
    struct runs r;
    r.x = from;
    r.nx = half;
    r.y = from + half;
    r.ny = n - half;
    r.out = out;
    return r;
}

/* Cuts *r at the middle element of its longer run; the greater elements are put into *other. */
static inline void runs_cut(struct runs *r, struct runs *other)
{
    if (r->nx < r->ny) {
        struct runs turned = {r->y, r->x, r->ny, r->nx, r->out};
        *r = turned;
    }
    long mx = r->nx / 2, lo = 0, hi = r->ny;
    while (lo < hi) {
        long middle = lo + (hi - lo) / 2;
        if (r->y[middle] < r->x[mx])
            lo = middle + 1;
        else
            hi = middle;
    }
    struct runs greater = {r->x + mx, r->y + lo, r->nx - mx, r->ny - lo, r->out + mx + lo};
    *other = greater;
    r->nx = mx;
    r->ny = lo;
}

/* --- knapsack ------------------------------------------------------------------ */

/* A knapsack to be filled exactly. The items weigh some 2^40 each, so that only the packing that was planted fits. The
 * number of an attempt says which of the first KNAPSACK_PREFIX items are taken; each attempt is a task, which searches
 * the rest. The task that finds the packing ends all other attempts. This measures the search, and how fast the others
 * learn of its end.
 *
 * The time of one search is luck: some systems make the first attempts first, some the last ones. So there are many
 * searches, in pairs: if the packing of one is near the beginning, that of the other is as near the end. */
enum {
    KNAPSACK_ITEMS = 24,
    KNAPSACK_PREFIX = 10,
    KNAPSACK_ATTEMPTS = 1 << KNAPSACK_PREFIX,
    KNAPSACK_POLL = 6, /* an attempt asks whether it is wanted when this many items are left */
};

struct knapsack {
    uint64_t weight[KNAPSACK_ITEMS];
    uint64_t rest[KNAPSACK_ITEMS + 1]; /* the weight of all items from this one on */
    uint64_t room, planted;            /* bit i: item i is in */
};

static inline struct knapsack knapsack_new(uint64_t number)
{
    struct knapsack k;
    number += 2;
    k.planted = bench_mix(number / 2) & ((1u << KNAPSACK_ITEMS) - 1);
    if (number % 2 == 1)
        k.planted ^= KNAPSACK_ATTEMPTS - 1;
    k.room = 0;
    k.rest[KNAPSACK_ITEMS] = 0;
    for (int i = KNAPSACK_ITEMS - 1; i >= 0; i--) {
        k.weight[i] = bench_mix(number * 64 + (uint64_t)i) >> 24;
        k.rest[i] = k.rest[i + 1] + k.weight[i];
        if (k.planted >> i & 1)
            k.room += k.weight[i];
    }
    return k;
}

typedef int knapsack_unwanted(void *context);

/* Makes one attempt; returns the packing, or 0. Each item after the prefix is first left, then taken. (This is a loop
 * because the code that compilers make of a recursion differs by a factor of two in speed.) */
static inline uint64_t knapsack_attempt(const struct knapsack *k, long attempt,
                                        knapsack_unwanted *unwanted, void *context)
{
    uint64_t taken = (uint64_t)attempt, room = k->room;
    for (int i = 0; i < KNAPSACK_PREFIX; i++) {
        uint64_t weight = taken >> i & 1 ? k->weight[i] : 0;
        if (weight > room)
            return 0;
        room -= weight;
    }
    int item = KNAPSACK_PREFIX;
    while (room != 0) {
        if (KNAPSACK_ITEMS - item == KNAPSACK_POLL && unwanted(context))
            return 0;
        if (room <= k->rest[item]) {
            item++;
            continue;
        }
        /* The remaining items weigh too little: go back to the last item that was left out and can be taken. */
        for (;;) {
            if (item == KNAPSACK_PREFIX)
                return 0;
            uint64_t bit = UINT64_C(1) << --item, weight = k->weight[item];
            if (taken & bit) {
                taken &= ~bit;
                room += weight;
            } else if (weight <= room) {
                taken |= bit;
                room -= weight;
                break;
            }
        }
        item++;
    }
    return taken;
}

static inline int knapsack_wanted(void *context)
{
    (void)context;
    return 0;
}

static inline uint64_t knapsack_serial(const struct knapsack *k)
{
    uint64_t found = 0;
    for (long attempt = 0; found == 0 && attempt < KNAPSACK_ATTEMPTS; attempt++)
        found = knapsack_attempt(k, attempt, knapsack_wanted, NULL);
    return found;
}

/* Checks the answers of n searches. */
static inline int knapsack_right(const uint64_t *found, long n, uint64_t *sum)
{
    int right = 1;
    *sum = 0;
    for (long i = 0; i < n; i++) {
        right = right && found[i] == knapsack_new((uint64_t)i).planted;
        *sum += bench_mix(found[i]);
    }
    return right;
}

/* --- loop, reduce ---------------------------------------------------------------- */

/* The ranges are functions of their own: the serial program and the tasks run the same loop. */

/* An iteration takes a nanosecond or two; one in a million finds something, and counts it. */
static inline void loop_iteration(size_t i, uint64_t *found)
{
    if (bench_mix(i) >> 44 == 0)
        __atomic_fetch_add(found, i, __ATOMIC_RELAXED);
}

__attribute__((noinline, unused)) static void loop_range(size_t lo, size_t hi, uint64_t *found)
{
    for (size_t i = lo; i < hi; i++)
        loop_iteration(i, found);
}

__attribute__((noinline, unused)) static uint64_t reduce_range(size_t lo, size_t hi)
{
    uint64_t sum = 0;
    for (size_t i = lo; i < hi; i++)
        sum += bench_mix(i);
    return sum;
}

/* --- sort ------------------------------------------------------------------------ */

static inline int sort_compare(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* The numbers that -d names. */
#define SORT_DATA "random, few (16 different ones), sorted, falling; stable, stable-few, ... (by a stable sort); " \
                  "main, main-few, ... (from main)"

static inline int sort_is_stable(const struct bench *b)
{
    return b->data != NULL && strncmp(b->data, "stable", 6) == 0;
}

static inline void sort_data(const struct bench *b, int *a)
{
    const char *data = b->data != NULL && strcmp(b->data, "stable") != 0 ? b->data : "random";
    if (strncmp(data, "stable-", 7) == 0)
        data += 7;
    long n = b->n;
    bench_lcg(a, n);
    if (strcmp(data, "few") == 0) {
        for (long i = 0; i < n; i++)
            a[i] &= 15;
    } else if (strcmp(data, "sorted") == 0) {
        for (long i = 0; i < n; i++)
            a[i] = (int)i;
    } else if (strcmp(data, "falling") == 0) {
        for (long i = 0; i < n; i++)
            a[i] = (int)(n - i);
    } else if (strcmp(data, "random") != 0) {
        bench_refuse(b, b->data, "wanted is one of " SORT_DATA);
    }
}

#endif
