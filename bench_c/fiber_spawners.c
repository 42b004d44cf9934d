/* fiber_spawners.c: two tasks spawn: the first n others, the second another number of them.
 *
 * The fiber scheduler's DifferentSpawners: its 8/10000/100/10 is -t 8 -n 10000 -d 100/10. The
 * workers that begin with the two spawners have unequal loads: who evens them out, and how soon? */

#include "fiber.h"

struct spawner {
    long first, end; /* the tasks it spawns */
};

static struct spawner spawners[2];
static long turns = 10;
static long *seen;

static void fiber(void *closure, struct scheduler *s)
{
    fiber_turns(closure, turns, FIBER_SLEEP, s);
}

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

static void serial_run(void *closure)
{
    (void)closure;
    for (long i = 0; i < spawners[1].end; i++)
        fiber(&seen[i], NULL);
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
    long all = b.n + second;
    spawners[0] = (struct spawner){0, b.n};
    spawners[1] = (struct spawner){b.n, all};
    seen = bench_alloc((size_t)all, sizeof *seen);

    for (int r = 0; r < b.repetitions; r++) {
        memset(seen, 0, (size_t)all * sizeof *seen);

        bench_run(&b, spawn_both, serial_run, NULL);

        uint64_t sum;
        int right = fiber_right(seen, all, turns, &sum);
        bench_line(&b, all + 3, sum, right);
    }
    free(seen);
    return bench_end(&b);
}
