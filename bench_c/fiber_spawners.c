/* fiber_spawners.c: two tasks spawn: the first n others, the second another number of them.
 *
 * The fiber scheduler's DifferentSpawners: its 8/10000/100/10 is -t 8 -n 10000 -d 100/10. The workers that begin with
 * the two spawners have unequal loads: how soon are these balanced? */

#include "fibers.h"

struct spawner {
    long first, end; /* the tasks it spawns */
};

static struct spawner spawners[2];

static void spawn_all(void *closure, struct scheduler *s)
{
    struct spawner *mine = closure;
    for (long i = mine->first; i < mine->end; i++)
        bench_spawn(fiber, &seen[i], s);
}

static void spawn_both(void *closure, struct scheduler *s)
{
    (void)closure;
    for (int i = 0; i < 2; i++)
        bench_spawn(spawn_all, &spawners[i], s);
}

static const struct bench_about about = {
    "fiber_spawners", "tasks of the first spawner", 10000, 1, 10000000,
    "tasks of the second spawner / turns a task (default 100/10)",
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    long second = 100;
    fiber_numbers(&b, &second, &turns);
    n = b.n + second;
    spawners[0] = (struct spawner){0, b.n};
    spawners[1] = (struct spawner){b.n, n};
    seen = bench_alloc((size_t)n, sizeof *seen);

    for (int r = 0; r < b.repetitions; r++) {
        fibers_run(&b, spawn_both);
        fibers_line(&b, 3);
    }
    free(seen);
    return bench_end(&b);
}
