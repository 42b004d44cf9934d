/* reductions.c: sums whose terms take unequal times, divided and added up by sched_reduce with grain 0. */

#include "loops_bench.h"

#include <sched_tasks.h>

#ifndef REDUCE
#define REDUCE_NAME "reductions"
#define REDUCE sched_reduce
#endif

static void body(size_t lo, size_t hi, void *into, void *context, struct scheduler *s)
{
    (void)s;
    *(uint64_t *)into += loops_sum(context, lo, hi);
}

static void add(void *into, const void *from, void *context)
{
    (void)context;
    *(uint64_t *)into += *(const uint64_t *)from;
}

static void first_task(void *closure, struct scheduler *s)
{
    (void)closure;
    const uint64_t none = 0;
    for (long k = 0; k < count; k++) {
        double start = loops_begin(&loops, k);
        if (REDUCE(0, (size_t)loops.iterations, 0, sizeof none, &none, body, add, &loops, &loops.sums[k], s) != 0)
            bench_die(REDUCE_NAME);
        loops_took(&loops, k, start);
    }
}

int main(int argc, char **argv)
{
    return loops_main(REDUCE_NAME, LOOPS_ADDED, first_task, argc, argv);
}
