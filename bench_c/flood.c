/* flood.c: one task spawns n empty tasks: one producer, and all other workers consume.
 *
 * The worst case for thieves that take one task at a time, and a test of the wake-ups: the
 * others sleep when the flood begins. */

#include "bench.h"
#include "kernels.h"

static struct flood flood;

static void drop(void *closure, struct scheduler *s)
{
    (void)s;
    ++*flood_at(&flood, (long)(intptr_t)closure);
}

static void first_task(void *closure, struct scheduler *s)
{
    (void)closure;
    for (long i = 0; i < flood.n; i++)
        bench_spawn(drop, (void *)(intptr_t)i, s);
}

/* volatile: the compiler must not know which function the serial version calls. */
static taskfunc volatile call = drop;

static void serial_run(void *closure)
{
    (void)closure;
    for (long i = 0; i < flood.n; i++)
        call((void *)(intptr_t)i, NULL);
}

static const struct bench_about about = {
    "flood", "spawns (one task more runs, the first)", 1L << 21, 1, 1L << 30, NULL,
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    flood = flood_new(b.n);

    for (int r = 0; r < b.repetitions; r++) {
        flood_clear(&flood);

        bench_run(&b, first_task, serial_run, NULL);

        uint64_t sum;
        int right = flood_right(&flood, &sum);
        bench_line(&b, b.n + 1, sum, right);
    }
    free(flood.seen);
    return bench_end(&b);
}
