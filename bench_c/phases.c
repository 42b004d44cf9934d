/* phases.c: short parallel phases one after the other, with serial gaps between them: phases.h. Ways:
 *
 *   for     sched_for over 16 numbers, grain 0      for1    the same with grain 1
 *   group   15 sched_group_spawn and a wait         fork    15 forks, joined youngest first
 *   reduce  sched_reduce over 16 numbers            sum     sched_reduce over tiny terms, grain 0
 *   sort    sched_sort                              typed   the sort of sched_sort.h
 *
 * With -s the phases are plain loops. The first phases, in which workers begin, count like the others. */

#include "bench.h"
#include "phases.h"

#include <sched_sort.h>
#include <sched_tasks.h>

static struct phases phases;
static long count;

static void body(size_t lo, size_t hi, void *context, struct scheduler *s)
{
    (void)s;
    phases_parts(context, lo, hi);
}

static void part(void *closure, struct scheduler *s)
{
    (void)s;
    size_t i = (size_t)(uintptr_t)closure;
    phases_parts(&phases, i, i + 1);
}

static void all_by_for(size_t grain, struct scheduler *s)
{
    if (sched_for(0, PHASE_PARTS, grain, body, &phases, s) != 0)
        bench_die("sched_for");
}

static void by_for(struct scheduler *s) { all_by_for(0, s); }
static void by_for1(struct scheduler *s) { all_by_for(1, s); }

static void by_group(struct scheduler *s)
{
    sched_group group = SCHED_GROUP_INIT;
    for (size_t i = 1; i < PHASE_PARTS; i++)
        if (sched_group_spawn(&group, part, (void *)(uintptr_t)i, s) != 0)
            bench_die("sched_group_spawn");
    phases_parts(&phases, 0, 1);
    if (sched_group_wait(&group, s) != 0)
        bench_die("sched_group_wait");
}

static void by_fork(struct scheduler *s)
{
    sched_task tasks[PHASE_PARTS];
    for (size_t i = 1; i < PHASE_PARTS; i++)
        sched_fork(&tasks[i], part, (void *)(uintptr_t)i, s);
    phases_parts(&phases, 0, 1);
    for (size_t i = PHASE_PARTS - 1; i > 0; i--)
        sched_join(&tasks[i], s);
}

static void add_parts(size_t lo, size_t hi, void *into, void *context, struct scheduler *s)
{
    (void)s;
    phases_parts(context, lo, hi);
    *(long *)into += (long)(hi - lo);
}

static void add(void *into, const void *from, void *context)
{
    (void)context;
    *(long *)into += *(const long *)from;
}

static void by_reduce(struct scheduler *s)
{
    long none = 0, parts = 0;
    if (sched_reduce(0, PHASE_PARTS, 1, sizeof none, &none, add_parts, add, &phases, &parts, s) != 0)
        bench_die("sched_reduce");
    if (parts != PHASE_PARTS)
        phases.sums[0][0]++; /* spoils a sum, so that the run counts as wrong */
}

static void add_terms(size_t lo, size_t hi, void *into, void *context, struct scheduler *s)
{
    (void)context;
    (void)s;
    *(uint64_t *)into += reduce_range(lo, hi);
}

static void add_sum(void *into, const void *from, void *context)
{
    (void)context;
    *(uint64_t *)into += *(const uint64_t *)from;
}

static void by_sum(struct scheduler *s)
{
    const uint64_t zero = 0;
    uint64_t sum = 0;
    if (sched_reduce(0, phases_length(&phases), 0, sizeof zero, &zero, add_terms, add_sum, NULL, &sum, s) != 0)
        bench_die("sched_reduce");
    phases_found(&phases, sum);
}

static void by_sort(struct scheduler *s)
{
    if (sched_sort(phases.numbers, phases_length(&phases), sizeof(int), sort_compare, s) != 0)
        bench_die("sched_sort");
}

SCHED_SORT(sort_ints, int, *a < *b)

static void by_typed(struct scheduler *s)
{
    sort_ints(phases.numbers, phases_length(&phases), s);
}

static void serially(struct scheduler *s)
{
    (void)s;
    if (phases_are_sums(&phases))
        phases_found(&phases, reduce_range(0, phases_length(&phases)));
    else if (phases_are_sorts(&phases))
        qsort(phases.numbers, phases_length(&phases), sizeof(int), sort_compare);
    else
        phases_parts(&phases, 0, PHASE_PARTS);
}

static const struct way {
    const char *name;
    void (*phase)(struct scheduler *);
} ways[] = {
    {"for", by_for}, {"for1", by_for1}, {"group", by_group}, {"fork", by_fork}, {"reduce", by_reduce},
    {"sum", by_sum}, {"sort", by_sort}, {"typed", by_typed},
};

static void (*phase)(struct scheduler *);

static void first_task(void *closure, struct scheduler *s)
{
    (void)closure;
    for (long i = 0; i < count; i++) {
        phases_gap(&phases);
        double start = bench_now();
        phase(s);
        phases_took(&phases, i, start);
    }
}

static void serial_run(void *closure)
{
    first_task(closure, NULL);
}

static const struct bench_about about = {
    "phases", "phases", 2000, 1, 100000000,
    "WAY-WORK-GAP, times in us: for, for1, group, fork, reduce, sum, sort or typed; for-20-0 is the default; "
    "main-for-20-0: from main",
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    phases = phases_new(&b);
    count = b.n;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(ways[i].name, phases.way) == 0)
            phase = b.serial ? serially : ways[i].phase;
    if (phase == NULL)
        bench_refuse(&b, b.data, "for, for1, group, fork, reduce, sum, sort or typed is wanted");

    for (int r = 0; r < b.repetitions; r++) {
        memset(phases.sums, 0, sizeof phases.sums);

        bench_run(&b, first_task, serial_run, NULL);

        phases_fields(&b, &phases);
        bench_line(&b, phases_elements(&phases, b.n), bench_mix((uint64_t)b.n), phases_right(&phases, b.n));
    }
    phases_free(&phases);
    return bench_end(&b);
}
