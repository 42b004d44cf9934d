/* sparselu.c: a sparse LU factorisation (sparselu.h) as tasks that name the blocks which they read and write. The first task adds
 * them in the order of the serial program, which calls the same functions. */

#include "bench.h"
#include "sparselu.h"

#include <sched_tasks.h>

static struct lu lu;

static void step(void *closure, struct scheduler *s)
{
    (void)s;
    lu_run(&lu, closure);
}

static void first_task(void *closure, struct scheduler *s)
{
    sched_group group = SCHED_GROUP_INIT;
    (void)closure;
    for (long i = 0; i < lu.steps; i++) {
        struct lu_step *st = &lu.step[i];
        sched_dep deps[3] = {{st->block, SCHED_INOUT}};
        size_t n = 1;
        if (st->left != NULL)
            deps[n++] = (sched_dep){st->left, SCHED_IN};
        if (st->above != NULL)
            deps[n++] = (sched_dep){st->above, SCHED_IN};
        if (sched_group_spawn_after(&group, step, st, n, deps, s) != 0)
            bench_die("sched_group_spawn_after");
    }
    if (sched_group_wait(&group, s) != 0)
        bench_die("sched_group_wait");
}

static void serial_run(void *closure)
{
    (void)closure;
    for (long i = 0; i < lu.steps; i++)
        lu_run(&lu, &lu.step[i]);
}

static const struct bench_about about = {
    "sparselu", "rows and columns of blocks", 50, 1, 400, "rows and columns of a block (default 16)",
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    lu = lu_new(&b);

    for (int r = 0; r < b.repetitions; r++) {
        lu_clear(&lu);

        bench_run(&b, first_task, serial_run, NULL);

        uint64_t sum;
        int right = lu_right(&lu, &sum);
        bench_line(&b, lu.steps, sum, right);
    }
    lu_free(&lu);
    return bench_end(&b);
}
