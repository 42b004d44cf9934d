/* alloc.h: the C library's allocation functions fail where the test says so, also for libsched. */
#ifndef ALLOC_H
#define ALLOC_H

#include "check.h"
#include <stdatomic.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static atomic_long left = LONG_MAX; /* allocations before the first that fails; that and all further ones fail */
static int only_one;                /* further ones do not fail: `left` becomes negative */
static atomic_int failed;           /* an allocation has failed */

/* Called once by each allocation. */
static int refused(void)
{
    long before = only_one || atomic_load(&left) > 0 ? atomic_fetch_sub(&left, 1) : 0;
    if (only_one ? before != 0 : before > 0)
        return 0;
    failed = 1;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size)
{
    return refused() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return refused() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *at, size_t size)
{
    return refused() ? NULL : __libc_realloc(at, size);
}

void *aligned_alloc(size_t align, size_t size)
{
    return refused() ? NULL : __libc_memalign(align, size);
}

int posix_memalign(void **at, size_t align, size_t size)
{
    *at = refused() ? NULL : __libc_memalign(align, size);
    return *at ? 0 : ENOMEM;
}

#endif
