/* idleburn.c: what workers without work cost: one task sleeps for n milliseconds.
 *
 * First it gives each worker a task, so that all have their threads; these tasks wait for each other. burn_percent is
 * the processor time of the whole process while the one task sleeps, as a share of one processor. */

#include "bench.h"
#include "kernels.h"

#include <stdatomic.h>

static long milliseconds, slept; /* slept: how long, by the task's clock */
static double burnt;             /* processor seconds during the sleep */
static int workers;
static atomic_int here;

static void meet(void *closure, struct scheduler *s)
{
    (void)closure;
    (void)s;
    here++;
    while (here < workers)
        bench_sleep(1);
}

static double processor_time(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return bench_seconds(u.ru_utime) + bench_seconds(u.ru_stime);
}

static void sleep_and_count(void)
{
    double before = processor_time();
    slept = bench_sleep(milliseconds);
    burnt = processor_time() - before;
}

static void nap(void *closure, struct scheduler *s)
{
    here = 0;
    for (int i = 1; i < workers; i++)
        bench_spawn(meet, NULL, s);
    meet(closure, s);
    sleep_and_count();
}

static void serial_run(void *closure)
{
    (void)closure;
    sleep_and_count();
}

static const struct bench_about about = {
    "idleburn", "milliseconds of sleep", 2000, 1, 1000000, NULL,
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    const char *kind = getenv("SCHED_KIND");
    milliseconds = b.n;
    workers = kind != NULL && strcmp(kind, "serial") == 0 ? 1 : bench_threads(&b);

    for (int r = 0; r < b.repetitions; r++) {
        slept = -1;

        bench_run(&b, nap, serial_run, NULL);

        bench_field(&b, "burn_percent", 100 * burnt / (1e-3 * (double)milliseconds));
        bench_line(&b, b.serial ? 1 : workers, bench_mix((uint64_t)b.n), slept >= b.n);
    }
    return bench_end(&b);
}
