/* sparselu.h: the LU factorisation of a sparse matrix of dense blocks, without pivots, as in the
 * Barcelona OpenMP Tasks Suite (A. Duran and others, 2009), in our own words and code: n rows and
 * columns of blocks, of which about a seventh are there at first. Steps that name the blocks which
 * they read and write need no other order (the KASTORS suite; P. Virouleau and others, 2014).
 *
 * In turn k the block of the diagonal is factored; the blocks to its right and below it are divided
 * by its factors; and a product is subtracted from each block below and to the right of both, which
 * creates some blocks. -d is the number of rows and columns of a block. */

#ifndef SPARSELU_H
#define SPARSELU_H

#include "measure.h"

enum lu_kind { LU_DIAGONAL, LU_RIGHT, LU_BELOW, LU_INNER };

struct lu_step {
    enum lu_kind kind;
    /* The blocks that the task reads: two blocks of an inner step, none of the diagonal's; and the
     * block that it changes. */
    double *left, *above, *block;
};

struct lu {
    long n, rows, steps;
    double **blocks; /* NULL: all zero, and stays so */
    struct lu_step *step; /* in the order of the serial program */
    double *memory, *given, *right;
    size_t numbers;
};

static inline void lu_run(const struct lu *lu, const struct lu_step *st)
{
    const long m = lu->rows;
    double *x = st->block;
    const double *l = st->left, *u = st->above;
    switch (st->kind) {
    case LU_DIAGONAL:
        for (long k = 0; k < m; k++)
            for (long i = k + 1; i < m; i++) {
                x[i * m + k] /= x[k * m + k];
                for (long j = k + 1; j < m; j++)
                    x[i * m + j] -= x[i * m + k] * x[k * m + j];
            }
        break;
    case LU_RIGHT: /* by the lower factor of the diagonal's block */
        for (long k = 0; k < m; k++)
            for (long i = k + 1; i < m; i++)
                for (long j = 0; j < m; j++)
                    x[i * m + j] -= l[i * m + k] * x[k * m + j];
        break;
    case LU_BELOW: /* by the upper factor */
        for (long i = 0; i < m; i++)
            for (long k = 0; k < m; k++) {
                x[i * m + k] /= u[k * m + k];
                for (long j = k + 1; j < m; j++)
                    x[i * m + j] -= x[i * m + k] * u[k * m + j];
            }
        break;
    case LU_INNER:
        for (long i = 0; i < m; i++)
            for (long k = 0; k < m; k++)
                for (long j = 0; j < m; j++)
                    x[i * m + j] -= l[i * m + k] * u[k * m + j];
        break;
    }
}

/* The blocks that are there at first: the diagonal and those beside it, and of the others every sixth or so. */
static inline int lu_is_given(long i, long j)
{
    if (i - j <= 1 && j - i <= 1)
        return 1;
    return i % 2 == 0 && j % 2 == 0 && (i < j ? i : j) % 3 == 0;
}

static inline void lu_add(struct lu *lu, enum lu_kind kind, double *left, double *above, double *block)
{
    if (lu->step != NULL) {
        struct lu_step *st = &lu->step[lu->steps];
        st->kind = kind;
        st->left = left;
        st->above = above;
        st->block = block;
    }
    lu->steps++;
}

/* Writes down the steps, or only counts them. */
static inline void lu_add_steps(struct lu *lu)
{
    const long n = lu->n;
    double **blocks = lu->blocks;
    lu->steps = 0;
    for (long k = 0; k < n; k++) {
        double *diagonal = blocks[k * n + k];
        lu_add(lu, LU_DIAGONAL, NULL, NULL, diagonal);
        for (long j = k + 1; j < n; j++)
            if (blocks[k * n + j] != NULL)
                lu_add(lu, LU_RIGHT, diagonal, NULL, blocks[k * n + j]);
        for (long i = k + 1; i < n; i++)
            if (blocks[i * n + k] != NULL)
                lu_add(lu, LU_BELOW, NULL, diagonal, blocks[i * n + k]);
        for (long i = k + 1; i < n; i++)
            for (long j = k + 1; j < n; j++)
                if (blocks[i * n + k] != NULL && blocks[k * n + j] != NULL)
                    lu_add(lu, LU_INNER, blocks[i * n + k], blocks[k * n + j], blocks[i * n + j]);
    }
}

static inline void lu_clear(struct lu *lu)
{
    memcpy(lu->memory, lu->given, lu->numbers * sizeof *lu->memory);
}

static inline struct lu lu_new(const struct bench *b)
{
    struct lu lu;
    memset(&lu, 0, sizeof lu);
    lu.n = b->n;
    lu.rows = b->data != NULL ? bench_number(b->about, 'd', b->data, 1, 1024) : 16;
    const long n = lu.n, size = lu.rows * lu.rows;
    unsigned char *there = (unsigned char *)bench_alloc((size_t)(n * n), 1);
    long count = 0;
    for (long i = 0; i < n * n; i++)
        there[i] = (unsigned char)lu_is_given(i / n, i % n);
    for (long k = 0; k < n; k++)
        for (long i = k + 1; i < n; i++)
            for (long j = k + 1; j < n; j++)
                there[i * n + j] |= there[i * n + k] & there[k * n + j];
    for (long i = 0; i < n * n; i++)
        count += there[i];
    lu.numbers = (size_t)(count * size);
    lu.memory = (double *)bench_alloc(lu.numbers, sizeof(double));
    lu.given = (double *)bench_alloc(lu.numbers, sizeof(double));
    lu.right = (double *)bench_alloc(lu.numbers, sizeof(double));
    lu.blocks = (double **)bench_alloc((size_t)(n * n), sizeof *lu.blocks);
    memset(lu.given, 0, lu.numbers * sizeof(double));
    double *next = lu.memory;
    for (long i = 0; i < n * n; i++) {
        lu.blocks[i] = there[i] ? next : NULL;
        next += there[i] ? size : 0;
        for (long k = 0; there[i] && lu_is_given(i / n, i % n) && k < size; k++) {
            double x = (double)(bench_mix((uint64_t)(i * size + k)) % 1024) / 1024;
            int is_diagonal = i / n == i % n && k / lu.rows == k % lu.rows;
            lu.given[lu.blocks[i] - lu.memory + k] = is_diagonal ? x + (double)(4 * n * lu.rows) : x;
        }
    }
    free(there);
    lu_add_steps(&lu);
    lu.step = (struct lu_step *)bench_alloc((size_t)lu.steps, sizeof *lu.step);
    lu_add_steps(&lu);
    lu_clear(&lu);
    for (long i = 0; i < lu.steps; i++)
        lu_run(&lu, &lu.step[i]);
    memcpy(lu.right, lu.memory, lu.numbers * sizeof(double));
    return lu;
}

/* True if the numbers are those of the serial program, to the last bit. */
static inline int lu_right(const struct lu *lu, uint64_t *sum)
{
    *sum = 0;
    for (size_t i = 0; i < lu->numbers; i++) {
        uint64_t bits;
        memcpy(&bits, &lu->memory[i], sizeof bits);
        *sum += bench_mix(bits + i);
    }
    return memcmp(lu->memory, lu->right, lu->numbers * sizeof(double)) == 0;
}

static inline void lu_free(struct lu *lu)
{
    free(lu->blocks);
    free(lu->step);
    free(lu->memory);
    free(lu->given);
    free(lu->right);
}

#endif
