/* idleburn.c: what workers without work cost: one task sleeps for n milliseconds.
 *
 * burn_percent is the processor time of the whole process meanwhile, as a share of one
 * processor; the making and the ending of the threads are in it. */

#include "bench.h"
#include "kernels.h"

static long milliseconds, slept; /* slept: by the task, as it saw the clock */

static void nap(void *closure, struct scheduler *s)
{
    (void)closure;
    (void)s;
    slept = bench_sleep(milliseconds);
}

static void serial_run(void *closure)
{
    nap(closure, NULL);
}

static const struct bench_about about = {
    "idleburn", "milliseconds of sleep", 2000, 1, 1000000, NULL,
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    milliseconds = b.n;

    for (int r = 0; r < b.repetitions; r++) {
        slept = -1;

        bench_run(&b, nap, serial_run, NULL);

        double busy = bench_seconds(b.usage.ru_utime) + bench_seconds(b.usage.ru_stime);
        bench_field(&b, "burn_percent", 100 * busy / b.wall);
        bench_line(&b, 1, bench_mix((uint64_t)b.n), slept >= b.n);
    }
    return bench_end(&b);
}
