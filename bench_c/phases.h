/* phases.h: short parallel phases, for any scheduler: n phases. The work of a phase, `work`
 * microseconds, is cut into 16 equal parts. Between two phases there is a serial gap, in which the
 * caller computes and the other workers have nothing to do.
 *
 * Some ways have something else in place of the parts, `work` * 1000 elements: sum a sum of tiny terms, sort a sort of
 * random ints. Before a sort the caller fills the array anew, and after it checks it, which is a gap of its own.
 *
 * -d WAY-WORK-GAP, both in microseconds: -d for-20-50. -d main-WAY-WORK-GAP: the caller is main, not a task. */

#ifndef PHASES_H
#define PHASES_H

#include "measure.h"
#include "kernels_fork.h"

enum { PHASE_PARTS = 16 };

struct phases {
    char way[16];
    long work, gap;               /* us */
    long turns;                   /* turns of the calibration loop in each part */
    double *took;                 /* us, of each phase */
    int *random, *numbers;        /* of a sort, before and after it */
    uint64_t sums[PHASE_PARTS][16]; /* of each part, on lines of their own */
};

static inline int phases_are_sums(const struct phases *p)
{
    return strcmp(p->way, "sum") == 0;
}

static inline int phases_are_sorts(const struct phases *p)
{
    return strcmp(p->way, "sort") == 0 || strcmp(p->way, "typed") == 0;
}

/* The elements of a phase that has no parts. */
static inline size_t phases_length(const struct phases *p)
{
    return (size_t)p->work * 1000;
}

/* The number of parts, or of elements, of n phases. */
static inline long phases_elements(const struct phases *p, long n)
{
    return n * (phases_are_sums(p) || phases_are_sorts(p) ? (long)phases_length(p) : (long)PHASE_PARTS);
}

static inline struct phases phases_new(struct bench *b)
{
    bench_take_main(b);
    struct phases p;
    memset(&p, 0, sizeof p);
    const char *data = b->data != NULL ? b->data : "for-20-0";
    int end = 0;
    if (sscanf(data, "%15[a-z1]-%ld-%ld%n", p.way, &p.work, &p.gap, &end) != 3 || data[end] != '\0' ||
        p.work < 1 || p.work > 1000000 || p.gap < 0 || p.gap > 1000000)
        bench_refuse(b, data, "WAY-WORK-GAP is wanted, for-20-0 for one");
    p.turns = (long)((double)p.work * 1000 / (double)PHASE_PARTS / bench_calibrate(64));
    p.took = (double *)bench_alloc((size_t)b->n, sizeof *p.took);
    if (phases_are_sorts(&p)) {
        p.random = (int *)bench_alloc(phases_length(&p), sizeof *p.random);
        p.numbers = (int *)bench_alloc(phases_length(&p), sizeof *p.numbers);
        bench_lcg(p.random, (long)phases_length(&p));
    }
    return p;
}

static inline void phases_free(struct phases *p)
{
    free(p->took);
    free(p->random);
    free(p->numbers);
}

/* A phase of the way sum has found `sum`. */
static inline void phases_found(struct phases *p, uint64_t sum)
{
    p->sums[0][0] += sum;
}

/* Parts `lo` to `hi` of a phase. */
static inline void phases_parts(struct phases *p, size_t lo, size_t hi)
{
    for (size_t i = lo; i < hi; i++)
        p->sums[i][0] = bench_turns(p->sums[i][0], p->turns);
}

static inline void phases_gap(const struct phases *p)
{
    if (p->numbers != NULL)
        memcpy(p->numbers, p->random, phases_length(p) * sizeof *p->numbers);
    double end = bench_now() + 1e-6 * (double)p->gap;
    while (p->gap > 0 && bench_now() < end)
        ;
}

/* Phase `k`, which began at `start`, is over. */
static inline void phases_took(struct phases *p, long k, double start)
{
    p->took[k] = 1e6 * (bench_now() - start);
    if (p->numbers != NULL)
        p->sums[0][0] += (uint64_t)bench_sorted(p->numbers, (long)phases_length(p));
}

/* True if the result of each part shows that the part was done exactly n times, or sums or sorts are right. (The result
 * of a part depends on the speed of the processor, so it is not printed as a checksum.) */
static inline int phases_right(const struct phases *p, long n)
{
    if (phases_are_sums(p))
        return p->sums[0][0] == reduce_range(0, phases_length(p)) * (uint64_t)n;
    if (phases_are_sorts(p)) {
        long length = (long)phases_length(p);
        return p->sums[0][0] == (uint64_t)n && bench_multiset(p->numbers, length) == bench_multiset(p->random, length);
    }
    uint64_t wanted = bench_turned(0, (uint64_t)p->turns * (uint64_t)n);
    for (int i = 0; i < PHASE_PARTS; i++)
        if (p->sums[i][0] != wanted)
            return 0;
    return 1;
}

/* The fields of a run: us_a_phase is the median, us_mean the mean. */
static inline void phases_fields(struct bench *b, struct phases *p)
{
    double sum = 0;
    for (long i = 0; i < b->n; i++)
        sum += p->took[i];
    bench_sort(p->took, b->n);
    bench_field(b, "us_a_phase", bench_quantile(p->took, b->n, 0.5));
    bench_field(b, "us_mean", sum / (double)b->n);
    bench_field(b, "us_p90", bench_quantile(p->took, b->n, 0.9));
}

#endif
