/* fiber_single.c: one task spawns n others, each of which sleeps and yields for some turns.
 *
 * The fiber scheduler's SingleSpawner: its 4/1000/10/1 is -t 4 -n 1000 -d 10/1. All tasks begin in one worker's queue:
 * how do the other workers get tasks, and what happens when the queue is full? */

#include "fibers.h"

static long spawner_yields;

static void spawner(void *closure, struct scheduler *s)
{
    (void)closure;
    for (long i = 0; i < n; i++) {
        bench_spawn(fiber, &seen[i], s);
        fiber_yield(spawner_yields, s);
    }
}

static const struct bench_about about = {
    "fiber_single", "tasks (one more runs, the spawner)", 1000, 1, 10000000,
    "turns a task / yields of the spawner after each spawn (default 10/0)",
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    fiber_numbers(&b, &turns, &spawner_yields);
    n = b.n;
    seen = bench_alloc((size_t)n, sizeof *seen);

    for (int r = 0; r < b.repetitions; r++) {
        fibers_run(&b, spawner);
        fibers_line(&b, 1);
    }
    free(seen);
    return bench_end(&b);
}
