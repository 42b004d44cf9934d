/* guest.h: a sum by sched_reduce, for the tests of threads outside. */
#ifndef GUEST_H
#define GUEST_H

#include "pool.h"

static void sum_of(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s)
{
    for (size_t i = lo; i < hi; i++)
        *(long *)acc += (long)i;
}

static void plus(void *into, const void *from, void *ctx)
{
    *(long *)into += *(const long *)from;
}

#endif
