/* quicksort.c: the course's quicksort: tasks of a natural size that depend on the data.
 *
 * Hoare's partition with the pivot a[lo]; a task of at most 129 elements sorts serially, a
 * larger one partitions and spawns both halves. The number of tasks is a property of the
 * data alone: with -n 10485760 it is 368,439, and with -d alternate 458,749.
 *
 * The first partition runs alone, and the next ones nearly so: no scheduler can be twice as fast on two processors.
 * With -s the program measures what is possible: see below. */

#include "bench.h"
#include "kernels.h"

#include <math.h>

struct range {
    long lo, hi; /* both ends included */
};

static int *a;
static unsigned char *leaf; /* leaf[lo]: the number of tasks that sorted serially from lo on */

static void task(void *closure, struct scheduler *s);

static void spawn(long lo, long hi, struct scheduler *s)
{
    struct range *r = bench_alloc(1, sizeof *r);
    r->lo = lo;
    r->hi = hi;
    bench_spawn(task, r, s);
}

static void task(void *closure, struct scheduler *s)
{
    struct range r = *(struct range *)closure;
    free(closure);
    if (r.hi - r.lo <= QUICKSORT_CUTOFF) {
        leaf[r.lo]++;
        quicksort(a, r.lo, r.hi);
        return;
    }
    long j = partition(a, r.lo, r.hi);
    spawn(r.lo, j, s);
    spawn(j + 1, r.hi, s);
}

/* The same splits without a scheduler. */
static void serial(long lo, long hi)
{
    while (hi - lo > QUICKSORT_CUTOFF) {
        long j = partition(a, lo, hi);
        if (j - lo < hi - j - 1) {
            serial(lo, j);
            lo = j + 1;
        } else {
            serial(j + 1, hi);
            hi = j;
        }
    }
    leaf[lo]++;
    quicksort(a, lo, hi);
}

static void serial_run(void *closure)
{
    struct range r = *(struct range *)closure;
    free(closure);
    serial(r.lo, r.hi);
}

/* --- what the critical path allows --------------------------------------------
 *
 * A second serial pass, over the same data, reads the clock between the tasks. It prints their total (work) and the
 * longest chain of them, each spawned by the one before (span), in seconds. Brent's bounds on the speed-up follow from
 * these two, but they are far apart: at most P and work / span, at least work / (work / P + span). So the program
 * simulates P processors that lose no time between tasks. A free processor takes, of the tasks that are spawned and not
 * begun, the one with the longest chain below it. This is a list schedule by critical path, in practice within a
 * percent or two of the best schedule. allows is work divided by the length of that schedule, for -t processors (0: as
 * many as the library would take).
 *
 * The schedule ignores that processors share the memory's bandwidth and the last-level cache, and that one busy
 * processor may have a higher clock rate than two. */

struct step {
    struct range range;
    double seconds; /* of this task alone */
    double chain;   /* of the longest chain from its start on */
    long children;  /* the index of the first; the other follows; 0: none */
};

static struct step *steps;
static long step_count;

static void add_step(long lo, long hi)
{
    steps[step_count++] = (struct step){.range = {lo, hi}};
}

/* Sorts, and records a step for each task; parents come before their children. */
static void measure_steps(long n)
{
    long waiting[2 * 64]; /* the smaller half goes first, so at most one step for each halving waits */
    long depth = 0;
    step_count = 0;
    add_step(0, n - 1);
    waiting[depth++] = 0;
    double before = bench_now();
    while (depth > 0) {
        long i = waiting[--depth];
        long lo = steps[i].range.lo, hi = steps[i].range.hi;
        if (hi - lo <= QUICKSORT_CUTOFF) {
            quicksort(a, lo, hi);
        } else {
            long j = partition(a, lo, hi);
            long child = steps[i].children = step_count;
            add_step(lo, j);
            add_step(j + 1, hi);
            int left_is_small = j - lo < hi - j - 1;
            waiting[depth++] = left_is_small ? child + 1 : child;
            waiting[depth++] = left_is_small ? child : child + 1;
        }
        double now = bench_now();
        steps[i].seconds = now - before;
        before = now;
    }
}

/* A heap with the least key on top. */
struct heap {
    struct entry {
        double key;
        long step;
    } *entries;
    long count;
};

static void heap_push(struct heap *h, double key, long step)
{
    long i = h->count++;
    for (; i > 0 && h->entries[(i - 1) / 2].key > key; i = (i - 1) / 2)
        h->entries[i] = h->entries[(i - 1) / 2];
    h->entries[i] = (struct entry){key, step};
}

static struct entry heap_pop(struct heap *h)
{
    struct entry top = h->entries[0], last = h->entries[--h->count];
    long i = 0;
    for (;;) {
        long child = 2 * i + 1;
        if (child + 1 < h->count && h->entries[child + 1].key < h->entries[child].key)
            child++;
        if (child >= h->count || h->entries[child].key >= last.key)
            break;
        h->entries[i] = h->entries[child];
        i = child;
    }
    h->entries[i] = last;
    return top;
}

/* Seconds until `processors` processors that lose no time have done all steps. */
static double schedule(int processors)
{
    struct heap ready = {bench_alloc((size_t)step_count, sizeof(struct entry)), 0};
    struct heap running = {bench_alloc((size_t)processors, sizeof(struct entry)), 0};
    double now = 0;
    heap_push(&ready, -steps[0].chain, 0);
    while (ready.count + running.count > 0) {
        while (ready.count > 0 && running.count < processors) {
            long i = heap_pop(&ready).step;
            heap_push(&running, now + steps[i].seconds, i);
        }
        struct entry done = heap_pop(&running);
        now = done.key;
        long child = steps[done.step].children;
        for (long i = child; child != 0 && i < child + 2; i++)
            heap_push(&ready, -steps[i].chain, i);
    }
    free(ready.entries);
    free(running.entries);
    return now;
}

/* For -s, after a run of `tasks` tasks on the same data. True if this pass has also sorted the
 * data. */
static int critical_path(struct bench *b, long n, long tasks)
{
    size_t size = (size_t)tasks * sizeof *steps;
    steps = bench_alloc(1, size);
    memset(steps, 0, size); /* maps its pages before the clock runs */
    measure_steps(n);
    double work = 0;
    for (long i = step_count - 1; i >= 0; i--) {
        struct step *s = &steps[i];
        work += s->seconds;
        s->chain = s->seconds;
        if (s->children != 0)
            s->chain += fmax(steps[s->children].chain, steps[s->children + 1].chain);
    }
    int processors = b->threads > 0 ? b->threads : sched_default_threads();
    bench_field(b, "work", work);
    bench_field(b, "span", steps[0].chain);
    bench_field(b, "processors", processors);
    bench_field(b, "allows", work / schedule(processors));
    free(steps);
    return step_count == tasks && bench_sorted(a, n);
}

static const struct bench_about about = {
    "quicksort", "elements", 1024 * 1024, 1, 1L << 30,
    "lcg (the course's numbers, default) or alternate (i, -i, ...)",
};

static void fill(long n, int alternate)
{
    if (alternate)
        for (long i = 0; i < n; i++)
            a[i] = (int)(i % 2 == 0 ? i : -i);
    else
        bench_lcg(a, n);
}

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    int alternate = b.data != NULL && strcmp(b.data, "alternate") == 0;
    if (b.data != NULL && !alternate && strcmp(b.data, "lcg") != 0)
        bench_refuse(&b, b.data, "lcg or alternate is wanted");
    long n = b.n;
    a = bench_alloc((size_t)n, sizeof *a);
    leaf = bench_alloc((size_t)n, 1);

    for (int r = 0; r < b.repetitions; r++) {
        fill(n, alternate);
        for (long i = 0; i < n; i++)
            leaf[i] = 0;
        uint64_t before = bench_multiset(a, n);
        struct range *all = bench_alloc(1, sizeof *all);
        all->lo = 0;
        all->hi = n - 1;

        bench_run(&b, task, serial_run, all);

        long tasks;
        int right = quicksort_right(a, leaf, n, before, &tasks);
        if (n == 10 * 1024 * 1024)
            right = right && tasks == (alternate ? 458749 : 368439);
        if (b.serial) {
            fill(n, alternate);
            right = critical_path(&b, n, tasks) && right;
        }
        bench_line(&b, tasks, before + (uint64_t)tasks, right);
    }
    free(a);
    free(leaf);
    return bench_end(&b);
}
