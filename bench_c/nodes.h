/* nodes.h: points, each of which is computed from up to two points before it, by any scheduler.
 *
 * -d SHAPE-HOW-TURNS: SHAPE wave (a square, each point after the one above it and the one to its
 * left) or graph (after two random ones before it); HOW node (nodes with an edge for each), again
 * (the same nodes in a graph, which has run before), address (tasks that name the addresses that
 * they read and write) or, with -s, lists (nodes.c); TURNS of the calibration loop in each point.
 * -d graph-address-300. */

#ifndef NODES_H
#define NODES_H

#include "measure.h"

/* Neighbours do not share a cache line. */
struct point {
    uint64_t value;
    long before[2]; /* less than 0: none */
    char rest[64 - sizeof(uint64_t) - 2 * sizeof(long)];
};

struct points {
    struct point *all;
    long n, turns;
    int by_address, again, by_lists;
};

static inline struct points points_new(const struct bench *b)
{
    struct points p;
    char shape[8], how[8];
    const char *data = b->data != NULL ? b->data : "wave-node-0";
    int end = 0, is_words = sscanf(data, "%7[a-z]-%7[a-z]-%ld%n", shape, how, &p.turns, &end) == 3 && data[end] == '\0';
    int is_wave = is_words && strcmp(shape, "wave") == 0;
    p.by_address = is_words && strcmp(how, "address") == 0;
    p.again = is_words && strcmp(how, "again") == 0;
    p.by_lists = is_words && b->serial && strcmp(how, "lists") == 0;
    int is_how = p.by_address || p.again || p.by_lists || (is_words && strcmp(how, "node") == 0);
    if (!is_how || (!is_wave && strcmp(shape, "graph") != 0) || p.turns < 0 || p.turns > 1000000000)
        bench_refuse(b, data, "SHAPE-HOW-TURNS is wanted, wave-node-0 for one");
    p.n = b->n;
    p.all = (struct point *)bench_alloc((size_t)p.n, sizeof *p.all);
    long side = 1;
    while (side * side < p.n)
        side++;
    for (long i = 0; i < p.n; i++) {
        struct point *it = &p.all[i];
        it->before[0] = is_wave ? i - side : i > 0 ? (long)(bench_mix((uint64_t)i) % (uint64_t)i) : -1;
        it->before[1] = is_wave ? (i % side > 0 ? i - 1 : -1) : i > 0 ? (long)(bench_mix((uint64_t)-i) % (uint64_t)i) : -1;
    }
    return p;
}

static inline void points_clear(struct points *p)
{
    for (long i = 0; i < p->n; i++)
        p->all[i].value = 0;
}

/* The number from which point i is computed. */
static inline uint64_t point_input(const struct points *p, long i)
{
    uint64_t x = (uint64_t)i;
    for (int k = 0; k < 2; k++)
        if (p->all[i].before[k] >= 0)
            x = bench_mix(x) + p->all[p->all[i].before[k]].value;
    return x;
}

static inline void point_compute(struct points *p, long i)
{
    p->all[i].value += bench_turns(point_input(p, i), p->turns) | 1;
}

/* True if each point has been computed once, after those before it. */
static inline int points_right(const struct points *p, uint64_t *sum)
{
    int right = 1;
    *sum = 0;
    for (long i = 0; i < p->n; i++) {
        *sum += bench_mix(p->all[i].value);
        right = right && p->all[i].value == (bench_turned(point_input(p, i), (uint64_t)p->turns) | 1);
    }
    return right;
}

#endif
