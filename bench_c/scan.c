/* scan.c: the running sums of doubles, from one array to another: tasks= are numbers; serial is a plain loop. The numbers
 * are small and whole, so that all sums are exact. */

#include "bench.h"

#include <sched_tasks.h>

struct sums {
    const double *a;
    double *results;
    size_t n;
};

static void body(size_t lo, size_t hi, void *acc, const void *before, void *ctx, struct scheduler *s)
{
    struct sums *sums = ctx;
    double sum = 0;
    (void)s;
    if (before == NULL) {
        for (size_t i = lo; i < hi; i++)
            sum += sums->a[i];
    } else {
        const double until = *(const double *)before;
        sum = sums->a[lo];
        for (size_t i = lo; i + 1 < hi; i++) {
            double next = sum + sums->a[i + 1]; /* first, since the sums after it wait for it */
            sums->results[i] = until + sum;
            sum = next;
        }
        sums->results[hi - 1] = until + sum;
    }
    *(double *)acc = sum;
}

static void combine(void *into, const void *from, void *ctx)
{
    (void)ctx;
    *(double *)into += *(const double *)from;
}

static void first_task(void *closure, struct scheduler *s)
{
    struct sums *sums = closure;
    const double zero = 0;
    if (sched_scan(0, sums->n, 0, sizeof zero, &zero, body, combine, sums, NULL, s) != 0)
        bench_die("sched_scan");
}

static void serial_run(void *closure)
{
    struct sums *sums = closure;
    double sum = 0;
    for (size_t i = 0; i < sums->n; i++) {
        sum += sums->a[i];
        sums->results[i] = sum;
    }
}

static const struct bench_about about = {
    "scan", "numbers", 10000000, 1, 1L << 30, NULL,
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    size_t n = (size_t)b.n;
    double *a = bench_alloc(n, sizeof *a), *results = bench_alloc(n, sizeof *results);
    struct sums sums = {a, results, n};
    for (size_t i = 0; i < n; i++)
        a[i] = (double)(bench_mix(i) % 1024);

    for (int r = 0; r < b.repetitions; r++) {
        uint64_t sum = 0;
        size_t wrong = 0;
        memset(results, 0xff, n * sizeof *results); /* no number */

        bench_run(&b, first_task, serial_run, &sums);

        for (size_t i = 0; i < n; i++) {
            sum += (uint64_t)a[i];
            wrong += !(results[i] == (double)sum);
        }
        bench_line(&b, b.n, sum, wrong == 0);
    }
    free(a);
    free(results);
    return bench_end(&b);
}
