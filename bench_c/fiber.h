/* fiber.h: the common part of the fiber scheduler's benchmarks. Their author compared nine ways to
 * schedule fibers that sleep and yield; here the fibers are tasks, and the parameters are the
 * author's.
 *
 * A turn of a task is a nanosleep of 2 ns and a yield. The kernel lengthens the sleep by the timer slack of the thread,
 * 50 us. So a turn takes its worker about that much time but little of a processor, and it pays to have more workers
 * than processors. */

#ifndef FIBER_H
#define FIBER_H

#include "bench.h"

#include <sched_tasks.h>

enum { FIBER_SLEEP = 2 }; /* nanoseconds */

static inline void fiber_sleep(long ns)
{
    struct timespec t = {ns / 1000000000, ns % 1000000000};
    if (nanosleep(&t, NULL) != 0)
        bench_die("nanosleep");
}

/* In a serial run s is NULL, and there is no task to yield to. */
static inline void fiber_yield(long times, struct scheduler *s)
{
    for (long i = 0; s != NULL && i < times; i++)
        sched_task_yield(s);
}

/* A task counts its turns in a counter of its own. */
static inline void fiber_turns(long *seen, long turns, long ns, struct scheduler *s)
{
    for (long i = 0; i < turns; i++) {
        fiber_sleep(ns);
        ++*seen;
        fiber_yield(1, s);
    }
}

/* True if each of n tasks has had all its turns. */
static inline int fiber_right(const long *seen, long n, long turns, uint64_t *sum)
{
    int right = 1;
    *sum = 0;
    for (long i = 0; i < n; i++) {
        *sum += bench_mix((uint64_t)i) * (uint64_t)seen[i];
        right = right && seen[i] == turns;
    }
    return right;
}

/* Reads the two numbers of "-d A/B"; without -d they keep their values. */
static inline void fiber_numbers(const struct bench *b, long *first, long *second)
{
    char end;
    if (b->data == NULL || (sscanf(b->data, "%ld/%ld%c", first, second, &end) == 2 &&
                            *first >= 0 && *second >= 0 && *first <= INT32_MAX && *second <= INT32_MAX))
        return;
    bench_refuse(b, b->data, "two numbers A/B are wanted");
}

#endif
