/* nqueens.c: queens on a board, a task for each placement: an irregular tree of tiny tasks.
 *
 * There is no cut-off: a task looks at one board, forks a task for each queen that the next row can take, and adds
 * their results. Its own work takes some nanoseconds.
 *
 * nqueens_typed.c is this program with sched_typed.h. */

#include "bench.h"
#include "kernels_fork.h"

#ifndef QUEENS_NAME
#define QUEENS_NAME "nqueens"
#include <sched_tasks.h>
#endif

struct placement {
    sched_task task;
    struct board board;
    long solutions;
};

static unsigned full; /* one bit for each column */

#ifdef LIBSCHED_SCHED_TYPED_H

/* (Three words, not a struct: a struct would be stored in parts and loaded as a whole. Processors cannot forward several
 * stores to one larger load; they wait until the stores are in the cache.) */
SCHED_TASK(long, queens, unsigned, columns, unsigned, left, unsigned, right)
{
    if (columns == full)
        return 1;
    struct board board = {columns, left, right};
    queens_task next[QUEENS_MOST];
    int count = 0;
    for (unsigned open = board_open(board, full); open != 0; open &= open - 1) {
        struct board child = board_with(board, open & -open);
        SCHED_FORK(queens, &next[count++], child.columns, child.left, child.right);
    }
    long sum = 0;
    while (count > 0)
        sum += SCHED_JOIN(queens, &next[--count]);
    return sum;
}

static void place(void *closure, struct scheduler *s)
{
    struct placement *p = closure;
    p->solutions = queens(p->board.columns, p->board.left, p->board.right, s);
}

#else

static void place(void *closure, struct scheduler *s)
{
    struct placement *p = closure;
    if (p->board.columns == full) {
        p->solutions = 1;
        return;
    }
    struct placement next[QUEENS_MOST];
    int count = 0;
    for (unsigned open = board_open(p->board, full); open != 0; open &= open - 1) {
        struct placement *child = &next[count++];
        child->board = board_with(p->board, open & -open);
        sched_fork(&child->task, place, child, s);
    }
    long sum = 0;
    while (count > 0) {
        struct placement *child = &next[--count];
        sched_join(&child->task, s);
        sum += child->solutions;
    }
    p->solutions = sum;
}

#endif

static void serial_run(void *closure)
{
    struct placement *p = closure;
    p->solutions = queens_count(full, 0, 0, 0);
}

static const struct bench_about about = {
    QUEENS_NAME, "queens", 12, 1, QUEENS_MOST, NULL,
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    full = (1u << b.n) - 1;

    for (int r = 0; r < b.repetitions; r++) {
        struct placement first;
        memset(&first, 0, sizeof first);

        bench_run(&b, place, serial_run, &first);

        bench_line(&b, queens_tasks(full, first.board), (uint64_t)first.solutions,
                   first.solutions == queens_solutions[b.n]);
    }
    return bench_end(&b);
}
