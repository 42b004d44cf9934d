/* outside_beside.c: a thread of the program's own has a long job done by the default pool, and main
 * needs loops of 20 us in 16 parts meanwhile, by the same pool: outside.h. How long does such a loop
 * take? The job is
 *
 *   loop   one sched_for over bodies of 1 ms            tree   forks and joins, 1 ms of work in each leaf
 *
 * With -s both are plain loops, each in its thread. */

#include "bench.h"
#include "outside.h"

#include <sched_tasks.h>

static void part(size_t lo, size_t hi, void *context, struct scheduler *s)
{
    (void)context;
    (void)s;
    beside_parts(lo, hi);
}

static void loop(void)
{
    if (sched_for(0, BESIDE_PARTS, 0, part, NULL, NULL) != 0)
        bench_die("sched_for");
}

static void body(size_t lo, size_t hi, void *context, struct scheduler *s)
{
    (void)context;
    (void)s;
    beside_bodies(lo, hi);
}

static void job_by_loop(void)
{
    if (sched_for(0, (size_t)beside.bodies, 1, body, NULL, NULL) != 0)
        bench_die("sched_for");
}

struct range {
    size_t lo, hi;
};

static void tree(void *closure, struct scheduler *s)
{
    struct range range = *(struct range *)closure;
    if (range.hi - range.lo == 1) {
        beside_bodies(range.lo, range.hi);
        return;
    }
    size_t half = range.lo + (range.hi - range.lo) / 2;
    struct range lower = {range.lo, half}, upper = {half, range.hi};
    sched_task task;
    sched_fork(&task, tree, &upper, s);
    tree(&lower, s);
    sched_join(&task, s);
}

static void job_by_tree(void)
{
    struct range all = {0, (size_t)beside.bodies};
    sched_group group = SCHED_GROUP_INIT;
    if (sched_group_spawn(&group, tree, &all, NULL) != 0)
        bench_die("sched_group_spawn");
    if (sched_group_wait(&group, NULL) != 0)
        bench_die("sched_group_wait");
}

static void serial_loop(void)
{
    beside_parts(0, BESIDE_PARTS);
}

static void serial_job(void)
{
    beside_bodies(0, (size_t)beside.bodies);
}

static const struct bench_about about = {
    "outside_beside", "bodies of 1 ms", 1000, 1, 1000000,
    "loop (the default) or tree",
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    int by_tree = b.data != NULL && strcmp(b.data, "tree") == 0;
    if (b.data != NULL && !by_tree && strcmp(b.data, "loop") != 0)
        bench_refuse(&b, b.data, "loop or tree is wanted");
    bench_default_pool(&b);
    beside_new(&b);

    for (int r = 0; r < b.repetitions; r++) {
        int right = b.serial ? beside_run(&b, serial_loop, serial_job)
                             : beside_run(&b, loop, by_tree ? job_by_tree : job_by_loop);
        bench_line(&b, b.n, bench_mix((uint64_t)b.n), right);
    }
    free(beside.seen);
    free(beside.took);
    return bench_end(&b);
}
