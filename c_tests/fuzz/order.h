/* order.h: the meaning of the numbers of the statement `order`, for its execution and for its
 * prediction. Nothing here calls the library. */
#ifndef ORDER_H
#define ORDER_H

#include "program.h"

enum by { BY_NODES, BY_ADDRESSES, BY_GRAPH, ORDERS };

/* The tasks by their places in the order, in which edges lead to higher places only; and how they come about. */
struct shape {
    int block[MOST_BLOCKS];         /* of the task at each place */
    unsigned before[MOST_BLOCKS];   /* bits: the places of its predecessors in the last run */
    unsigned at_first[MOST_BLOCKS]; /* the number of these that are predecessors in each run */
    size_t runs;
};

/* The i-th number that the seed says about one thing. */
enum thing {
    PLACES, DENSITY, EDGE, LATER, TURN, EDGES_LATE, IN_GROUP, PAUSE, GATED, ENDER, EARLY_END, WAIT, USES, CELL, ACCESS
};

static inline size_t drawn(const struct statement *now, enum thing thing, size_t i)
{
    return (size_t)(part(part(now->n[1], thing), i) >> 20);
}

/* A permutation (R. Fisher and F. Yates, 1938). */
static inline void permute(int *numbers, const struct statement *now, enum thing thing)
{
    for (int i = 0; i < now->blocks; i++) {
        int j = (int)(drawn(now, thing, (size_t)i) % (unsigned)(i + 1));
        numbers[i] = numbers[j];
        numbers[j] = i;
    }
}

static inline enum by by_what(const struct statement *now)
{
    return (enum by)(now->n[0] % ORDERS);
}

static inline struct shape shape_of(const struct statement *now)
{
    struct shape shape = {.runs = by_what(now) == BY_GRAPH ? 2 : 1};
    size_t density = 1 + drawn(now, DENSITY, 0) % 4; /* 4: the tasks are in a chain */
    permute(shape.block, now, PLACES);
    for (size_t place = 0, edge = 0; place < (unsigned)now->blocks; place++)
        for (size_t before = 0; before < place; before++, edge++)
            if (drawn(now, EDGE, edge) % 4 < density) {
                shape.before[place] |= 1u << before;
                if (shape.runs == 1 || drawn(now, LATER, edge) % 4)
                    shape.at_first[place] |= 1u << before;
            }
    return shape;
}

/* The predecessors of a place in the run of that number. */
static inline unsigned before_in_run(const struct shape *shape, int place, size_t run)
{
    return run + 1 < shape->runs ? shape->at_first[place] : shape->before[place];
}

/* The value that the task at a place leaves, from the value of its block and from its predecessors'
 * values. */
static inline uint64_t left_at(uint64_t value, unsigned before, const uint64_t *left)
{
    for (int i = 0; i < MOST_BLOCKS; i++)
        if (before >> i & 1)
            value = mix(value + left[i]);
    return value;
}

/* --- by addresses ------------------------------------------------------- */

enum { CELLS = 4, MOST_USES = 5 };

/* A use of a cell by a task, which may use a cell twice. */
struct use {
    size_t cell;
    int reads, writes;
};

/* Writes the uses of the task of a block; returns their number. */
static inline int uses_of(const struct statement *now, int block, struct use *use)
{
    int n = (int)(drawn(now, USES, (size_t)block) % (MOST_USES + 1));
    for (int i = 0; i < n; i++) {
        size_t at = (size_t)(MOST_USES * block + i), access = 1 + drawn(now, ACCESS, at) % 3;
        use[i] = (struct use){drawn(now, CELL, at) % CELLS, access & 1, access >> 1 & 1};
    }
    return n;
}

static inline uint64_t cells_read(const struct use *use, int n, const uint64_t *cell)
{
    uint64_t value = 0;
    for (int i = 0; i < n; i++)
        if (use[i].reads)
            value = mix(value + cell[use[i].cell]);
    return value;
}

static inline void write_cells(uint64_t value, const struct use *use, int n, uint64_t *cell)
{
    for (int i = 0; i < n; i++)
        if (use[i].writes)
            cell[use[i].cell] = part(value, (size_t)i);
}

#endif
