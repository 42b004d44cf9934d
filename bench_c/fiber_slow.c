/* fiber_slow.c: as fiber_single.c, but the last worker's sleeps are longer, by the slowness.
 *
 * The fiber scheduler's SlowThread: its 4/1000/10/100 is -t 4 -n 1000 -d 10/100. Then the slow worker asks for 200 ns
 * instead of 2, and the kernel makes both about 50 us. With -d 10/2500000 the sleeps really differ: the slow worker
 * sleeps for 5 ms. slow_turns= counts the turns of the slow worker; an even share would be 1/P of all turns. */

#include "fibers.h"

static long slowness = 100;
static int slow_worker;
static long slow_turns; /* written by the slow worker alone */

static void slowed_fiber(void *closure, struct scheduler *s)
{
    long *mine = closure;
    for (long i = 0; i < turns; i++) {
        /* Asked in each turn, since the task may be on another worker after a yield. */
        int slow = sched_worker_index(s) == slow_worker;
        if (slow)
            slow_turns++;
        fiber_turns(mine, 1, slow ? FIBER_SLEEP * slowness : FIBER_SLEEP, s);
    }
}

static void spawner(void *closure, struct scheduler *s)
{
    (void)closure;
    slow_worker = sched_worker_count(s) - 1;
    for (long i = 0; i < n; i++)
        bench_spawn(slowed_fiber, &seen[i], s);
}

static const struct bench_about about = {
    "fiber_slow", "tasks (one more runs, the spawner)", 1000, 1, 10000000,
    "turns a task / how many times longer the last worker sleeps (default 10/100)",
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    fiber_numbers(&b, &turns, &slowness);
    n = b.n;
    seen = bench_alloc((size_t)n, sizeof *seen);

    for (int r = 0; r < b.repetitions; r++) {
        slow_turns = 0;
        fibers_run(&b, spawner);
        bench_field(&b, "slow_turns", (double)slow_turns);
        fibers_line(&b, 1);
    }
    free(seen);
    return bench_end(&b);
}
