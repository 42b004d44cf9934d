/* sorts: sched_sort and sched_stable_sort. */
#include "case.h"
#include "shapes.h"
#include <sched_tasks.h>
#include <stdatomic.h>

/* sort: sched_sort and sched_stable_sort give what a stable sort gives: for elements of 1 to 100 bytes and some much
 * larger, at any alignment, in any order at first; and touches nothing beside the array.
 * ctest: static
 * ctest: matrix few refuse idle=park
 * ctest: matrix few deque=split,mutex idle=nap,spin threads=4 */
static size_t size;

/* The order is that of the first byte; of the first four, where there are so many. The other bytes
 * tell equal elements apart. */
static uint32_t sort_key(const void *element)
{
    uint32_t value = 0;
    memcpy(&value, element, size >= 8 ? 4 : 1);
    return value;
}

static int sort_compare(const void *a, const void *b)
{
    uint32_t x = sort_key(a), y = sort_key(b);
    return (x > y) - (x < y);
}

/* Sorted by a plain merge sort, on indices. */
static void sort_indices(const char *a, uint32_t *index, uint32_t *spare, size_t n)
{
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t lo = 0; lo < n; lo += 2 * width) {
            size_t i = lo, middle = lo + width < n ? lo + width : n;
            size_t j = middle, end = lo + 2 * width < n ? lo + 2 * width : n;
            for (size_t k = lo; k < end; k++) {
                int left = i < middle
                        && (j == end || sort_key(a + index[i] * size) <= sort_key(a + index[j] * size));
                spare[k] = left ? index[i++] : index[j++];
            }
        }
        memcpy(index, spare, n * sizeof *index);
    }
}

static void sort_one(enum shape shape, size_t n, size_t offset, struct scheduler *s)
{
    char *memory = malloc(n * size + offset + 16), *a = memory + offset;
    char *before = calloc(n * size + 1, 1); /* where n is 0, nothing is copied to it */
    uint32_t *index = malloc((n + 1) * sizeof *index), *spare = malloc((n + 1) * sizeof *spare);
    uint64_t seed = 1 + n + 1000 * size;
    CHECK(memory && before && index && spare);
    memset(memory, 0xa5, n * size + offset + 16);
    for (size_t i = 0; i < n; i++) {
        uint32_t v = key_of(shape, i, n, &seed);
        for (size_t k = 0; k < size; k++)
            a[i * size + k] = (char)next_random(&seed);
        memcpy(a + i * size, &v, size >= 8 ? 4 : 1);
        index[i] = (uint32_t)i;
    }
    memcpy(before, a, n * size);
    sort_indices(before, index, spare, n);
    CHECK_EQ((n % 2 ? sched_sort : sched_stable_sort)(a, n, size, sort_compare, s), 0);
    for (size_t i = 0; i < n; i++)
        CHECK(memcmp(a + i * size, before + index[i] * size, size) == 0);
    for (size_t k = 0; k < offset; k++)
        CHECK_EQ((unsigned char)memory[k], 0xa5);
    for (size_t k = 0; k < 16; k++)
        CHECK_EQ((unsigned char)a[n * size + k], 0xa5);
    free(memory);
    free(before);
    free(index);
    free(spare);
}

static void sort_root(void *closure, struct scheduler *s)
{
    for (size = 1; size <= 100; size++) /* one size at a time: compare knows it, too */
        for (enum shape shape = 0; shape < SHAPES_OF_KEYS; shape++)
            sort_one(shape, 30 + size, size % 8, s);
    static const size_t sizes[] = {1, 3, 6, 4, 8, 16, 12, 24, 32, 200, 3000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size = sizes[i];
        for (size_t n = 0; n < 40; n++)
            sort_one(n % 2 ? RANDOM : FEW, n, 0, s);
        for (enum shape shape = 0; shape < SHAPES_OF_KEYS; shape++) {
            sort_one(shape, (size > 1000 ? 500 : 2201) / SMALLER, i % 2, s);
        }
    }
    for (size = 4; size <= 8; size += 4)
        sort_one(RANDOM, 50021 / SMALLER, size / 5, s);
    size = 8;
    for (enum shape shape = 0; shape < SHAPES_OF_KEYS; shape++) /* more than one worker checks at a time */
        sort_one(shape, 20021, 0, s);
    static const enum shape ties[] = {FEW, SIXTY, GROUPS};
    for (size_t i = 0; i < sizeof ties / sizeof *ties; i++) { /* two parts, and four */
        sort_one(ties[i], 100021 / SMALLER, 0, s);
        sort_one(ties[i], 200021 / SMALLER, 0, s);
    }
}

CASE(sort)
{
    CHECK_EQ(sched_init(4, 10, sort_root, NULL), 0);
}

/* sort_ties: sched_sort makes few comparisons where few values are distinct: in any order, and also
 * where nearly all is in order.
 * ctest: static
 * ctest: matrix few idle=park threads=1,2,4 */
enum { TIES_N = 100000 };

static int ties_a[TIES_N];
static atomic_long comparisons;

static int ties_compare(const void *one, const void *other)
{
    int x = *(const int *)one, y = *(const int *)other;
    atomic_fetch_add_explicit(&comparisons, 1, memory_order_relaxed);
    return (x > y) - (x < y);
}

/* Sorts what was written to a. Returns how many comparisons were made for 100 elements. */
static long per_hundred(struct scheduler *s)
{
    atomic_store(&comparisons, 0);
    CHECK_EQ(sched_sort(ties_a, TIES_N, sizeof *ties_a, ties_compare, s), 0);
    for (int i = 1; i < TIES_N; i++)
        CHECK(ties_a[i - 1] <= ties_a[i]);
    return atomic_load(&comparisons) * 100 / TIES_N;
}

static void ties_root(void *closure, struct scheduler *s)
{
    uint64_t seed = 1;
    for (int distinct = 2; distinct <= 32; distinct *= 4) {
        int levels = distinct == 2 ? 1 : distinct == 8 ? 3 : 5; /* a partition each, if all pivots were medians */
        for (int i = 0; i < TIES_N; i++)
            ties_a[i] = (int)((next_random(&seed) >> 33) % (uint64_t)distinct);
        CHECK(per_hundred(s) < levels * 100 + 150); /* merges alone make 700 more than 100 times `levels` */

        for (int i = 0; i < TIES_N; i++)
            ties_a[i] = (int)((long)i * distinct / TIES_N);
        ties_a[TIES_N - 1] = 0;
        CHECK(per_hundred(s) < 300);
    }
    for (int i = 0; i < TIES_N; i++) /* nearly all are equal */
        ties_a[i] = next_random(&seed) >> 33 & 63 ? 5 : (int)(next_random(&seed) >> 33);
    CHECK(per_hundred(s) < 200);
}

CASE(sort_ties)
{
    CHECK_EQ(sched_init(0, 0, ties_root, NULL), 0);
}

/* sort_wild: sched_sort with a comparison that contradicts itself: it returns, and the array has
 * the same elements as before, in some order.
 * ctest: matrix few idle=park threads=1,4 */
enum { WILD_N = 30000 };

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

static void wild_root(void *closure, struct scheduler *s)
{
    static int (*const wild[])(const void *, const void *) = {at_random, always, never, around};
    static const int sizes[] = {sizeof(int), 3 * sizeof(int), 64 * sizeof(int)};
    static char present[WILD_N], a[WILD_N * 64 * sizeof(int)];
    for (int k = 0; k < 4; k++)
        for (int z = 0; z < 3; z++)
            for (int n = 1; n <= WILD_N; n = n < 70 ? n + 1 : n * 4) {
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

CASE(sort_wild)
{
    CHECK_EQ(sched_init(4, 10, wild_root, NULL), 0);
}

/* quicksort: The course's quicksort: exactly 368,439 tasks over its own data, 458,749 over the
 * alternating one, and as exactly for smaller arrays, on any kind and any number of threads. (A
 * small array meets all pairs of the settings.)
 * ctest: matrix stats=629 args=lcg,16384
 * ctest: matrix kind=serial,lifo,steal,cont deque=mutex,split idle=park threads=2 stats=36743 args=lcg,1048576
 * ctest: matrix with=deques deque=chaselev idle=park threads=1,16 stats=36743 args=lcg,1048576
 * ctest: matrix kind=lifo,steal deque=mutex idle=park threads=2 stats=368439 args=lcg,10485760 timeout=60
 * ctest: matrix kind=steal deque=split idle=nap threads=4 stats=458749 args=alt,10485760 timeout=60
 * ctest: matrix kind=lifo deque=spin idle=park threads=2 stats=28669 args=alt,1048576
 * ctest: matrix with=calls deque=chaselev idle=park threads=4 stats=28669 args=alt,1048576 */
static int *quicksort_a;

/* Hoare's partition around a[lo]: a[lo..=p] <= a[p+1..=hi]. */
static int partition(int lo, int hi)
{
    int pivot = quicksort_a[lo], i = lo - 1, j = hi + 1;
    for (;;) {
        do
            i++;
        while (quicksort_a[i] < pivot);
        do
            j--;
        while (quicksort_a[j] > pivot);
        if (i >= j)
            return j;
        int t = quicksort_a[i];
        quicksort_a[i] = quicksort_a[j];
        quicksort_a[j] = t;
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

CASE(quicksort)
{
    int alternate = argc > 1 && strcmp(argv[1], "alt") == 0;
    int n = argc > 2 ? atoi(argv[2]) : 16384;
    uint64_t s = 0, sum = 0;
    quicksort_a = malloc((size_t)n * sizeof *quicksort_a);
    struct range *all = malloc(sizeof *all);
    CHECK(quicksort_a && all);
    for (int i = 0; i < n; i++) {
        s = s * 6364136223846793005u + 1442695040888963407u;
        quicksort_a[i] = alternate ? (i % 2 ? -i : i) : (int)(s >> 33 & 0x7FFFFFFF);
        sum += (unsigned)quicksort_a[i];
    }
    *all = (struct range){0, n - 1};
    CHECK_EQ(sched_init(-1, (n + 127) / 128, sort, all), 0);
    for (int i = 0; i < n; i++) {
        sum -= (unsigned)quicksort_a[i];
        CHECK(i == 0 || quicksort_a[i - 1] <= quicksort_a[i]);
    }
    CHECK_EQ(sum, 0);
    free(quicksort_a);
}

/* From here on the compiler puts spawns, forks and joins into the program. */
#include <sched_sort.h>

/* sort_runs: SCHED_SORT, SCHED_STABLE_SORT and sched_sort of elements in order but for one place,
 * wherever this is: runs that rise or fall end there, or two runs meet there. The stable ones keep
 * the order of equal elements, also in an array that falls.
 * ctest: static debug
 * ctest: matrix few idle=park threads=1,2,4 */
/* The upper bits are the key, the lower ones tell equal elements apart. */
enum { TAG_BITS = 10, TAGS = 1 << TAG_BITS };

static uint32_t runs_key(uint32_t element)
{
    return element >> TAG_BITS;
}

static uint32_t tag(uint32_t element)
{
    return element % TAGS;
}

static int runs_compare(const void *a, const void *b)
{
    uint32_t x = runs_key(*(const uint32_t *)a), y = runs_key(*(const uint32_t *)b);
    return (x > y) - (x < y);
}

SCHED_SORT(sort_narrow, uint32_t, runs_key(*a) < runs_key(*b))
SCHED_STABLE_SORT(sort_narrow_stably, uint32_t, runs_key(*a) < runs_key(*b))
SCHED_SORT(sort_floats, float, *a < *b)
SCHED_STABLE_SORT(sort_wide_stably, uint64_t, runs_key((uint32_t)*a) < runs_key((uint32_t)*b))

enum runs_shape { RISES, FALLS, RUNS_EQUAL, DIP, PEAK, TIE, RISE, TWO_RUNS, TWO_FALLS, RISES_AND_FALLS, RUNS_SHAPES };

/* The key at i of n, where p is the place at which the order changes. */
static uint32_t value(enum runs_shape shape, size_t i, size_t n, size_t p)
{
    size_t falling = n - i;
    switch (shape) {
    case RISES: break;
    case FALLS: return (uint32_t)falling;
    case RUNS_EQUAL: return 7;
    case DIP: return (uint32_t)(i == p ? 0 : i + 1);
    case PEAK: return (uint32_t)(i == p ? n : i);
    case TIE: return (uint32_t)(i == p ? falling + 1 : falling);
    case RISE: return (uint32_t)(i == p ? falling + 2 : falling);
    case TWO_RUNS: return (uint32_t)(i < p ? n + i : i);
    case TWO_FALLS: return (uint32_t)(i < p ? falling : falling + n);
    default: return (uint32_t)(i < p ? i : falling);
    }
    return (uint32_t)i;
}

static uint64_t mixed(uint64_t x)
{
    x *= 0x9e3779b97f4a7c15;
    return x ^ x >> 29;
}

static void check(enum runs_shape shape, size_t n, size_t p, const uint32_t *a, uint64_t before, int is_stable)
{
    uint64_t after = 0;
    for (size_t i = 0; i < n; i++) {
        after += mixed(a[i]);
        if (i == 0 || runs_key(a[i - 1]) < runs_key(a[i]))
            continue;
        /* Equal elements that are neighbours at first have tags that follow each other. */
        int fits = runs_key(a[i - 1]) == runs_key(a[i]);
        if (is_stable && (shape == TIE || shape == RUNS_EQUAL))
            fits = fits && tag(a[i - 1] + 1) == tag(a[i]);
        if (!fits)
            fprintf(stderr, "shape %d, n %zu, p %zu, stable %d: wrong at %zu\n", (int)shape, n, p, is_stable, i);
        CHECK(fits);
    }
    CHECK_EQ(before, after);
}

static void runs_one(enum runs_shape shape, size_t n, size_t p, struct scheduler *s)
{
    uint32_t *made = malloc(4 * n), *a = malloc(4 * n);
    uint64_t *wide = malloc(8 * n), before = 0;
    float *floats = malloc(4 * n);
    CHECK(made && a && wide && floats);
    for (size_t i = 0; i < n; i++) {
        made[i] = value(shape, i, n, p) << TAG_BITS | i % TAGS;
        before += mixed(made[i]);
        wide[i] = made[i];
        floats[i] = (float)runs_key(made[i]);
    }

    memcpy(a, made, 4 * n);
    sort_narrow(a, n, s);
    check(shape, n, p, a, before, 0);

    memcpy(a, made, 4 * n);
    CHECK_EQ(sort_narrow_stably(a, n, s), 0);
    check(shape, n, p, a, before, 1);

    CHECK_EQ(sched_sort(made, n, sizeof *made, runs_compare, s), 0);
    check(shape, n, p, made, before, 1);

    CHECK_EQ(sort_wide_stably(wide, n, s), 0);
    sort_floats(floats, n, s);
    for (size_t i = 0; i < n; i++) {
        CHECK_EQ(wide[i], a[i]);
        CHECK_EQ((uint32_t)floats[i], runs_key(a[i]));
    }
    free(made);
    free(a);
    free(wide);
    free(floats);
}

/* n elements in some of the places, others for each shape; SMALLER: fewer. */
static void in_places(size_t n, int first, struct scheduler *s)
{
    size_t look = 16384, middle = (look + n) / 2;
    size_t places[] = {1, 8, 9, 40, 41, 42, 72, 73, look - 1, look, look + 1, look + 2, look + 8, look + 9, look + 41,
                       middle - 1, middle, middle + 1, n / 2, n - 34, n - 33, n - 2, n - 1};
    size_t count = sizeof places / sizeof *places, step = 2 * SMALLER;
    for (int shape = 0; shape < RUNS_SHAPES; shape++)
        for (size_t i = (size_t)(shape + first) % step; i < count; i += step)
            if (shape >= DIP || i < step)
                runs_one((enum runs_shape)shape, n, places[i], s);
}

static void runs_root(void *closure, struct scheduler *s)
{
    /* Groups of 32 elements are compared together, and 16384 by one worker; or up to 131072 numbers. */
    static const size_t sizes[] = {2, 9, 34, 41, 42, 73, 75, 106, 200};
    for (int shape = 0; shape < RUNS_SHAPES; shape++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (size_t p = 1; p < sizes[i]; p += shape < DIP ? sizes[i] : 1)
                runs_one((enum runs_shape)shape, sizes[i], p, s);
    in_places(40001 + 2 * 16384, 0, s);
    in_places(131073 + 16384, SMALLER, s);
}

CASE(sort_runs)
{
    CHECK_EQ(sched_init(0, 0, runs_root, NULL), 0);
}
