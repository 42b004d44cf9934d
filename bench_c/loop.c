/* loop.c: a loop of tiny iterations, divided by the library: tasks= are iterations.
 *
 * With one worker there are no thieves, and the loop must cost what the serial loop costs. */

#include "bench.h"
#include "kernels_fork.h"

#include <sched_tasks.h>

struct loop {
    size_t n;
    uint64_t found;
};

static void body(size_t lo, size_t hi, void *context, struct scheduler *s)
{
    (void)s;
    loop_range(lo, hi, context);
}

static void first_task(void *closure, struct scheduler *s)
{
    struct loop *loop = closure;
    if (sched_for(0, loop->n, 0, body, &loop->found, s) != 0)
        bench_die("sched_for");
}

static void serial_run(void *closure)
{
    struct loop *loop = closure;
    loop_range(0, loop->n, &loop->found);
}

static const struct bench_about about = {
    "loop", "iterations", 100000000, 1, 1L << 40, NULL,
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    uint64_t wanted = 0;
    loop_range(0, (size_t)b.n, &wanted);

    for (int r = 0; r < b.repetitions; r++) {
        struct loop loop = {(size_t)b.n, 0};

        bench_run(&b, first_task, serial_run, &loop);

        bench_line(&b, b.n, loop.found, loop.found == wanted);
    }
    return bench_end(&b);
}
