/* pool.h: a pool for the tests of pools. */
#ifndef POOL_H
#define POOL_H

#include "check.h"
#include <sched_tasks.h>

static inline struct sched_pool *pool_of(int nthreads)
{
    struct sched_options options = {.size = sizeof options, .nthreads = nthreads};
    struct sched_pool *pool = sched_pool_create(&options);
    CHECK(pool != NULL);
    return pool;
}

/* Checks that the pool cannot be made: NULL, and errno. */
#define CHECK_NO_POOL(options, code)                   \
    do {                                               \
        errno = 0;                                     \
        CHECK(sched_pool_create(options) == NULL);     \
        CHECK_EQ(errno, code);                         \
    } while (0)

#endif
