/* align.c: a local alignment of two sequences (align.h): a task for each block of its table, which
 * names the three blocks that it reads. */

#include "align.h"
#include "bench.h"

#include <sched_tasks.h>

static struct align al;

static void fill(void *closure, struct scheduler *s)
{
    (void)s;
    align_fill(&al, closure);
}

static void first_task(void *closure, struct scheduler *s)
{
    sched_group group = SCHED_GROUP_INIT;
    (void)closure;
    for (long i = 1; i <= al.blocks; i++)
        for (long j = 1; j <= al.blocks; j++) {
            float *own = align_block(&al, i, j);
            sched_dep deps[] = {{own, SCHED_OUT}, {align_block(&al, i - 1, j), SCHED_IN},
                                {align_block(&al, i, j - 1), SCHED_IN}, {align_block(&al, i - 1, j - 1), SCHED_IN}};
            if (sched_group_spawn_after(&group, fill, own, 4, deps, s) != 0)
                bench_die("sched_group_spawn_after");
        }
    if (sched_group_wait(&group, s) != 0)
        bench_die("sched_group_wait");
}

static void serial_run(void *closure)
{
    (void)closure;
    for (long i = 1; i <= al.blocks; i++)
        for (long j = 1; j <= al.blocks; j++)
            align_fill(&al, align_block(&al, i, j));
}

static const struct bench_about about = {
    "align", "letters", 2048, 1, 1L << 15, "rows and columns of a block (default 32)",
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    al = align_new(&b);

    for (int r = 0; r < b.repetitions; r++) {
        align_clear(&al);

        bench_run(&b, first_task, serial_run, NULL);

        uint64_t sum;
        int right = align_right(&al, &sum);
        bench_line(&b, al.blocks * al.blocks, sum, right);
    }
    align_free(&al);
    return bench_end(&b);
}
