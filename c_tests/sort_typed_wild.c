/* SCHED_SORT and SCHED_STABLE_SORT return if the comparison contradicts itself. They touch nothing beside the array, and
 * leave the elements of the array in some order: none is lost, and none is there twice.
 * ctest: debug
 * ctest: matrix few idle=park threads=1,4 */
#include "check.h"
#include <sched_sort.h>
#include <stdatomic.h>

enum { N = 100000 / SMALLER };

typedef struct {
    int value, more[2];
} small;

typedef struct {
    int value, more[59];
} large;

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
    SCHED_SORT(wild##_large, large, wild(a->value, b->value))     \
    SCHED_STABLE_SORT(wild##_stable_ints, int, wild(*a, *b))      \
    SCHED_STABLE_SORT(wild##_stable_small, small, wild(a->value, b->value)) \
    SCHED_STABLE_SORT(wild##_stable_large, large, wild(a->value, b->value))

/* The comparison of the moment: compilers take long for the sorts of each, and their code differs by a call only. But
 * that of the mistake that is made most, <= for <, is compiled in, too. */
static int (*chosen)(int x, int y);

SORTS(chosen)
SORTS(at_most)

static char present[N];

/* The element e has the value i at first; VALUE is its value. */
#define CHECK_SORT(T, SORT, VALUE)                                \
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
        CHECK_SORT(int, wild##_ints(e, n, s), *e);                         \
        CHECK_SORT(small, wild##_small(e, n, s), e->value);                \
        CHECK_SORT(int, CHECK_EQ(wild##_stable_ints(e, n, s), 0), *e);     \
        CHECK_SORT(small, CHECK_EQ(wild##_stable_small(e, n, s), 0), e->value); \
        if (n <= 10000) {                                                  \
            CHECK_SORT(large, wild##_large(e, n, s), e->value);            \
            CHECK_SORT(large, CHECK_EQ(wild##_stable_large(e, n, s), 0), e->value); \
        }                                                                  \
    } while (0)

static void root(void *closure, struct scheduler *s)
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

int main(void)
{
    CHECK_EQ(sched_init(0, 0, root, NULL), 0);
    return 0;
}
