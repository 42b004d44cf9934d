/* loops_bench.h: the program around the loops of loops.h that the library divides. tasks= are iterations.
 *
 * With -s the loops are plain. The first loops, in which workers begin, count like the others. */

#ifndef LOOPS_BENCH_H
#define LOOPS_BENCH_H

#include "bench.h"
#include "loops.h"

static struct loops loops;
static long count;

static void serial_run(void *closure)
{
    (void)closure;
    loops_all(&loops, count);
}

/* The main function of the benchmark `name`; `first_task` runs `count` loops. */
static inline int loops_main(const char *name, enum loops_way way, taskfunc first_task, int argc, char **argv)
{
    const struct bench_about about = {
        name, name, 60, 1, 1000000,
        "SHAPE-WORK-ITERATIONS, the work in us: even, rising, falling, random or huge; even-1000-1000 is the default",
    };
    struct bench b = bench_start(&about, argc, argv);
    loops = loops_new(&b, way);
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

#endif
