/* latency.h: a histogram of times. A time goes to a bucket whose width is at most 1/64 of it, so a percentile is at most 1.6 %
 * too large; the greatest time is exact. Several tasks may add times to one histogram. */

#ifndef LATENCY_H
#define LATENCY_H

#include "program.h"

/* Buckets of 0 to 127 ns hold one value each; each further power of two, up to 2^42 ns (73 minutes), has 64 buckets. */
enum { LATENCY_PARTS = 64, LATENCY_BUCKETS = LATENCY_PARTS * (42 - 5) };

struct latencies {
    _Atomic uint64_t counts[LATENCY_BUCKETS];
    _Atomic int64_t greatest;
};

__attribute__((unused)) static size_t latency_bucket(int64_t ns)
{
    size_t power = ns < 2 * LATENCY_PARTS ? 0 : (size_t)(57 - __builtin_clzll((unsigned long long)ns));
    size_t bucket = ns < 0 ? 0 : power * LATENCY_PARTS + (size_t)(ns >> power);
    return bucket < LATENCY_BUCKETS ? bucket : LATENCY_BUCKETS - 1;
}

/* The greatest time of a bucket. */
__attribute__((unused)) static int64_t latency_most(size_t bucket)
{
    size_t power = bucket < 2 * LATENCY_PARTS ? 0 : bucket / LATENCY_PARTS - 1;
    return (((int64_t)(bucket - power * LATENCY_PARTS) + 1) << power) - 1;
}

__attribute__((unused)) static void latency_add(struct latencies *l, int64_t ns)
{
    int64_t greatest = atomic_load_explicit(&l->greatest, memory_order_relaxed);
    atomic_fetch_add_explicit(&l->counts[latency_bucket(ns)], 1, memory_order_relaxed);
    while (ns > greatest
           && !atomic_compare_exchange_weak_explicit(&l->greatest, &greatest, ns, memory_order_relaxed, memory_order_relaxed)) {}
}

/* Adds the times of another histogram. */
__attribute__((unused)) static void latency_merge(struct latencies *into, const struct latencies *from)
{
    for (size_t i = 0; i < LATENCY_BUCKETS; i++)
        into->counts[i] += from->counts[i];
    if (from->greatest > into->greatest)
        into->greatest = from->greatest;
}

/* The time that a part of all times, such as 0.99, does not exceed; 0 if there are none. */
__attribute__((unused)) static int64_t latency_percentile(const struct latencies *l, double part)
{
    uint64_t all = 0, so_far = 0;
    size_t i = 0;
    for (size_t k = 0; k < LATENCY_BUCKETS; k++)
        all += l->counts[k];
    double wanted = part * (double)all;
    while (i + 1 < LATENCY_BUCKETS && (double)(so_far += l->counts[i]) < wanted)
        i++;
    return all == 0 ? 0 : latency_most(i) < l->greatest ? latency_most(i) : l->greatest;
}

#endif
