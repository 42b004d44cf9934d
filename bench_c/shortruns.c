/* shortruns.c: many calls of sched_init in a row, each with a tree of 64 tasks of about a microsecond.
 *
 * This measures the cost of a run beside its tasks: creating or waking threads, and the time until
 * idle workers notice a task, and notice that the run is over. Here the idle policies differ most.
 * */

#include "bench.h"

enum { TASKS = 64, STEPS = 2000 };

/* One cache line for each task, so that the check costs no traffic between workers. */
static struct {
    unsigned count;
    uint64_t value;
    char pad[64 - 2 * sizeof(uint64_t)];
} seen[TASKS + 1];

static void work(intptr_t i)
{
    seen[i].value = bench_turns(seen[i].value + (uint64_t)i, STEPS);
    seen[i].count++;
}

static void node(void *closure, struct scheduler *s)
{
    intptr_t i = (intptr_t)closure;
    work(i);
    if (2 * i <= TASKS)
        bench_spawn(node, (void *)(2 * i), s);
    if (2 * i + 1 <= TASKS)
        bench_spawn(node, (void *)(2 * i + 1), s);
}

static void serial(intptr_t i)
{
    work(i);
    if (2 * i <= TASKS)
        serial(2 * i);
    if (2 * i + 1 <= TASKS)
        serial(2 * i + 1);
}

static const struct bench_about about = {
    "shortruns", "runs of 64 tasks", 1000, 1, 10000000, NULL,
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    void *root = (void *)(intptr_t)1;

    for (int r = 0; r < b.repetitions; r++) {
        memset(seen, 0, sizeof seen);

        bench_clock_start(&b);
        for (long run = 0; run < b.n; run++) {
            if (b.serial)
                serial(1);
            else
                bench_init(&b, node, root);
        }
        bench_clock_stop(&b);

        uint64_t sum = 0;
        int right = 1;
        for (long i = 1; i <= TASKS; i++) {
            sum += bench_mix((uint64_t)i) * seen[i].count + seen[i].value;
            right = right && seen[i].count == b.n;
        }
        bench_line(&b, b.n * TASKS, sum, right);
    }
    return bench_end(&b);
}
