/* outside_flood.c: threads of the program's own, outside of any task, hand over n empty tasks and
 * wait for them: outside.h. Ways:
 *
 *   group   sched_group_spawn with NULL, a group for each thread
 *   pool    sched_pool_submit, and a sched_pool_wait
 *   task    a task of sched_init does what a thread does by group, for comparison
 *
 * A first flood, which is not timed, makes the pool and touches its memory. */

#include "bench.h"
#include "outside.h"

#include <sched_tasks.h>

static struct flood flood;
static struct sched_pool *pool;

static void drop(void *closure, struct scheduler *s)
{
    (void)s;
    ++*flood_at(&flood, (long)(intptr_t)closure);
}

static void spawn_all(long lo, long hi, struct scheduler *s)
{
    sched_group group = SCHED_GROUP_INIT;
    for (long i = lo; i < hi; i++)
        if (sched_group_spawn(&group, drop, (void *)(intptr_t)i, s) != 0)
            bench_die("sched_group_spawn");
    if (sched_group_wait(&group, s) != 0)
        bench_die("sched_group_wait");
}

static void by_group(long lo, long hi)
{
    spawn_all(lo, hi, NULL);
}

static void by_pool(long lo, long hi)
{
    for (long i = lo; i < hi; i++)
        if (sched_pool_submit(pool, drop, (void *)(intptr_t)i) != 0)
            bench_die("sched_pool_submit");
}

static void pool_wait(void)
{
    if (sched_pool_wait(pool) != 0)
        bench_die("sched_pool_wait");
}

static void first_task(void *closure, struct scheduler *s)
{
    (void)closure;
    spawn_all(0, flood.n, s);
}

/* volatile: the compiler must not know which function the serial version calls. */
static taskfunc volatile call = drop;

static void serially(long lo, long hi)
{
    for (long i = lo; i < hi; i++)
        call((void *)(intptr_t)i, NULL);
}

static const struct bench_about about = {
    "outside_flood", "tasks of all threads", 200000, 1, 1L << 30,
    "WAY-THREADS: group, pool or task; group-1 is the default",
};

/* Hands over all tasks in the way `o`, with the clock. */
static void run(struct bench *b, const struct outside *o)
{
    flood_clear(&flood);
    if (b->serial)
        outside_run(b, o->threads, serially, NULL);
    else if (strcmp(o->way, "task") == 0)
        bench_run(b, first_task, NULL, NULL);
    else if (strcmp(o->way, "pool") == 0)
        outside_run(b, o->threads, by_pool, pool_wait);
    else
        outside_run(b, o->threads, by_group, NULL);
}

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    struct outside o = outside_new(&b, "group-1");
    int by_the_pool = strcmp(o.way, "pool") == 0;
    if (!by_the_pool && strcmp(o.way, "group") != 0 && (strcmp(o.way, "task") != 0 || o.threads != 1))
        bench_refuse(&b, b.data, "group, pool or task-1 is wanted");
    flood = flood_new(b.n);
    bench_default_pool(&b);
    if (!b.serial && by_the_pool) {
        struct sched_options options = {.size = sizeof options, .nthreads = b.threads};
        pool = sched_pool_create(&options);
        if (pool == NULL)
            bench_die("sched_pool_create");
    }
    run(&b, &o);

    for (int r = 0; r < b.repetitions; r++) {
        run(&b, &o);

        uint64_t sum;
        int right = flood_right(&flood, &sum);
        bench_line(&b, b.n, sum, right);
    }
    if (pool != NULL && sched_pool_destroy(pool) != 0)
        bench_die("sched_pool_destroy");
    free(flood.seen);
    return bench_end(&b);
}
