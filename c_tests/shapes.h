/* shapes.h: the orders that elements have before they are sorted. */
#ifndef SHAPES_H
#define SHAPES_H

#include "check.h"

/* For every sort; SIXTY and GROUPS for one that looks for few different keys; the others for one that looks for runs. */
enum shape { RANDOM, FEW, SORTED, REVERSED, LATE, LATE_TIE, EQUAL, ORGAN, SAW, NEARLY,
             SIXTY, GROUPS,
             TAIL, LONG_TAIL, RUNS, HALVES, MIDDLE, SHAPES,
             SHAPES_OF_ALL = SIXTY, SHAPES_OF_KEYS = TAIL };

/* The key of the i-th of n elements. */
static uint32_t key_of(enum shape shape, size_t i, size_t n, uint64_t *seed)
{
    uint32_t any = (uint32_t)(next_random(seed) >> 33);
    switch (shape) {
    case RANDOM: return any;
    case FEW: return any % 5;
    case SORTED: return (uint32_t)i;
    case REVERSED: return (uint32_t)(n - i);
    case LATE: return (uint32_t)(i + 1 < n ? i + 1 : 0);             /* sorted, but for the last */
    case LATE_TIE: return (uint32_t)(i + 1 < n ? n - i : n - i + 1); /* falling, but the last two are equal */
    case EQUAL: return 7;
    case ORGAN: return (uint32_t)(i < n / 2 ? i : n - i);
    case SAW: return (uint32_t)(i % 100);
    case SIXTY: return any % 60;
    case GROUPS: return any % 2 ? any : 1u << 30; /* half of them equal */
    case TAIL: return i < n - n / 100 ? (uint32_t)i / 2 : any % (uint32_t)n;
    case LONG_TAIL: return i < n - n / 4 ? (uint32_t)i / 2 : any % (uint32_t)n;
    case RUNS: return (uint32_t)(i % 9000 < 5000 ? i % 9000 : 9000 - i % 9000);
    case HALVES: return (uint32_t)(i < n / 2 ? n + i : i); /* the second half belongs before the first */
    case MIDDLE: return (uint32_t)(i == (16384 + n) / 2 - 10 ? 0 : i); /* where two workers have looked, just before their border */
    default: return any % 50 ? (uint32_t)i : any % (uint32_t)n; /* NEARLY sorted */
    }
}

#endif
