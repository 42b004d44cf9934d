/* align.h: the table of a local alignment of two sequences of n letters (T. Smith and M. Waterman,
 * 1981), our own words and code, in square blocks. A block reads the last row of the block above
 * it, the last column of the one to its left, and the last cell of the one at their corner, so the
 * blocks of a diagonal may be filled at the same time. A block's last cell is its address. -d is
 * the number of rows and columns of a block. */

#ifndef ALIGN_H
#define ALIGN_H

#include "measure.h"

struct align {
    long n, rows, blocks; /* of a block; in a row and in a column */
    unsigned char *down, *across;
    float *cell, *right; /* n + 1 rows and columns, of which the first are zero */
    size_t cells;
};

/* The last cell of block (i, j); i and j count from 1. The cells of a block 0 are zero. */
static inline float *align_block(const struct align *al, long i, long j)
{
    long row = i < al->blocks ? i * al->rows : al->n, column = j < al->blocks ? j * al->rows : al->n;
    return al->cell + row * (al->n + 1) + column;
}

/* One instruction. For integers some compilers make a branch here, which is often mispredicted. */
static inline float align_most(float a, float b)
{
    return a > b ? a : b;
}

/* Fills the block that ends in this cell: 2 for equal letters, -1 for others and for a gap. */
static inline void align_fill(const struct align *al, const float *block)
{
    const long width = al->n + 1, end = block - al->cell, last = end / width;
    for (long i = (last - 1) / al->rows * al->rows + 1; i <= last; i++) {
        float *row = al->cell + i * width, *above = row - width;
        long j = (end % width - 1) / al->rows * al->rows + 1;
        for (float left = row[j - 1]; j <= end % width; j++) {
            float both = above[j - 1] + (float)(3 * (al->down[i - 1] == al->across[j - 1]) - 1);
            float best = align_most(align_most(both, above[j] - 1), 0);
            row[j] = left = align_most(best, left - 1);
        }
    }
}

static inline void align_clear(struct align *al)
{
    memset(al->cell, 0, al->cells * sizeof *al->cell);
}

static inline struct align align_new(const struct bench *b)
{
    struct align al;
    al.n = b->n;
    al.rows = b->data != NULL ? bench_number(b->about, 'd', b->data, 1, 1L << 20) : 32;
    al.blocks = (al.n + al.rows - 1) / al.rows;
    al.cells = (size_t)((al.n + 1) * (al.n + 1));
    al.down = (unsigned char *)bench_alloc((size_t)al.n, 2);
    al.across = al.down + al.n;
    for (long i = 0; i < 2 * al.n; i++)
        al.down[i] = (unsigned char)(bench_mix((uint64_t)i) % 4);
    al.cell = (float *)bench_alloc(al.cells, sizeof(float));
    al.right = (float *)bench_alloc(al.cells, sizeof(float));
    align_clear(&al);
    struct align whole = al; /* one block, so row by row */
    whole.rows = al.n;
    align_fill(&whole, al.cell + al.cells - 1);
    memcpy(al.right, al.cell, al.cells * sizeof(float));
    return al;
}

/* True if the table equals the table of one block. */
static inline int align_right(const struct align *al, uint64_t *sum)
{
    *sum = 0;
    for (size_t i = 0; i < al->cells; i++)
        *sum += bench_mix((uint64_t)al->cell[i] + i);
    return memcmp(al->cell, al->right, al->cells * sizeof(float)) == 0;
}

static inline void align_free(struct align *al)
{
    free(al->down);
    free(al->cell);
    free(al->right);
}

#endif
