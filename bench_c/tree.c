/* tree.c: a binary tree of empty tasks: the price of a spawn and of a task, nothing else.
 *
 * Task i spawns the tasks 2i and 2i + 1, as in a heap. A thief that takes the oldest task takes half of what is left.
 * This is the best case of work stealing, with very few steals. A task only counts itself in a byte of its own, so that
 * a task that was lost or run twice shows. */

#include "bench.h"
#include "kernels.h"

static long last; /* tasks are numbered 1 to last */
static unsigned char *seen;

static void node(void *closure, struct scheduler *s)
{
    intptr_t i = (intptr_t)closure;
    seen[i]++;
    if (2 * i <= last)
        bench_spawn(node, (void *)(2 * i), s);
    if (2 * i + 1 <= last)
        bench_spawn(node, (void *)(2 * i + 1), s);
}

static void serial(intptr_t i)
{
    seen[i]++;
    if (2 * i <= last)
        serial(2 * i);
    if (2 * i + 1 <= last)
        serial(2 * i + 1);
}

static void serial_run(void *closure)
{
    serial((intptr_t)closure);
}

static const struct bench_about about = {
    "tree", "spawns (one task more runs, the first)", 1L << 22, 0, 1L << 30, NULL,
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    last = b.n + 1;
    seen = bench_alloc((size_t)last + 1, 1);

    for (int r = 0; r < b.repetitions; r++) {
        memset(seen, 0, (size_t)last + 1);

        bench_run(&b, node, serial_run, (void *)(intptr_t)1);

        uint64_t sum;
        int right = tree_right(seen, last, &sum);
        bench_line(&b, last, sum, right);
    }
    free(seen);
    return bench_end(&b);
}
