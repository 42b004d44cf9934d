/* tree.cpp: tree.c with sched::spawn: each task is a closure of one word, which the library copies. */

#include "bench.hpp"
#include "../kernels.h"

static long last; /* tasks are numbered 1 to last */
static unsigned char *seen;

static void node(long i)
{
    seen[i]++;
    if (2 * i <= last)
        sched::spawn([i] { node(2 * i); });
    if (2 * i + 1 <= last)
        sched::spawn([i] { node(2 * i + 1); });
}

static void serial(long i)
{
    seen[i]++;
    if (2 * i <= last)
        serial(2 * i);
    if (2 * i + 1 <= last)
        serial(2 * i + 1);
}

static const struct bench_about about = {
    "tree_cpp", "spawns (one task more runs, the first)", 1L << 22, 0, 1L << 30, nullptr,
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    last = b.n + 1;
    seen = (unsigned char *)bench_alloc((size_t)last + 1, 1);

    for (int r = 0; r < b.repetitions; r++) {
        memset(seen, 0, (size_t)last + 1);

        bench_run(&b, [] { serial(1); }, [] { node(1); });

        uint64_t sum;
        int right = tree_right(seen, last, &sum);
        bench_line(&b, last, sum, right);
    }
    free(seen);
    return bench_end(&b);
}
