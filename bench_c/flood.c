/* flood.c: one task spawns n empty tasks: one producer, everybody else a consumer.
 *
 * The worst case for thieves that take one task at a time, and a test of the wake-ups: the
 * others sleep when the flood begins. Neighbouring tasks count themselves in bytes that
 * are n / 64 apart, so that two workers do not share a cache line for the check's sake. */

#include "bench.h"

enum { STRIPES = 64 };

static long n, height;
static unsigned char *seen;

static void drop(void *closure, struct scheduler *s)
{
    (void)s;
    long i = (long)(intptr_t)closure;
    seen[i % STRIPES * height + i / STRIPES]++;
}

static void first_task(void *closure, struct scheduler *s)
{
    (void)closure;
    for (long i = 0; i < n; i++)
        bench_spawn(drop, (void *)(intptr_t)i, s);
}

/* volatile: the serial version, too, calls a function it does not know. */
static taskfunc volatile call = drop;

static void serial_run(void *closure)
{
    (void)closure;
    for (long i = 0; i < n; i++)
        call((void *)(intptr_t)i, NULL);
}

static const struct bench_about about = {
    "flood", "spawns (one task more runs, the first)", 1L << 21, 1, 1L << 30, NULL,
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    n = b.n;
    height = (n + STRIPES - 1) / STRIPES;
    size_t size = (size_t)height * STRIPES;
    seen = bench_alloc(size, 1);

    for (int r = 0; r < b.repetitions; r++) {
        memset(seen, 0, size);

        bench_run(&b, first_task, serial_run, NULL);

        uint64_t sum = 0;
        int right = 1;
        for (long i = 0; i < n; i++) {
            unsigned char count = seen[i % STRIPES * height + i / STRIPES];
            sum += bench_mix((uint64_t)i) * count;
            right = right && count == 1;
        }
        bench_line(&b, n + 1, sum, right);
    }
    free(seen);
    return bench_end(&b);
}
