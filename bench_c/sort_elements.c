/* sort_elements.c: sched_sort.h and sched_stable_sort.h on elements other than ints: tasks= are elements; serial is
 * libc's qsort. -d chooses the elements: doubles; pairs, of 16 bytes; wide, of 1,000 bytes; strings, pointers to 16
 * characters, whose number is known; stable-doubles and so on by the stable sort. */

#include "bench.h"

#include <sched_sort.h>

struct pair {
    uint64_t key, number;
};

struct wide {
    uint64_t key, rest[124];
};

typedef const char *string;

enum { DIGITS = 16 };

/* The functions of one type. LESS compares *a with *b; MAKE fills *e with an element for `key`, and KEY is a number that
 * another element has hardly ever. */
#define ELEMENTS(name, T, LESS, MAKE, KEY)                                                                             \
    SCHED_SORT(sort_##name, T, LESS)                                                                                   \
    SCHED_STABLE_SORT(sort_stable_##name, T, LESS)                                                                     \
                                                                                                                       \
    static int before_##name(const T *a, const T *b)                                                                   \
    {                                                                                                                  \
        return LESS;                                                                                                   \
    }                                                                                                                  \
                                                                                                                       \
    static int compare_##name(const void *a, const void *b)                                                            \
    {                                                                                                                  \
        return before_##name((const T *)b, (const T *)a) - before_##name((const T *)a, (const T *)b);                  \
    }                                                                                                                  \
                                                                                                                       \
    static void run_##name(void *base, size_t n, int stable, struct scheduler *s)                                      \
    {                                                                                                                  \
        if (!stable)                                                                                                   \
            sort_##name((T *)base, n, s);                                                                              \
        else if (sort_stable_##name((T *)base, n, s) != 0)                                                             \
            bench_die("sort_stable_" #name);                                                                           \
    }                                                                                                                  \
                                                                                                                       \
    static void make_##name(void *base, size_t i, uint64_t key, char *room)                                            \
    {                                                                                                                  \
        T *e = (T *)base + i;                                                                                          \
        (void)room;                                                                                                    \
        MAKE;                                                                                                          \
    }                                                                                                                  \
                                                                                                                       \
    /* The sum of what is made of the keys; *rises: whether the elements are in order. */                              \
    static uint64_t sum_##name(const void *base, size_t n, int *rises)                                                 \
    {                                                                                                                  \
        uint64_t sum = 0;                                                                                              \
        *rises = 1;                                                                                                    \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const T *e = (const T *)base + i;                                                                          \
            sum += bench_mix((uint64_t)(KEY));                                                                         \
            *rises &= i == 0 || !before_##name(e, e - 1);                                                              \
        }                                                                                                              \
        return sum;                                                                                                    \
    }

static void write_digits(char *to, uint64_t key)
{
    for (int i = 0; i < DIGITS; i++)
        to[i] = (char)('a' + (key >> 4 * (DIGITS - 1 - i) & 15));
    to[DIGITS] = '\0';
}

static uint64_t read_digits(const char *from)
{
    uint64_t key = 0;
    for (int i = 0; i < DIGITS; i++)
        key = key << 4 | (uint64_t)(from[i] - 'a');
    return key;
}

ELEMENTS(doubles, double, *a < *b, *e = (double)(key >> 12), *e)
ELEMENTS(pairs, struct pair, a->key < b->key, *e = ((struct pair){key, i}), e->key ^ e->number << 40)
ELEMENTS(wide, struct wide, a->key < b->key, memset(e, 1, sizeof *e); e->key = key, e->key ^ e->rest[123])
ELEMENTS(strings, string, memcmp(*a, *b, DIGITS) < 0, write_digits(room, key); *e = room, read_digits(*e))

#define ROW(name, T) {#name, sizeof(T), run_##name, make_##name, sum_##name, compare_##name}

static const struct kind {
    const char *name;
    size_t size;
    void (*sort)(void *, size_t, int, struct scheduler *);
    void (*make)(void *, size_t, uint64_t, char *);
    uint64_t (*sum)(const void *, size_t, int *);
    int (*compare)(const void *, const void *);
} kinds[] = {ROW(doubles, double), ROW(pairs, struct pair), ROW(wide, struct wide), ROW(strings, string)};

struct elements {
    const struct kind *kind;
    void *base;
    size_t n;
    int stable;
};

static void first_task(void *closure, struct scheduler *s)
{
    struct elements *e = closure;
    e->kind->sort(e->base, e->n, e->stable, s);
}

static void serial_run(void *closure)
{
    struct elements *e = closure;
    qsort(e->base, e->n, e->kind->size, e->kind->compare);
}

static const struct bench_about about = {
    "sort_elements", "elements", 64 * 1024, 1, 1L << 26,
    "doubles, pairs, wide (1,000 bytes), strings; stable-doubles, ... (by a stable sort); wide is the default",
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    const char *name = b.data != NULL ? b.data : "wide";
    struct elements e = {NULL, NULL, (size_t)b.n, strncmp(name, "stable-", 7) == 0};
    name += e.stable ? 7 : 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0)
            e.kind = &kinds[i];
    if (e.kind == NULL)
        bench_refuse(&b, b.data, "wanted are %s", about.data);
    e.base = bench_alloc(e.n, e.kind->size);
    char *room = bench_alloc(e.n, DIGITS + 1);

    for (int r = 0; r < b.repetitions; r++) {
        int right;
        for (size_t i = 0; i < e.n; i++)
            e.kind->make(e.base, i, bench_mix(i + 1), room + i * (DIGITS + 1));
        uint64_t before = e.kind->sum(e.base, e.n, &right);

        bench_run(&b, first_task, serial_run, &e);

        right = e.kind->sum(e.base, e.n, &right) == before && right;
        bench_line(&b, b.n, before, right);
    }
    free(room);
    free(e.base);
    return bench_end(&b);
}
