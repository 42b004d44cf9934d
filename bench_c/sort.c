/* sort.c: the library's sort, a parallel qsort: tasks= are elements; serial is libc's qsort. -d chooses the numbers.
 *
 * sort_typed.c is this program with sched_sort.h: its sort is stable with -d stable only. */

#include "bench.h"
#include "kernels_fork.h"

#ifndef SORT_NAME
#define SORT_NAME "sort"
#include <sched_tasks.h>
#endif

struct numbers {
    int *a;
    size_t n;
    int stable;
};

#ifdef LIBSCHED_SCHED_SORT_H

SCHED_SORT(sort_ints, int, *a < *b)
SCHED_STABLE_SORT(sort_stable_ints, int, *a < *b)

static void first_task(void *closure, struct scheduler *s)
{
    struct numbers *numbers = closure;
    if (!numbers->stable)
        sort_ints(numbers->a, numbers->n, s);
    else if (sort_stable_ints(numbers->a, numbers->n, s) != 0)
        bench_die("sort_stable_ints");
}

#else

static void first_task(void *closure, struct scheduler *s)
{
    struct numbers *numbers = closure;
    if (sched_sort(numbers->a, numbers->n, sizeof(int), sort_compare, s) != 0)
        bench_die("sched_sort");
}

#endif

static void serial_run(void *closure)
{
    struct numbers *numbers = closure;
    qsort(numbers->a, numbers->n, sizeof(int), sort_compare);
}

static const struct bench_about about = {
    SORT_NAME, "elements", 1024 * 1024, 1, 1L << 30, SORT_DATA,
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    bench_take_main(&b);
    struct numbers numbers = {bench_alloc((size_t)b.n, sizeof(int)), (size_t)b.n, sort_is_stable(&b)};

    for (int r = 0; r < b.repetitions; r++) {
        sort_data(&b, numbers.a);
        uint64_t before = bench_multiset(numbers.a, b.n);

        bench_run(&b, first_task, serial_run, &numbers);

        int right = bench_sorted(numbers.a, b.n) && bench_multiset(numbers.a, b.n) == before;
        bench_line(&b, b.n, before, right);
    }
    free(numbers.a);
    return bench_end(&b);
}
