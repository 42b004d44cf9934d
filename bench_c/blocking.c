/* blocking.c: n tasks that sleep 1 ms each, in a blocking section: while one sleeps, another thread runs the next.
 * -d plain: without sections, so that a worker sleeps with its task. -d empty: one task begins and ends n sections with
 * nothing between, which gives the price of one. If a section is refused, because there are as many threads as allowed,
 * the task sleeps without it; refused= counts these. */

#include "bench.h"

#include <errno.h>
#include <sched_tasks.h>
#include <stdatomic.h>

static const struct timespec nap = {0, 1000000};
static atomic_long slept, refused;
static long n;

static int begins(struct scheduler *s)
{
    if (sched_block_begin(s) == 0)
        return 1;
    if (errno != EAGAIN)
        bench_die("sched_block_begin");
    atomic_fetch_add(&refused, 1);
    return 0;
}

static void ends(struct scheduler *s)
{
    if (sched_block_end(s) != 0)
        bench_die("sched_block_end");
}

static void sleeps(void)
{
    struct timespec left = nap;
    while (nanosleep(&left, &left) != 0)
        ;
    atomic_fetch_add(&slept, 1);
}

static void plain(void *closure, struct scheduler *s)
{
    (void)closure;
    (void)s;
    sleeps();
}

static void section(void *closure, struct scheduler *s)
{
    (void)closure;
    int began = begins(s);
    sleeps();
    if (began)
        ends(s);
}

static void spawner(void *closure, struct scheduler *s)
{
    taskfunc *task = closure;
    for (long i = 0; i < n; i++)
        bench_spawn(*task, NULL, s);
}

static void empty(void *closure, struct scheduler *s)
{
    (void)closure;
    for (long i = 0; i < n; i++)
        if (begins(s))
            ends(s);
}

static void serial_run(void *closure)
{
    (void)closure;
    for (long i = 0; i < n; i++)
        sleeps();
}

static const struct bench_about about = {
    "blocking", "tasks that sleep 1 ms, or sections", 400, 1, 1L << 30,
    "section (default), plain (no sections) or empty (sections with nothing between)",
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    int is_empty = b.data != NULL && strcmp(b.data, "empty") == 0;
    taskfunc task = section;
    if (b.data != NULL && strcmp(b.data, "plain") == 0)
        task = plain;
    else if (b.data != NULL && strcmp(b.data, "section") != 0 && !is_empty)
        bench_refuse(&b, b.data, "section, plain or empty is wanted");
    n = b.n;

    for (int r = 0; r < b.repetitions; r++) {
        slept = refused = 0;

        bench_run(&b, is_empty ? empty : spawner, serial_run, &task);

        if (is_empty)
            bench_field(&b, "ns_a_section", 1e9 * b.wall / (double)n);
        else
            bench_field(&b, "tasks_per_second", (double)n / b.wall);
        bench_field(&b, "refused", (double)refused);
        long want = is_empty && !b.serial ? 0 : n;
        bench_line(&b, is_empty ? 1 : n + 1, bench_mix((uint64_t)n), slept == want);
    }
    return bench_end(&b);
}
