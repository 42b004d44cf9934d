/* null.h: loops on the default pool, for its tests. */
#ifndef NULL_H
#define NULL_H

#include "check.h"
#include <sched_tasks.h>
#include <stdatomic.h>

enum { NUMBERS = 1000 };

static inline void null_add(size_t lo, size_t hi, void *sum, struct scheduler *s)
{
    CHECK(s != NULL);
    for (size_t i = lo; i < hi; i++)
        atomic_fetch_add((atomic_long *)sum, (long)i);
}

/* Checks that the default pool, or the caller's run, works. */
static inline void null_works(void)
{
    atomic_long sum = 0;
    CHECK_EQ(sched_for(0, NUMBERS, 7, null_add, (void *)&sum, NULL), 0);
    CHECK_EQ(sum, NUMBERS * (NUMBERS - 1) / 2);
}

#endif
