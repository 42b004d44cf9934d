/* sched_spawn_copy: the task gets a copy of the argument, of any size up to the most, aligned
 * for any type and independent of the original and of all other copies; it may change it.
 * ctest: static
 * ctest: matrix threads=1,4 stats=2571
 * ctest: matrix idle=park threads=16 stats=2571 */
#include "marks.h"
#include <sched_tasks.h>
#include <stddef.h>

enum { ROUNDS = 10, SIZES = SCHED_COPY_MAX + 1, N = ROUNDS * SIZES };

static unsigned char byte(long i, size_t at)
{
    return (unsigned char)(31 * i + 7 * (long)at + (i >> 8));
}

/* The size of task i is i % SIZES; its first bytes, if there is room, are i. */
static void leaf(void *copy, struct scheduler *s)
{
    unsigned char *at = copy;
    short i;
    CHECK_EQ((uintptr_t)copy % _Alignof(max_align_t), 0);
    memcpy(&i, at, sizeof i);
    size_t size = (size_t)(i % SIZES);
    for (size_t k = sizeof i; k < size; k++)
        CHECK_EQ(at[k], byte(i, k));
    memset(at, 0xa5, size);
    if (i % 16 == 0) /* on a busy machine each yield may take 20 ms */
        sched_yield();
    for (size_t k = 0; k < size; k++)
        CHECK_EQ(at[k], 0xa5);
    mark(i);
}

static atomic_int smaller;

/* Too small to say which. */
static void small(void *copy, struct scheduler *s)
{
    CHECK(copy != NULL);
    CHECK_EQ((uintptr_t)copy % _Alignof(max_align_t), 0);
    atomic_fetch_add(&smaller, 1);
}

static void root(void *closure, struct scheduler *s)
{
    unsigned char argument[SCHED_COPY_MAX + 1]; /* copied from an odd address, too */
    for (long i = 0; i < N; i++) {
        unsigned char *from = argument + i % 2;
        size_t size = (size_t)(i % SIZES);
        short number = (short)i;
        for (size_t k = 0; k < size; k++)
            from[k] = byte(i, k);
        if (size >= sizeof number)
            memcpy(from, &number, sizeof number);
        CHECK_EQ(sched_spawn_copy(size >= sizeof number ? leaf : small, from, size, s), 0);
        memset(argument, 0xff, sizeof argument);
    }
}

int main(void)
{
    CHECK_EQ(sched_init(4, 10, root, NULL), 0);
    CHECK_EQ(smaller, 2 * ROUNDS);
    for (long i = 0; i < N; i++)
        if (i % SIZES < (long)sizeof(short))
            mark(i);
    check_marks(N);
    return 0;
}
