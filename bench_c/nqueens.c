/* nqueens.c: queens on a board: an irregular search tree, tasks down to a cut-off depth.
 *
 * Below row CUTOFF a task counts the solutions serially and adds them once. Tasks are a few
 * microseconds each and differ widely. */

#include "bench.h"

#include <stdatomic.h>

enum { CUTOFF = 4, MOST = 18 };

static const long solutions[MOST + 1] = {
    1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512,
    95815104, 666090624,
};

struct board {
    unsigned columns, left, right; /* taken: columns, and diagonals at this row */
    int row;
};

static unsigned full; /* a bit a column */
static atomic_long total;

static struct board with(struct board b, unsigned queen)
{
    b.columns |= queen;
    b.left = (b.left | queen) << 1;
    b.right = (b.right | queen) >> 1;
    b.row++;
    return b;
}

static long count(unsigned columns, unsigned left, unsigned right)
{
    if (columns == full)
        return 1;
    long sum = 0;
    for (unsigned open = full & ~(columns | left | right); open != 0; open &= open - 1) {
        unsigned queen = open & -open;
        sum += count(columns | queen, (left | queen) << 1, (right | queen) >> 1);
    }
    return sum;
}

static void place(void *closure, struct scheduler *s)
{
    struct board b = *(struct board *)closure;
    free(closure);
    if (b.row == CUTOFF) {
        long sum = count(b.columns, b.left, b.right);
        atomic_fetch_add_explicit(&total, sum, memory_order_relaxed);
        return;
    }
    for (unsigned open = full & ~(b.columns | b.left | b.right); open != 0; open &= open - 1) {
        struct board *next = bench_alloc(1, sizeof *next);
        *next = with(b, open & -open);
        bench_spawn(place, next, s);
    }
}

static void serial_run(void *closure)
{
    free(closure);
    atomic_store(&total, count(0, 0, 0));
}

/* The number of placements of up to CUTOFF queens: a task for each. */
static long count_tasks(struct board b)
{
    long sum = 1;
    if (b.row < CUTOFF)
        for (unsigned open = full & ~(b.columns | b.left | b.right); open != 0; open &= open - 1)
            sum += count_tasks(with(b, open & -open));
    return sum;
}

static const struct bench_about about = {
    "nqueens", "queens", 13, CUTOFF, MOST, NULL,
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
        bench_line(&b, count_tasks((struct board){0}), (uint64_t)found, found == solutions[b.n]);
    }
    return bench_end(&b);
}
