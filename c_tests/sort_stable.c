/* SCHED_STABLE_SORT gives what a stable sort gives: for all sizes up to 200 and some much larger, numbers, small and large
 * elements and pointers, in any order at first; touches nothing beside the array; makes few comparisons also where an
 * adversary answers them; and without memory leaves the array as it was.
 * ctest: static debug
 * ctest: matrix few threads=1,2,4,16 */
#include "alloc.h"
#include "shapes.h"
#include "killer.h"
#include <sched_sort.h>

/* The key is the order; the number tells equal elements apart. */
typedef struct {
    uint32_t key, number;
} pair;

typedef struct {
    char text[41];
    pair p;
} medium;

typedef struct {
    char text[203];
    pair p;
} large;

typedef const pair *pointer;

#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 wide;
#else
typedef unsigned long long wide;
#endif

/* Numbers show that they are stable if only a part of them is compared. */
SCHED_STABLE_SORT(sort_numbers, uint64_t, *a >> 32 < *b >> 32)
SCHED_STABLE_SORT(sort_wide, wide, (uint32_t)(*a >> 32) < (uint32_t)(*b >> 32))
SCHED_STABLE_SORT(sort_pairs, pair, a->key < b->key)
SCHED_STABLE_SORT(sort_medium, medium, a->p.key < b->p.key)
SCHED_STABLE_SORT(sort_large, large, a->p.key < b->p.key)
SCHED_STABLE_SORT(sort_pointers, pointer, (*a)->key < (*b)->key)
SCHED_STABLE_SORT(sort_falling, uint64_t, *a >> 32 > *b >> 32)

/* Fills an array of T between two guards, sorts it and checks it. SET gives the element *e the key and the number of p,
 * KEY and NUMBER are those of *e, and ORDERED says whether last_key may stand before key. */
#define CHECK_SORT(T, sort, ORDERED, SET, KEY, NUMBER)                                                                 \
    do {                                                                                                               \
        T *room = malloc((n + 2) * sizeof(T)), *e = room, guard;                                                       \
        uint32_t last_key = 0, last_number = 0;                                                                        \
        CHECK(room != NULL);                                                                                           \
        memset(&guard, 0x5a, sizeof guard);                                                                            \
        memcpy(&room[0], &guard, sizeof guard);                                                                        \
        memcpy(&room[n + 1], &guard, sizeof guard);                                                                    \
        for (const pair *p = pairs; p < pairs + n; p++) {                                                              \
            e++;                                                                                                       \
            SET;                                                                                                       \
        }                                                                                                              \
        CHECK_EQ(sort(room + 1, n, s), 0);                                                                             \
        for (size_t i = 0; i < n; i++) { /* as many different elements as there were, each with its key */             \
            e = &room[i + 1];                                                                                          \
            uint32_t key = KEY, number = NUMBER;                                                                       \
            CHECK(number < n && pairs[number].key == key);                                                             \
            CHECK(i == 0 || (last_key == key ? last_number < number : (ORDERED)));                                     \
            last_key = key;                                                                                            \
            last_number = number;                                                                                      \
        }                                                                                                              \
        CHECK(memcmp(&room[0], &guard, sizeof guard) == 0 && memcmp(&room[n + 1], &guard, sizeof guard) == 0);         \
        free(room);                                                                                                    \
    } while (0)

#define SET_NUMBER (*e = (uint64_t)p->key << 32 | p->number)
#define SET_STRUCT (memset(e, (int)p->number, sizeof *e), e->p = *p)
#define NUMBER_OF_STRUCT (e->text[9] == (char)e->p.number ? e->p.number : UINT32_MAX)

static void sort_all(enum shape shape, size_t n, struct scheduler *s)
{
    pair *pairs = malloc((n + 1) * sizeof *pairs);
    uint64_t seed = n + 1;
    CHECK(pairs != NULL);
    for (size_t i = 0; i < n; i++) {
        pairs[i].key = key_of(shape, i, n, &seed);
        pairs[i].number = (uint32_t)i;
    }
    CHECK_SORT(uint64_t, sort_numbers, last_key < key, SET_NUMBER, (uint32_t)(*e >> 32), (uint32_t)*e);
    CHECK_SORT(pair, sort_pairs, last_key < key, *e = *p, e->key, e->number);
    CHECK_SORT(pointer, sort_pointers, last_key < key, *e = p, (*e)->key, (*e)->number);
    if (n <= 20000) {
        CHECK_SORT(uint64_t, sort_falling, last_key > key, SET_NUMBER, (uint32_t)(*e >> 32), (uint32_t)*e);
        CHECK_SORT(wide, sort_wide, last_key < key, SET_NUMBER, (uint32_t)(*e >> 32), (uint32_t)*e);
        CHECK_SORT(medium, sort_medium, last_key < key, SET_STRUCT, e->p.key, NUMBER_OF_STRUCT);
        CHECK_SORT(large, sort_large, last_key < key, SET_STRUCT, e->p.key, NUMBER_OF_STRUCT);
    }
    free(pairs);
}

/* A permutation whose cycles no saved element cuts, and one of a single cycle. */
static void cycles(struct scheduler *s)
{
    enum { N = 5000 };
    large *v = calloc(N, sizeof *v);
    CHECK(v != NULL);
    for (unsigned stride = 1; stride < N; stride = stride * 3 + 1) {
        for (unsigned i = 0; i < N; i++) {
            v[i].p.key = stride == 1 ? i ^ 1 : (i + stride) % N;
            v[i].p.number = i;
        }
        CHECK_EQ(sort_large(v, N, s), 0);
        for (unsigned i = 0; i < N; i++)
            CHECK(v[i].p.key == i && v[i].p.number == (stride == 1 ? i ^ 1 : (i + N - stride) % N));
    }
    free(v);
}

static void no_memory(struct scheduler *s)
{
    enum { N = 3000 };
    static uint64_t a[N];
    static large b[N];
    for (int i = 0; i < N; i++)
        a[i] = b[i].p.key = (uint64_t)i * 7919 % N;
    for (int i = 0; i < N; i++)
        a[i] <<= 32;
    atomic_store(&left, 0);
    CHECK_ERRNO(sort_numbers(a, N, s), ENOMEM);
    CHECK_ERRNO(sort_large(b, N, s), ENOMEM);
    for (int i = 0; i < N; i++)
        CHECK(a[i] >> 32 == (uint64_t)i * 7919 % N && b[i].p.key == a[i] >> 32);
    CHECK_EQ(sort_numbers(a, 20, s), 0); /* few elements, and those in order, need none */
    for (uint64_t i = 0; i < N; i++)
        a[i] = (N - i) << 32;
    CHECK_EQ(sort_numbers(a, N, s), 0);
    CHECK_EQ(sort_numbers(a, N, s), 0);
    for (uint64_t i = 0; i < N; i++)
        CHECK_EQ(a[i] >> 32, i + 1);
    atomic_store(&left, LONG_MAX);
    CHECK_ERRNO(sort_numbers(a, SIZE_MAX / 8 - 1, NULL) , ENOMEM);
}

SCHED_STABLE_SORT(sort_killing, int, killer(*a, *b))

static void adversary(struct scheduler *s)
{
    int a[KILLED], room[KILLED];
    solid = candidate = 0;
    comparisons = 0;
    for (int i = 0; i < KILLED; i++) {
        a[i] = i;
        worth[i] = GAS;
    }
    /* Without the look whether all is sorted already; fewer elements than two workers sort. */
    sort_killing_part_(a, room, KILLED, 2 * sched_sort_limit_(KILLED), NULL, s);
    CHECK(comparisons < 6L * KILLED * 11); /* log2 of 2000 is 11 */
    for (int i = 1; i < KILLED; i++)
        CHECK(worth[a[i - 1]] <= worth[a[i]]);
}

static void root(void *closure, struct scheduler *s)
{
    static const size_t sizes[] = {255, 400, 1029, 2047, 2048, 2049, 5000, 20000, 150001};
    for (int shape = 0; shape < SHAPES; shape++) {
        for (size_t n = 0; n <= 200; n += closure ? 1 : 13)
            sort_all((enum shape)shape, n, s);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes && sizes[i] <= 150001 / SMALLER; i++)
            sort_all((enum shape)shape, sizes[i], s);
    }
    cycles(s);
    if (closure != NULL) {
        adversary(s);
        no_memory(s);
    }
}

int main(void)
{
    static int whole;
    CHECK_EQ(sched_init(0, 0, root, &whole), 0);
    root(NULL, NULL); /* in the default pool */
    return 0;
}
