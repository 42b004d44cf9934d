/* SCHED_SORT, SCHED_STABLE_SORT and sched_sort of elements in order but for one place, wherever this is: runs that rise or
 * fall end there, or two runs meet there. The stable ones keep the order of equal elements, also in an array that falls.
 * ctest: static debug
 * ctest: matrix few idle=park threads=1,2,4 */
#include "check.h"
#include <sched_sort.h>
#include <sched_tasks.h>

/* The upper bits are the key, the lower ones tell equal elements apart. */
enum { TAG_BITS = 10, TAGS = 1 << TAG_BITS };

static uint32_t key(uint32_t element)
{
    return element >> TAG_BITS;
}

static uint32_t tag(uint32_t element)
{
    return element % TAGS;
}

static int compare(const void *a, const void *b)
{
    uint32_t x = key(*(const uint32_t *)a), y = key(*(const uint32_t *)b);
    return (x > y) - (x < y);
}

SCHED_SORT(sort_narrow, uint32_t, key(*a) < key(*b))
SCHED_STABLE_SORT(sort_narrow_stably, uint32_t, key(*a) < key(*b))
SCHED_SORT(sort_floats, float, *a < *b)
SCHED_STABLE_SORT(sort_wide_stably, uint64_t, key((uint32_t)*a) < key((uint32_t)*b))

enum shape { RISES, FALLS, EQUAL, DIP, PEAK, TIE, RISE, TWO_RUNS, TWO_FALLS, RISES_AND_FALLS, SHAPES };

/* The key at i of n, where p is the place at which the order changes. */
static uint32_t value(enum shape shape, size_t i, size_t n, size_t p)
{
    size_t falling = n - i;
    switch (shape) {
    case RISES: break;
    case FALLS: return (uint32_t)falling;
    case EQUAL: return 7;
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

static void check(enum shape shape, size_t n, size_t p, const uint32_t *a, uint64_t before, int is_stable)
{
    uint64_t after = 0;
    for (size_t i = 0; i < n; i++) {
        after += mixed(a[i]);
        if (i == 0 || key(a[i - 1]) < key(a[i]))
            continue;
        /* Equal elements that are neighbours at first have tags that follow each other. */
        int fits = key(a[i - 1]) == key(a[i]);
        if (is_stable && (shape == TIE || shape == EQUAL))
            fits = fits && tag(a[i - 1] + 1) == tag(a[i]);
        if (!fits)
            fprintf(stderr, "shape %d, n %zu, p %zu, stable %d: wrong at %zu\n", (int)shape, n, p, is_stable, i);
        CHECK(fits);
    }
    CHECK_EQ(before, after);
}

static void one(enum shape shape, size_t n, size_t p, struct scheduler *s)
{
    uint32_t *made = malloc(4 * n), *a = malloc(4 * n);
    uint64_t *wide = malloc(8 * n), before = 0;
    float *floats = malloc(4 * n);
    CHECK(made && a && wide && floats);
    for (size_t i = 0; i < n; i++) {
        made[i] = value(shape, i, n, p) << TAG_BITS | i % TAGS;
        before += mixed(made[i]);
        wide[i] = made[i];
        floats[i] = (float)key(made[i]);
    }

    memcpy(a, made, 4 * n);
    sort_narrow(a, n, s);
    check(shape, n, p, a, before, 0);

    memcpy(a, made, 4 * n);
    CHECK_EQ(sort_narrow_stably(a, n, s), 0);
    check(shape, n, p, a, before, 1);

    CHECK_EQ(sched_sort(made, n, sizeof *made, compare, s), 0);
    check(shape, n, p, made, before, 1);

    CHECK_EQ(sort_wide_stably(wide, n, s), 0);
    sort_floats(floats, n, s);
    for (size_t i = 0; i < n; i++) {
        CHECK_EQ(wide[i], a[i]);
        CHECK_EQ((uint32_t)floats[i], key(a[i]));
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
    for (int shape = 0; shape < SHAPES; shape++)
        for (size_t i = (size_t)(shape + first) % step; i < count; i += step)
            if (shape >= DIP || i < step)
                one((enum shape)shape, n, places[i], s);
}

static void root(void *closure, struct scheduler *s)
{
    /* Groups of 32 elements are compared together, and 16384 by one worker; or up to 131072 numbers. */
    static const size_t sizes[] = {2, 9, 34, 41, 42, 73, 75, 106, 200};
    for (int shape = 0; shape < SHAPES; shape++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (size_t p = 1; p < sizes[i]; p += shape < DIP ? sizes[i] : 1)
                one((enum shape)shape, sizes[i], p, s);
    in_places(40001 + 2 * 16384, 0, s);
    in_places(131073 + 16384, SMALLER, s);
}

int main(void)
{
    CHECK_EQ(sched_init(0, 0, root, NULL), 0);
    return 0;
}
