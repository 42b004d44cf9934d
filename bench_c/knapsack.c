/* knapsack.c: a speculative search: the task that finds the packing cancels the others.
 *
 * -n searches one after the other, each a group of a thousand attempts; tasks= counts the searches. An attempt that has
 * begun asks now and then whether its group is cancelled. The serial version makes one attempt after the other, on
 * average half of them. */

#include "bench.h"
#include "kernels_fork.h"

#include <sched_tasks.h>

struct search {
    sched_group group;
    struct knapsack knapsack;
    uint64_t *found;
};

static struct search search; /* the only one at a time */

static int unwanted(void *context)
{
    return sched_group_cancelled(context);
}

static void attempt(void *closure, struct scheduler *s)
{
    (void)s;
    uint64_t taken =
        knapsack_attempt(&search.knapsack, (long)(intptr_t)closure, unwanted, &search.group);
    if (taken != 0) {
        *search.found = taken; /* there is one packing, so no other task writes */
        sched_group_cancel(&search.group);
    }
}

static const struct bench_about about = {
    "knapsack", "searches", 32, 1, 1000000, NULL,
};

static void searches(void *closure, struct scheduler *s)
{
    const struct bench *b = closure;
    uint64_t *found = search.found;
    for (long i = 0; i < b->n; i++) {
        search = (struct search){SCHED_GROUP_INIT, knapsack_new((uint64_t)i), found + i};
        for (long k = 0; k < KNAPSACK_ATTEMPTS && !sched_group_cancelled(&search.group); k++)
            if (sched_group_spawn(&search.group, attempt, (void *)(intptr_t)k, s) != 0 &&
                errno != ECANCELED)
                bench_die("sched_group_spawn");
        if (sched_group_wait(&search.group, s) != 0 && errno != ECANCELED)
            bench_die("sched_group_wait");
    }
    search.found = found;
}

static void serial_run(void *closure)
{
    const struct bench *b = closure;
    for (long i = 0; i < b->n; i++) {
        struct knapsack k = knapsack_new((uint64_t)i);
        search.found[i] = knapsack_serial(&k);
    }
}

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    uint64_t *found = bench_alloc((size_t)b.n, sizeof *found);

    for (int r = 0; r < b.repetitions; r++) {
        memset(found, 0, (size_t)b.n * sizeof *found);
        search.found = found;

        bench_run(&b, searches, serial_run, &b);

        uint64_t sum;
        int right = knapsack_right(found, b.n, &sum);
        bench_line(&b, b.n, sum, right);
    }
    free(found);
    return bench_end(&b);
}
