/* loops.c: loops whose iterations take unequal times, divided by the library: loops.h. tasks= are iterations.
 *
 * sched_for, grain 0; with -s the loops are plain. The first loops, in which workers begin, count like the others. */

#include "bench.h"
#include "loops.h"

#include <sched_tasks.h>

static struct loops loops;
static long count;

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

static void serial_run(void *closure)
{
    (void)closure;
    for (long k = 0; k < count; k++) {
        double start = loops_begin(&loops, k);
        loops_range(&loops, 0, (size_t)loops.iterations);
        loops_took(&loops, k, start);
    }
}

static const struct bench_about about = {
    "loops", "loops", 60, 1, 1000000,
    "SHAPE-WORK-ITERATIONS, the work in us: even, rising, falling, random or huge; even-1000-1000 is the default",
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    loops = loops_new(&b);
    count = b.n;
    for (int r = 0; r < b.repetitions; r++) {
        int right = loops_serially(&loops, b.n);

        bench_run(&b, first_task, serial_run, NULL);

        loops_fields(&b, &loops, bench_threads(&b));
        bench_line(&b, b.n * loops.iterations, bench_mix((uint64_t)b.n), loops_right(&loops, b.n) && right);
    }
    loops_free(&loops);
    return bench_end(&b);
}
