/* grain.c: a binary tree of tasks that all compute for the same time: from which time on do threads pay?
 *
 * A task runs -d iterations of y = y * 3 + 1, each of which waits for the one before. This is the loop with which cal=
 * is measured. With a shared stack tasks must be so long that one worker computes while another holds the lock. */

#include "bench.h"
#include "kernels.h"

static long last, iterations = 100;
static unsigned char *seen;

static void work(long i)
{
    bench_turns((uint64_t)i, iterations);
    seen[i]++;
}

static void node(void *closure, struct scheduler *s)
{
    intptr_t i = (intptr_t)closure;
    if (2 * i <= last)
        bench_spawn(node, (void *)(2 * i), s);
    if (2 * i + 1 <= last)
        bench_spawn(node, (void *)(2 * i + 1), s);
    work(i);
}

static void serial_run(void *closure)
{
    for (long i = (intptr_t)closure; i <= last; i++)
        work(i);
}

static const struct bench_about about = {
    "grain", "tasks", 100000, 1, 1L << 30, "iterations a task (default 100)",
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    if (b.data != NULL)
        iterations = bench_number(&about, 'd', b.data, 0, 1000000000);
    last = b.n;
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
