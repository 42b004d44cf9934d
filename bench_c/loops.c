/* loops.c: loops whose iterations take unequal times, divided by sched_for with grain 0. */

#include "loops_bench.h"

#include <sched_tasks.h>

static void body(size_t lo, size_t hi, void *context, struct scheduler *s)
{
    (void)s;
    loops_range(context, lo, hi);
}

static void first_task(void *closure, struct scheduler *s)
{
    (void)closure;
    for (long k = 0; k < count; k++) {
        double start = loops_begin(&loops, k);
        if (sched_for(0, (size_t)loops.iterations, 0, body, &loops, s) != 0)
            bench_die("sched_for");
        loops_took(&loops, k, start);
    }
}

int main(int argc, char **argv)
{
    return loops_main("loops", LOOPS_STORED, first_task, argc, argv);
}
