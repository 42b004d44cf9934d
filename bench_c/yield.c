/* yield.c: two tasks that yield in turn, n times together: on one worker each yield is a switch to the
 * other, through the queue. With more workers than one each has its own, and finds nothing to yield to. */

#include "bench.h"

#include <sched_tasks.h>

enum { TASKS = 2 };

/* A cache line a task. */
static struct {
    long done;
    char pad[56];
} seen[TASKS];
static long each;

static void yields(void *closure, struct scheduler *s)
{
    long i = (long)(intptr_t)closure;
    for (long k = 0; k < each; k++) {
        seen[i].done++;
        sched_task_yield(s);
    }
}

static void first_task(void *closure, struct scheduler *s)
{
    (void)closure;
    for (long i = 0; i < TASKS; i++)
        bench_spawn(yields, (void *)(intptr_t)i, s);
}

/* volatile: the serial version, too, calls a function it does not know. */
static void count(long i)
{
    seen[i].done++;
}

static void (*volatile call)(long) = count;

static void serial_run(void *closure)
{
    (void)closure;
    for (long k = 0; k < each; k++)
        for (long i = 0; i < TASKS; i++)
            call(i);
}

static const struct bench_about about = {
    "yield", "yields of two tasks together", 1L << 20, 2, 1L << 40, NULL,
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    each = b.n / TASKS;

    for (int r = 0; r < b.repetitions; r++) {
        memset(seen, 0, sizeof seen);

        bench_run(&b, first_task, serial_run, NULL);

        int right = 1;
        for (int i = 0; i < TASKS; i++)
            right = right && seen[i].done == each;
        bench_field(&b, "ns_a_yield", 1e9 * b.wall / (double)(TASKS * each));
        bench_line(&b, TASKS + 1, bench_mix((uint64_t)each), right);
    }
    return bench_end(&b);
}
