/* killer.h: a comparison that makes a quicksort slow. */
#ifndef KILLER_H
#define KILLER_H

/* M. D. McIlroy, "A killer adversary for quicksort", 1999: an element gets its value when a comparison needs it, and the
 * one that looks like the pivot gets the least value left. */
enum { KILLED = 2000, GAS = KILLED };
static int worth[KILLED], solid, candidate;
static long comparisons;

static int killer(int x, int y)
{
    comparisons++;
    if (worth[x] == GAS && worth[y] == GAS)
        worth[x == candidate ? x : y] = solid++;
    if (worth[x] == GAS)
        candidate = x;
    else if (worth[y] == GAS)
        candidate = y;
    return worth[x] < worth[y];
}

#endif
