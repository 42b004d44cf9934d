/* typed_sorts: the sorts that sched_sort.h compiles into the program. */
#include "case.h"
#include "shapes.h"
#include "killer.h"
#include <math.h>
#include <sched_sort.h>
#include <stdatomic.h>

/* sort_typed: sched_sort.h: sorts numbers, pairs, strings and large elements, whatever their order
 * at first and wherever they lie; touches nothing beside the array; loses nothing where the
 * comparison is no order; and makes few comparisons also where an adversary answers them.
 * ctest: static debug
 * ctest: matrix few idle=park threads=1,2,4,16 */
typedef struct {
    uint32_t key, number;
} pair;

typedef struct {
    char text[203];
    unsigned char key;
} sort_typed_large;

SCHED_SORT(sort_bytes, unsigned char, *a < *b)
SCHED_SORT(sort_ints, int, *a < *b)
SCHED_SORT(sort_falling, long long, *a > *b)
SCHED_SORT(sort_doubles, double, *a < *b)
SCHED_SORT(sort_pairs, pair, a->key < b->key)
SCHED_SORT(sort_large, sort_typed_large, a->key < b->key)
SCHED_SORT(sort_strings, const char *, strcmp(*a, *b) < 0)

/* A sum that does not depend on the order. */
static uint64_t mixed(uint64_t x)
{
    x *= 0x9e3779b97f4a7c15;
    return x ^ x >> 29;
}

/* Fills an array of T between two guards, sorts it and checks it. SET gives the element *e the value v, ORDERED says whether
 * *d may stand before *e, and HASH is a number of *e. */
#define SORT_TYPED_CHECK_SORT(T, sort, ORDERED, SET, HASH)                                                                        \
    do {                                                                                                               \
        uint64_t before = 0, after = 0;                                                                                \
        T *room = malloc((n + 2) * sizeof(T)), guard;                                                                  \
        CHECK(room != NULL);                                                                                           \
        memset(&guard, 0x5a, sizeof guard);                                                                            \
        memcpy(&room[0], &guard, sizeof guard);                                                                        \
        memcpy(&room[n + 1], &guard, sizeof guard);                                                                    \
        for (size_t i = 0; i < n; i++) {                                                                               \
            T *e = &room[i + 1];                                                                                       \
            uint32_t v = key_of(shape, i, n, &seed);                                                                    \
            SET;                                                                                                       \
            before += mixed(HASH);                                                                                     \
        }                                                                                                              \
        sort(room + 1, n, s);                                                                                          \
        for (size_t i = 0; i < n; i++) {                                                                               \
            T *e = &room[i + 1], *d = &room[i];                                                                        \
            after += mixed(HASH);                                                                                      \
            CHECK(i == 0 || (ORDERED));                                                                                \
        }                                                                                                              \
        CHECK_EQ(before, after);                                                                                       \
        CHECK(memcmp(&room[0], &guard, sizeof guard) == 0 && memcmp(&room[n + 1], &guard, sizeof guard) == 0);         \
        free(room);                                                                                                    \
    } while (0)

typedef const char *string;

static char names[1000][8];

static void sort_all(enum shape shape, size_t n, uint64_t seed, struct scheduler *s)
{
    SORT_TYPED_CHECK_SORT(unsigned char, sort_bytes, *d <= *e, *e = (unsigned char)v, *e);
    SORT_TYPED_CHECK_SORT(int, sort_ints, *d <= *e, *e = (int)v, (uint64_t)*e);
    SORT_TYPED_CHECK_SORT(long long, sort_falling, *d >= *e, *e = v, (uint64_t)*e);
    SORT_TYPED_CHECK_SORT(double, sort_doubles, *d <= *e, *e = v / 3.0, (uint64_t)(*e * 3));
    SORT_TYPED_CHECK_SORT(pair, sort_pairs, d->key <= e->key, (e->key = v, e->number = (uint32_t)i), (uint64_t)e->key << 32 | e->number);
    SORT_TYPED_CHECK_SORT(string, sort_strings, strcmp(*d, *e) <= 0, *e = names[v % 1000], (uint64_t)(uintptr_t)*e);
    if (n <= 20000)
        SORT_TYPED_CHECK_SORT(sort_typed_large, sort_large, d->key <= e->key,
                   (memset(e, (int)(v >> 8), sizeof *e), e->key = (unsigned char)v), e->key + 256u * (unsigned char)e->text[9]);
}

/* NaNs are neither before nor after anything. */
static void not_an_order(struct scheduler *s)
{
    for (size_t n = 2; n <= 5000; n = n * 3 / 2 + 1) {
        double *a = malloc(n * sizeof *a);
        CHECK(a != NULL);
        size_t nans = 0, found = 0;
        uint64_t seed = n, before = 0, after = 0;
        for (size_t i = 0; i < n; i++) {
            int is_nan = next_random(&seed) >> 62 == 0;
            nans += (size_t)is_nan;
            a[i] = is_nan ? NAN : (double)(next_random(&seed) >> 40);
            before += is_nan ? 0 : mixed((uint64_t)a[i]);
        }
        sort_doubles(a, n, s);
        for (size_t i = 0; i < n; i++) {
            found += isnan(a[i]) != 0;
            after += isnan(a[i]) ? 0 : mixed((uint64_t)a[i]);
        }
        CHECK_EQ(nans, found);
        CHECK_EQ(before, after);
        free(a);
    }
}

SCHED_SORT(sort_killing, int, killer(*a, *b))

static void adversary(void)
{
    int a[KILLED];
    for (int i = 0; i < KILLED; i++) {
        a[i] = i;
        worth[i] = GAS;
    }
    sort_killing_serial_(a, KILLED, sched_sort_limit_(KILLED), 0); /* without the look whether all is sorted already */
    CHECK(comparisons < 6L * KILLED * 11); /* log2 of 2000 is 11 */
    for (int i = 1; i < KILLED; i++)
        CHECK(worth[a[i - 1]] <= worth[a[i]]);
}

static void sort_typed_root(void *closure, struct scheduler *s)
{
    static const size_t sizes[] = {0,  1,  2,  3,  5,  19, 20, 21,   22,   47,   100,  129,
                                   130, 400, 2047, 2048, 2049, 5000, 20000, 100000};
    for (int i = 0; i < 1000; i++)
        snprintf(names[i], sizeof names[i], "%d", i);
    for (int shape = 0; shape < SHAPES_OF_ALL; shape++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes && sizes[i] <= 100000 / SMALLER; i++)
            sort_all((enum shape)shape, sizes[i], i + 1, s);
    not_an_order(s);
    if (closure != NULL)
        adversary();
}

CASE(sort_typed)
{
    CHECK_EQ(sched_init(0, 0, sort_typed_root, names), 0);
    sort_typed_root(NULL, NULL); /* in the default pool */
}

/* sort_typed_wild: SCHED_SORT and SCHED_STABLE_SORT return if the comparison contradicts itself.
 * They touch nothing beside the array, and leave the elements of the array in some order: none is
 * lost, and none is there twice.
 * ctest: debug
 * ctest: matrix few idle=park threads=1,4 */
enum { N = 100000 / SMALLER };

typedef struct {
    int value, more[2];
} small;

typedef struct {
    int value, more[59];
} wild_large;

static atomic_ulong calls;

static int at_random(int x, int y)
{
    uint64_t seed = atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed) * 2654435761u + 99991;
    return next_random(&seed) >> 63 != 0;
}

static int in_turn(int x, int y)
{
    return atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed) % 2 != 0;
}

static int always(int x, int y)
{
    return 1;
}

static int at_most(int x, int y)
{
    return x <= y;
}

static int around(int x, int y) /* stone, paper, scissors */
{
    return (x % 3 + 1) % 3 == y % 3;
}

static int nearly(int x, int y) /* a long run at first, and then none */
{
    return x < N / 2 ? x < y : at_random(x, y);
}

#define SORTS(wild)                                               \
    SCHED_SORT(wild##_ints, int, wild(*a, *b))                    \
    SCHED_SORT(wild##_small, small, wild(a->value, b->value))     \
    SCHED_SORT(wild##_large, wild_large, wild(a->value, b->value))     \
    SCHED_STABLE_SORT(wild##_stable_ints, int, wild(*a, *b))      \
    SCHED_STABLE_SORT(wild##_stable_small, small, wild(a->value, b->value)) \
    SCHED_STABLE_SORT(wild##_stable_large, wild_large, wild(a->value, b->value))

/* The comparison of the moment: compilers take long for the sorts of each, and their code differs by a call only. But
 * that of the mistake that is made most, <= for <, is compiled in, too. */
static int (*chosen)(int x, int y);

SORTS(chosen)
SORTS(at_most)

static char present[N];

/* The element e has the value i at first; VALUE is its value. */
#define WILD_CHECK_SORT(T, SORT, VALUE)                                \
    do {                                                          \
        T *room = malloc((n + 2) * sizeof(T)), *e = room;         \
        CHECK(room != NULL);                                      \
        memset(room, 0x5a, (n + 2) * sizeof(T));                  \
        for (size_t i = 0; i < n; i++) {                          \
            e = &room[i + 1];                                     \
            VALUE = (int)i;                                       \
        }                                                         \
        e = room + 1;                                             \
        SORT;                                                     \
        memset(present, 0, n);                                    \
        for (e = room + 1; e <= room + n; e++) {                  \
            CHECK(VALUE >= 0 && (size_t)VALUE < n && !present[VALUE]); \
            present[VALUE] = 1;                                   \
        }                                                         \
        e = room;                                                 \
        CHECK_EQ(VALUE, 0x5a5a5a5a);                              \
        e = &room[n + 1];                                         \
        CHECK_EQ(VALUE, 0x5a5a5a5a);                              \
        free(room);                                               \
    } while (0)

#define CHECK_SORTS(wild)                                                  \
    do {                                                                   \
        WILD_CHECK_SORT(int, wild##_ints(e, n, s), *e);                         \
        WILD_CHECK_SORT(small, wild##_small(e, n, s), e->value);                \
        WILD_CHECK_SORT(int, CHECK_EQ(wild##_stable_ints(e, n, s), 0), *e);     \
        WILD_CHECK_SORT(small, CHECK_EQ(wild##_stable_small(e, n, s), 0), e->value); \
        if (n <= 10000) {                                                  \
            WILD_CHECK_SORT(wild_large, wild##_large(e, n, s), e->value);            \
            WILD_CHECK_SORT(wild_large, CHECK_EQ(wild##_stable_large(e, n, s), 0), e->value); \
        }                                                                  \
    } while (0)

static void wild_root(void *closure, struct scheduler *s)
{
    int (*const all[])(int, int) = {at_random, in_turn, always, at_most, around, nearly};
    for (size_t n = 1; n <= N; n = n < 200 ? n + 1 : n < N && n * 5 > N ? N : n * 5) {
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
            chosen = all[i];
            CHECK_SORTS(chosen);
        }
        CHECK_SORTS(at_most);
    }
}

CASE(sort_typed_wild)
{
    CHECK_EQ(sched_init(0, 0, wild_root, NULL), 0);
}
