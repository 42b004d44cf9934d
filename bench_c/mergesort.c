/* mergesort.c: sorts in halves, and merges in halves, too: nested joins.
 *
 * Both halves of a merge are tasks: the longer run is cut in the middle, and the other run at the place where the
 * middle element would stand. Otherwise the last merge would be serial. The number of tasks depends on the data; tasks=
 * counts the elements. */

#include "bench.h"
#include "kernels_fork.h"

#include <sched_tasks.h>

static void merge_task(void *closure, struct scheduler *s)
{
    struct runs runs = *(struct runs *)closure, greater;
    if (runs.nx + runs.ny <= MERGE_LEAF) {
        merge(runs.x, runs.nx, runs.y, runs.ny, runs.out);
        return;
    }
    sched_task task;
    runs_cut(&runs, &greater);
    sched_fork(&task, merge_task, &greater, s);
    merge_task(&runs, s);
    sched_join(&task, s);
}

struct part {
    int *a, *spare;
    long n;
    int away; /* the sorted part is to be in spare */
};

static void sort_task(void *closure, struct scheduler *s)
{
    struct part p = *(struct part *)closure;
    if (p.n <= MERGE_SORT_LEAF) {
        merge_sort(p.a, p.spare, p.n, p.away);
        return;
    }
    long half = p.n / 2;
    struct part left = {p.a, p.spare, half, !p.away};
    struct part right = {p.a + half, p.spare + half, p.n - half, !p.away};
    sched_task task;
    sched_fork(&task, sort_task, &right, s);
    sort_task(&left, s);
    sched_join(&task, s);
    struct runs runs = runs_of(p.away ? p.a : p.spare, half, p.n, p.away ? p.spare : p.a);
    merge_task(&runs, s);
}

static void serial_run(void *closure)
{
    struct part *p = closure;
    merge_sort(p->a, p->spare, p->n, p->away);
}

static const struct bench_about about = {
    "mergesort", "elements", 1024 * 1024, 1, 1L << 30, NULL,
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    long n = b.n;
    struct part all = {bench_alloc((size_t)n, sizeof(int)), bench_alloc((size_t)n, sizeof(int)), n, 0};
    memset(all.spare, 0, (size_t)n * sizeof(int)); /* maps its pages before the clock runs */

    for (int r = 0; r < b.repetitions; r++) {
        bench_lcg(all.a, n);
        uint64_t before = bench_multiset(all.a, n);

        bench_run(&b, sort_task, serial_run, &all);

        int right = bench_sorted(all.a, n) && bench_multiset(all.a, n) == before;
        bench_line(&b, n, before, right);
    }
    free(all.a);
    free(all.spare);
    return bench_end(&b);
}
