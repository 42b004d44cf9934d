/* reductions.h: the common part of the tests of both reductions. */

#ifndef REDUCTIONS_H
#define REDUCTIONS_H

#include "check.h"
#include <sched_tasks.h>
#include <stddef.h>

/* sched_reduce and sched_reduce_relaxed. */
typedef int reduction(size_t lo, size_t hi, size_t grain, size_t size, const void *identity,
                      void (*body)(size_t, size_t, void *, void *, struct scheduler *),
                      void (*combine)(void *, const void *, void *), void *ctx, void *result, struct scheduler *s);

static inline void count_bytes(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s)
{
    unsigned char *bytes = acc;
    CHECK_EQ((uintptr_t)acc % _Alignof(max_align_t), 0);
    for (size_t k = 0; k < *(size_t *)ctx; k++)
        bytes[k] = (unsigned char)(bytes[k] + (hi - lo) * (k + 1));
}

static inline void join_bytes(void *into, const void *from, void *ctx)
{
    unsigned char *a = into;
    const unsigned char *b = from;
    for (size_t k = 0; k < *(size_t *)ctx; k++)
        a[k] = (unsigned char)(a[k] + b[k]);
}

/* Values of this many bytes. The identity and what lies behind the result stay as they are. */
static inline void sized(reduction *reduce, size_t size, struct scheduler *s)
{
    unsigned char *zero = calloc(1, size), *result = malloc(size + 1);
    CHECK(zero && result);
    result[size] = 77;
    CHECK_EQ(reduce(5, 1005, 0, size, zero, count_bytes, join_bytes, &size, result, s), 0);
    for (size_t k = 0; k < size; k++)
        CHECK_EQ(result[k], (unsigned char)(1000 * (k + 1)));
    CHECK_EQ(result[size], 77);
    for (size_t k = 0; k < size; k++)
        CHECK_EQ(zero[k], 0);
    free(zero);
    free(result);
}

#endif
