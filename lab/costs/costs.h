/* costs.h: what the measurements of costs have in common. */

#ifndef COSTS_H
#define COSTS_H

#include "../../bench_c/measure.h"

#include <sched_tasks.h>
#include <stdatomic.h>

/* alone.c */
enum { LONGEST_FLOOD = 1 << 18 };
void measure_batches(void);
void measure_flood(void);
void measure_forks(void);
void measure_empty(void);

/* thefts.c */
void measure_steals(void);
void searching(void *closure, struct scheduler *s);
void measure_vain(void);

/* contention.c */
void measure_contention(void);

/* wakes.c */
void measure_wakes(void);
void measure_late(void);

/* line.c */
void measure_line(void);

static inline double now_ns(void)
{
    return 1e9 * bench_now();
}

/* The lower quartile: the median of the undisturbed samples, if half of the samples are undisturbed. */
static inline double typical(double *x, long n)
{
    bench_sort(x, n);
    return bench_quantile(x, n, 0.25);
}

/* The least sample, without the first one, which finds cold memory. */
static inline double least(const double *x, long n)
{
    double min = x[1];
    for (long i = 2; i < n; i++)
        if (x[i] < min)
            min = x[i];
    return min;
}

static inline void print(const char *name, double nanoseconds)
{
    printf("%s=%.3f\n", name, nanoseconds);
}

static inline void run(int threads, taskfunc f)
{
    if (sched_init(threads, 0, f, NULL) != 0)
        bench_die("sched_init");
}

static inline void spawn(taskfunc f, struct scheduler *s)
{
    if (sched_spawn(f, NULL, s) != 0)
        bench_die("sched_spawn");
}

static inline void wait_ns(double nanoseconds)
{
    double start = now_ns();
    while (now_ns() < start + nanoseconds)
        ;
}

static inline void nothing(void *closure, struct scheduler *s)
{
    (void)closure;
    (void)s;
}

/* A tree of forks that is as uneven as those of programs: in an even one the branches repeat a pattern, and cost less.
 * Three eighths of the leaves are below one side of each node. */
struct forks {
    long leaves, seen;
};

static inline void fork_or_end(struct forks *f, taskfunc itself, struct scheduler *s)
{
    f->seen = 1;
    if (f->leaves == 1)
        return;
    long fewer = f->leaves * 3 / 8 + (f->leaves == 2);
    struct forks other = {fewer, 0}, own = {f->leaves - fewer, 0};
    sched_task t;
    sched_fork(&t, itself, &other, s);
    itself(&own, s);
    sched_join(&t, s);
    f->seen = own.seen + other.seen;
}

#endif
