/* fibers.h: the common part of the programs that run n equal tasks, each of which sleeps and yields
 * for some turns. */

#ifndef FIBERS_H
#define FIBERS_H

#include "fiber.h"

static long n, turns = 10;
static long *seen; /* the turns that each has had */

static void fiber(void *closure, struct scheduler *s)
{
    fiber_turns(closure, turns, FIBER_SLEEP, s);
}

static void fibers_in_turn(void *closure)
{
    (void)closure;
    for (long i = 0; i < n; i++)
        fiber(&seen[i], NULL);
}

/* One run, which `first` starts. */
static inline void fibers_run(struct bench *b, taskfunc first)
{
    memset(seen, 0, (size_t)n * sizeof *seen);
    bench_run(b, first, fibers_in_turn, NULL);
}

/* Checks the run and prints its line; `besides` tasks ran in addition to the n. */
static inline void fibers_line(struct bench *b, long besides)
{
    uint64_t sum;
    int right = fiber_right(seen, n, turns, &sum);
    bench_line(b, n + besides, sum, right);
}

#endif
