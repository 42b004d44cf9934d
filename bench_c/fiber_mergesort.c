/* fiber_mergesort.c: merge sort without a cut-off: each split makes tasks, and each task has one turn of sleep.
 *
 * The fiber scheduler's MergeSort: its 4/1024 is -t 4 -n 1024. A task spawns both halves and waits for them, down to
 * single elements: 2n - 1 tasks. */

#include "fiber.h"
#include "kernels_fork.h"

struct part {
    int *a, *spare;
    long n;
};

static long *seen; /* seen[i]: turns of the tasks whose part begins at element i */
static int *elements;

static void sort_part(void *closure, struct scheduler *s)
{
    struct part p = *(struct part *)closure;
    long half = p.n / 2;
    struct part left = {p.a, p.spare, half};
    struct part right = {p.a + half, p.spare + half, p.n - half};
    if (p.n > 1 && s == NULL) {
        sort_part(&left, NULL);
        sort_part(&right, NULL);
    } else if (p.n > 1) {
        sched_task first, second;
        sched_fork(&first, sort_part, &left, s);
        sched_fork(&second, sort_part, &right, s);
        sched_join(&second, s);
        sched_join(&first, s);
    }
    if (p.n > 1) {
        merge(p.a, half, p.a + half, p.n - half, p.spare);
        memcpy(p.a, p.spare, (size_t)p.n * sizeof *p.a);
    }
    /* Tasks that share a counter run one after the other: the larger part waits for the smaller. */
    fiber_turns(&seen[p.a - elements], 1, FIBER_SLEEP, s);
}

static void serial_run(void *closure)
{
    sort_part(closure, NULL);
}

static const struct bench_about about = {
    "fiber_mergesort", "elements", 1024, 1, 10000000, NULL,
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    long n = b.n;
    elements = bench_alloc((size_t)n, sizeof *elements);
    struct part all = {elements, bench_alloc((size_t)n, sizeof *elements), n};
    seen = bench_alloc((size_t)n, sizeof *seen);

    for (int r = 0; r < b.repetitions; r++) {
        bench_lcg(all.a, n);
        memset(seen, 0, (size_t)n * sizeof *seen);
        uint64_t before = bench_multiset(all.a, n);

        bench_run(&b, sort_part, serial_run, &all);

        long turns = 0;
        for (long i = 0; i < n; i++)
            turns += seen[i];
        int right = turns == 2 * n - 1 && bench_sorted(all.a, n) && bench_multiset(all.a, n) == before;
        bench_line(&b, 2 * n - 1, before, right);
    }
    free(all.a);
    free(all.spare);
    free(seen);
    return bench_end(&b);
}
