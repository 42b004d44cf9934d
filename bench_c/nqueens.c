/* nqueens.c: queens on a board: an irregular search tree, tasks down to a cut-off depth.
 *
 * Below row QUEENS_CUTOFF a task counts the solutions serially and adds them once. Tasks are
 * a few microseconds each and differ widely. */

#include "bench.h"
#include "kernels.h"

#include <stdatomic.h>

static unsigned full; /* a bit a column */
static atomic_long total;

static void place(void *closure, struct scheduler *s)
{
    struct board b = *(struct board *)closure;
    free(closure);
    if (b.row == QUEENS_CUTOFF) {
        long sum = queens_count(full, b.columns, b.left, b.right);
        atomic_fetch_add_explicit(&total, sum, memory_order_relaxed);
        return;
    }
    for (unsigned open = board_open(b, full); open != 0; open &= open - 1) {
        struct board *next = bench_alloc(1, sizeof *next);
        *next = board_with(b, open & -open);
        bench_spawn(place, next, s);
    }
}

static void serial_run(void *closure)
{
    free(closure);
    atomic_store(&total, queens_count(full, 0, 0, 0));
}

static const struct bench_about about = {
    "nqueens", "queens", 13, QUEENS_CUTOFF, QUEENS_MOST, NULL,
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    full = (1u << b.n) - 1;

    for (int r = 0; r < b.repetitions; r++) {
        struct board *empty = bench_alloc(1, sizeof *empty);
        memset(empty, 0, sizeof *empty);
        atomic_store(&total, 0);

        bench_run(&b, place, serial_run, empty);

        long found = atomic_load(&total);
        bench_line(&b, queens_tasks(full, (struct board){0}), (uint64_t)found,
                   found == queens_solutions[b.n]);
    }
    return bench_end(&b);
}
