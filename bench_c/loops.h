/* loops.h: n loops, one after the other, whose iterations take unequal times, for any scheduler.
 * The iterations either store their results, or these are added up: then a loop is a reduction. The
 * work of a loop, WORK microseconds on one thread, is distributed over its iterations by SHAPE:
 *
 *   even      all iterations take the same time       random   uniformly distributed, the same in each process
 *   rising    iteration i takes i + 1 shares           huge     one iteration, at a third of the range, has 20 % of
 *   falling   the reverse                                       the work; the others take the same time
 *
 * -d SHAPE-WORK-ITERATIONS: -d rising-1000-1000.
 *
 * The process first runs the same loops serially. So the ratio of the two times does not depend on the speed of the
 * machine. */

#ifndef LOOPS_H
#define LOOPS_H

#include "measure.h"

/* The use of the results of the iterations. */
enum loops_way { LOOPS_STORED, LOOPS_ADDED };

struct loops {
    enum loops_way way;
    char shape[8];
    long work;         /* us */
    long iterations;
    long all_turns;    /* turns of the calibration loop that make up this work */
    long *turns;       /* those of each iteration */
    uint64_t start;    /* the number with which the iterations of this loop begin */
    uint64_t *results; /* stored: of each iteration, the sum of its results in all loops */
    uint64_t *sums;    /* added: of each loop, the sum of all results */
    double *took;      /* us, of each loop */
    double serial;     /* us, the median of the serial loops */
};

/* 0 if there is no such shape. */
static inline uint64_t loops_shares(const struct loops *l, long i)
{
    uint64_t n = (uint64_t)l->iterations, number = (uint64_t)i;
    if (strcmp(l->shape, "even") == 0)
        return 1;
    if (strcmp(l->shape, "rising") == 0)
        return number + 1;
    if (strcmp(l->shape, "falling") == 0)
        return n - number;
    if (strcmp(l->shape, "random") == 0)
        return (bench_mix(number + 1) >> 44) + 1;
    if (strcmp(l->shape, "huge") == 0)
        return number == n / 3 ? n - 1 : 4;
    return 0;
}

/* Rounds the sums of the turns, not the turns themselves: so all of them together are exactly all_turns. */
static inline void loops_distribute(struct loops *l)
{
    uint64_t all = 0, shares = 0;
    long turns = 0;
    for (long i = 0; i < l->iterations; i++)
        all += loops_shares(l, i);
    for (long i = 0; i < l->iterations; i++) {
        shares += loops_shares(l, i);
        long end = (long)((double)l->all_turns * ((double)shares / (double)all));
        l->turns[i] = end - turns;
        turns = end;
    }
}

static inline struct loops loops_new(const struct bench *b, enum loops_way way)
{
    struct loops l;
    memset(&l, 0, sizeof l);
    l.way = way;
    const char *data = b->data != NULL ? b->data : "even-1000-1000";
    int end = 0;
    if (sscanf(data, "%7[a-z]-%ld-%ld%n", l.shape, &l.work, &l.iterations, &end) != 3 || data[end] != '\0' ||
        loops_shares(&l, 0) == 0 || l.work < 1 || l.work > 1000000 || l.iterations < 2 || l.iterations > 10000000)
        bench_refuse(b, data, "SHAPE-WORK-ITERATIONS is wanted, rising-1000-1000 for one");
    l.all_turns = (long)((double)l.work * 1000 / bench_calibrate(64));
    l.turns = (long *)bench_alloc((size_t)l.iterations, sizeof *l.turns);
    l.results = (uint64_t *)bench_alloc((size_t)l.iterations, sizeof *l.results);
    l.sums = (uint64_t *)bench_alloc((size_t)b->n, sizeof *l.sums);
    l.took = (double *)bench_alloc((size_t)b->n, sizeof *l.took);
    loops_distribute(&l);
    return l;
}

static inline void loops_free(struct loops *l)
{
    free(l->turns);
    free(l->results);
    free(l->sums);
    free(l->took);
}

static inline void loops_clear(struct loops *l, long n)
{
    memset(l->results, 0, (size_t)l->iterations * sizeof *l->results);
    memset(l->sums, 0, (size_t)n * sizeof *l->sums);
}

/* The turns do not wait for the result of the loop before, which may lie in the cache of another processor. */
static inline void loops_iteration(struct loops *l, size_t i)
{
    l->results[i] += bench_turns(l->start, l->turns[i]);
}

/* The serial loop and the tasks run the same code. */
__attribute__((noinline, aligned(64), unused)) static void loops_range(struct loops *l, size_t lo, size_t hi)
{
    for (size_t i = lo; i < hi; i++)
        loops_iteration(l, i);
}

/* The result of an iteration, in loops whose results are added up. */
static inline uint64_t loops_result(const struct loops *l, size_t i)
{
    return bench_turns(l->start, l->turns[i]);
}

__attribute__((noinline, aligned(64), unused)) static uint64_t loops_sum(const struct loops *l, size_t lo, size_t hi)
{
    uint64_t sum = 0;
    for (size_t i = lo; i < hi; i++)
        sum += loops_result(l, i);
    return sum;
}

static inline uint64_t loops_start(long k)
{
    return bench_mix((uint64_t)k + 1);
}

/* Loop `k` begins; returns the time. */
static inline double loops_begin(struct loops *l, long k)
{
    l->start = loops_start(k);
    return bench_now();
}

/* Loop `k`, which began at `start`, is over. */
static inline void loops_took(struct loops *l, long k, double start)
{
    l->took[k] = 1e6 * (bench_now() - start);
}

/* True if the results, or their sums, show that each iteration was done exactly once in each of n loops, and the turns
 * are those of the whole work. (The results depend on the speed of the processor, so they are not printed as a
 * checksum.) */
static inline int loops_right(const struct loops *l, long n)
{
    uint64_t starts = 0, factors = 0, nones = 0;
    long turns = 0;
    for (long k = 0; k < n; k++)
        starts += loops_start(k);
    for (long i = 0; i < l->iterations; i++) {
        /* An iteration makes factor * y + none of y. */
        uint64_t none = bench_turned(0, (uint64_t)l->turns[i]);
        uint64_t factor = bench_turned(1, (uint64_t)l->turns[i]) - none;
        if (l->way == LOOPS_STORED && l->results[i] != factor * starts + none * (uint64_t)n)
            return 0;
        factors += factor;
        nones += none;
        turns += l->turns[i];
    }
    for (long k = 0; l->way == LOOPS_ADDED && k < n; k++)
        if (l->sums[k] != factors * loops_start(k) + nones)
            return 0;
    return turns == l->all_turns;
}

static inline double loops_median(struct loops *l, long n)
{
    bench_sort(l->took, n);
    return bench_quantile(l->took, n, 0.5);
}

/* Runs n loops on this thread. */
static inline void loops_all(struct loops *l, long n)
{
    for (long k = 0; k < n; k++) {
        double start = loops_begin(l, k);
        if (l->way == LOOPS_ADDED)
            l->sums[k] = loops_sum(l, 0, (size_t)l->iterations);
        else
            loops_range(l, 0, (size_t)l->iterations);
        loops_took(l, k, start);
    }
}

/* Runs n loops on this thread, and clears the results afterwards. False if the results were wrong. */
static inline int loops_serially(struct loops *l, long n)
{
    loops_clear(l, n);
    loops_all(l, n);
    l->serial = loops_median(l, n);
    int right = loops_right(l, n);
    loops_clear(l, n);
    return right;
}

/* The fields of a run: us_a_loop is the median and us_mean the mean; us_serial is the median of the serial loops.
 * over_ideal is us_a_loop divided by the ideal time, us_serial / threads. Returns us_a_loop. */
static inline double loops_fields(struct bench *b, struct loops *l, int threads)
{
    double sum = 0, median = loops_median(l, b->n);
    for (long i = 0; i < b->n; i++)
        sum += l->took[i];
    bench_field(b, "us_a_loop", median);
    bench_field(b, "us_mean", sum / (double)b->n);
    bench_field(b, "us_serial", l->serial);
    bench_field(b, "over_ideal", median * threads / l->serial);
    return median;
}

#endif
