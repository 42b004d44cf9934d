/* sched_sort gives what a stable sort gives: for elements of 1 to 100 bytes and some much larger,
 * at any alignment, in any order at first; and touches nothing beside the array.
 * ctest: static
 * ctest: matrix few refuse idle=park
 * ctest: matrix few deque=split,mutex idle=nap,spin threads=4
 */
#include "shapes.h"
#include <sched_tasks.h>

static size_t size;

/* The order is that of the first byte; of the first four, where there are so many. The other bytes
 * tell equal elements apart. */
static uint32_t key(const void *element)
{
    uint32_t value = 0;
    memcpy(&value, element, size >= 8 ? 4 : 1);
    return value;
}

static int compare(const void *a, const void *b)
{
    uint32_t x = key(a), y = key(b);
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
                        && (j == end || key(a + index[i] * size) <= key(a + index[j] * size));
                spare[k] = left ? index[i++] : index[j++];
            }
        }
        memcpy(index, spare, n * sizeof *index);
    }
}

static void one(enum shape shape, size_t n, size_t offset, struct scheduler *s)
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
    CHECK_EQ(sched_sort(a, n, size, compare, s), 0);
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

static void root(void *closure, struct scheduler *s)
{
    for (size = 1; size <= 100; size++) /* one size at a time: compare knows it, too */
        for (enum shape shape = 0; shape < SHAPES_OF_KEYS; shape++)
            one(shape, 30 + size, size % 8, s);
    static const size_t sizes[] = {1, 3, 6, 4, 8, 16, 12, 24, 32, 200, 3000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size = sizes[i];
        for (size_t n = 0; n < 40; n++)
            one(n % 2 ? RANDOM : FEW, n, 0, s);
        for (enum shape shape = 0; shape < SHAPES_OF_KEYS; shape++) {
            one(shape, (size > 1000 ? 500 : 2201) / SMALLER, i % 2, s);
        }
    }
    for (size = 4; size <= 8; size += 4)
        one(RANDOM, 50021 / SMALLER, size / 5, s);
    size = 8;
    for (enum shape shape = 0; shape < SHAPES_OF_KEYS; shape++) /* more than one worker checks at a time */
        one(shape, 20021, 0, s);
    static const enum shape ties[] = {FEW, SIXTY, GROUPS};
    for (size_t i = 0; i < sizeof ties / sizeof *ties; i++) { /* two parts, and four */
        one(ties[i], 100021 / SMALLER, 0, s);
        one(ties[i], 200021 / SMALLER, 0, s);
    }
}

int main(void)
{
    CHECK_EQ(sched_init(4, 10, root, NULL), 0);
    return 0;
}
