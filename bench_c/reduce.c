/* reduce.c: a sum of tiny terms, divided and combined by the library: tasks= are terms. */

#include "bench.h"
#include "kernels_fork.h"

#include <sched_tasks.h>

#ifndef REDUCE
#define REDUCE_NAME "reduce"
#define REDUCE sched_reduce
#endif

struct sum {
    size_t n;
    uint64_t value;
};

static void body(size_t lo, size_t hi, void *accumulator, void *context, struct scheduler *s)
{
    (void)context;
    (void)s;
    *(uint64_t *)accumulator += reduce_range(lo, hi);
}

static void combine(void *into, const void *from, void *context)
{
    (void)context;
    *(uint64_t *)into += *(const uint64_t *)from;
}

static void first_task(void *closure, struct scheduler *s)
{
    struct sum *sum = closure;
    const uint64_t zero = 0;
    if (REDUCE(0, sum->n, 0, sizeof zero, &zero, body, combine, NULL, &sum->value, s) != 0)
        bench_die(REDUCE_NAME);
}

static void serial_run(void *closure)
{
    struct sum *sum = closure;
    sum->value = reduce_range(0, sum->n);
}

static const struct bench_about about = {
    REDUCE_NAME, "terms", 100000000, 1, 1L << 40, NULL,
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    uint64_t wanted = reduce_range(0, (size_t)b.n);

    for (int r = 0; r < b.repetitions; r++) {
        struct sum sum = {(size_t)b.n, 0};

        bench_run(&b, first_task, serial_run, &sum);

        bench_line(&b, b.n, sum.value, sum.value == wanted);
    }
    return bench_end(&b);
}
