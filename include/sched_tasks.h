/* sched_tasks.h: what libsched offers beyond the course's sched.h.
 *
 * Made from src/ffi/tasks.rs by `make headers`; not to be edited. */

#ifndef LIBSCHED_SCHED_TASKS_H
#define LIBSCHED_SCHED_TASKS_H

#include <stddef.h>
#include "sched.h"

/* The most bytes that sched_spawn_copy copies. */
#define SCHED_COPY_MAX 256

#ifdef __cplusplus
extern "C" {
#endif

/* Adds the task f(copy, s) to the run of s, where copy points to a copy of the size bytes at
 * arg, and returns at once. The copy is made before it returns, is aligned for any type, and
 * is valid until f returns, which may change it. Nothing is to be freed.
 *
 * Returns 0, or -1 with errno: EINVAL (f or s is NULL, size is greater than SCHED_COPY_MAX, arg
 * is NULL and size is not 0, or the run of s has ended), EAGAIN (no memory for the copy or for
 * the queue to grow, or it holds qlen tasks already under SCHED_OVERFLOW=refuse: nothing has
 * changed).
 * Thread-safe. Cost: from a task of s, that of sched_spawn and some nanoseconds; no
 * allocation, once as many copies have been in use at the same time.
 *
 * Example:
 *
 *     struct range { double *a; size_t lo, hi; } upper = { a, mid, hi };
 *     if (sched_spawn_copy(work, &upper, sizeof upper, s) != 0)
 *         work(&upper, s); */
int sched_spawn_copy(taskfunc f, const void *arg, size_t size, struct scheduler *s);

#ifdef __cplusplus
}
#endif

#endif
