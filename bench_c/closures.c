/* closures.c: the cost of giving a task more than a pointer: 24 bytes of arguments.
 *
 * The tasks are those of tree.c, or with -d flood-… those of flood.c; they do nothing but count themselves. With malloc
 * the spawner allocates the arguments and the task frees them, as in most programs; with copy the library keeps a copy
 * of them (sched_spawn_copy). With none a task gets a number in the pointer, and the other arguments are in static
 * variables, as is possible in a program with one run at a time. */

#include "bench.h"
#include "kernels.h"

#include <sched_tasks.h>

struct arguments {
    long i, last;
    unsigned char *seen; /* one byte for each of the tasks 1 to last, for tree_right */
};

static struct arguments all; /* a task without arguments of its own finds them here */

/* --- none ---------------------------------------------------------------------- */

static void node_none(void *closure, struct scheduler *s)
{
    intptr_t i = (intptr_t)closure;
    all.seen[i]++;
    if (2 * i <= all.last)
        bench_spawn(node_none, (void *)(2 * i), s);
    if (2 * i + 1 <= all.last)
        bench_spawn(node_none, (void *)(2 * i + 1), s);
}

static void drop_none(void *closure, struct scheduler *s)
{
    (void)s;
    all.seen[(intptr_t)closure]++;
}

static void flood_none(void *closure, struct scheduler *s)
{
    all.seen[(intptr_t)closure]++;
    for (intptr_t i = 2; i <= all.last; i++)
        bench_spawn(drop_none, (void *)i, s);
}

/* --- malloc -------------------------------------------------------------------- */

static void spawn_malloc(taskfunc f, struct arguments a, struct scheduler *s)
{
    struct arguments *copy = bench_alloc(1, sizeof *copy);
    *copy = a;
    bench_spawn(f, copy, s);
}

static void node_malloc(void *closure, struct scheduler *s)
{
    struct arguments a = *(struct arguments *)closure;
    free(closure);
    a.seen[a.i]++;
    if (2 * a.i <= a.last)
        spawn_malloc(node_malloc, (struct arguments){2 * a.i, a.last, a.seen}, s);
    if (2 * a.i + 1 <= a.last)
        spawn_malloc(node_malloc, (struct arguments){2 * a.i + 1, a.last, a.seen}, s);
}

static void drop_malloc(void *closure, struct scheduler *s)
{
    (void)s;
    struct arguments *a = closure;
    a->seen[a->i]++;
    free(a);
}

static void flood_malloc(void *closure, struct scheduler *s)
{
    struct arguments a = *(struct arguments *)closure;
    free(closure);
    a.seen[a.i]++;
    for (long i = 2; i <= a.last; i++)
        spawn_malloc(drop_malloc, (struct arguments){i, a.last, a.seen}, s);
}

/* --- copy ---------------------------------------------------------------------- */

static void spawn_copy(taskfunc f, struct arguments a, struct scheduler *s)
{
    if (sched_spawn_copy(f, &a, sizeof a, s) != 0)
        bench_die("sched_spawn_copy");
}

static void node_copy(void *closure, struct scheduler *s)
{
    struct arguments *a = closure;
    a->seen[a->i]++;
    if (2 * a->i <= a->last)
        spawn_copy(node_copy, (struct arguments){2 * a->i, a->last, a->seen}, s);
    if (2 * a->i + 1 <= a->last)
        spawn_copy(node_copy, (struct arguments){2 * a->i + 1, a->last, a->seen}, s);
}

static void drop_copy(void *closure, struct scheduler *s)
{
    (void)s;
    struct arguments *a = closure;
    a->seen[a->i]++;
}

static void flood_copy(void *closure, struct scheduler *s)
{
    struct arguments *a = closure;
    a->seen[a->i]++;
    for (long i = 2; i <= a->last; i++)
        spawn_copy(drop_copy, (struct arguments){i, a->last, a->seen}, s);
}

/* ------------------------------------------------------------------------------- */

static void *first_copy(void)
{
    return &all; /* sched_init's task gets no copy */
}

static void *first_number(void)
{
    return (void *)(intptr_t)all.i;
}

static void *first_malloc(void)
{
    struct arguments *a = bench_alloc(1, sizeof *a);
    *a = all;
    return a;
}

static const struct way {
    const char *name;
    taskfunc task;
    void *(*first)(void); /* the first task's closure */
} ways[] = {
    {"none", node_none, first_number},
    {"malloc", node_malloc, first_malloc},
    {"copy", node_copy, first_copy},
    {"flood-none", flood_none, first_number},
    {"flood-malloc", flood_malloc, first_malloc},
    {"flood-copy", flood_copy, first_copy},
};

static void serial(struct arguments a)
{
    a.seen[a.i]++;
    for (long child = 2 * a.i; child <= 2 * a.i + 1 && child <= a.last; child++)
        serial((struct arguments){child, a.last, a.seen});
}

static const struct bench_about about = {
    "closures", "spawns (one task more runs, the first)", 1L << 20, 0, 1L << 30,
    "none (a number in the pointer, default), malloc or copy; flood-none, -malloc, -copy",
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    const struct way *way = ways, *end = ways + sizeof ways / sizeof *ways;
    while (b.data != NULL && way != end && strcmp(b.data, way->name) != 0)
        way++;
    if (way == end)
        bench_refuse(&b, b.data, "it is %s", about.data);
    size_t size = (size_t)b.n + 2;
    all = (struct arguments){1, b.n + 1, bench_alloc(size, 1)};

    for (int r = 0; r < b.repetitions; r++) {
        memset(all.seen, 0, size);

        bench_clock_start(&b);
        if (b.serial)
            serial(all);
        else
            bench_init(&b, way->task, way->first());
        bench_clock_stop(&b);

        uint64_t sum;
        int right = tree_right(all.seen, all.last, &sum);
        bench_line(&b, all.last, sum, right);
    }
    free(all.seen);
    return bench_end(&b);
}
