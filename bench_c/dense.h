/* dense.h: products of square matrices, for our programs and for the peers: no scheduler here.
 *
 * The entries are small integers, so every sum is exact in doubles. The order of additions does not matter, and the
 * answer can be checked to the last bit. */

#ifndef DENSE_H
#define DENSE_H

#include "measure.h"

enum { DENSE_LEAF = 32 }; /* a product of at most this size in each direction is not divided */

/* An n by n matrix in row order; parts of it keep its stride. */
static inline double *dense_new(long n)
{
    return (double *)bench_alloc((size_t)n * (size_t)n, sizeof(double));
}

static inline void dense_fill(double *a, long n, uint64_t seed)
{
    for (long i = 0; i < n * n; i++)
        a[i] = (double)(long)(bench_mix(seed + (uint64_t)i) % 9) - 4;
}

/* Two doubles at a time, by hand: some compilers do this by themselves at -O2 and others do not, and this is not a
 * comparison of compilers. */
typedef double dense_pair __attribute__((vector_size(16), aligned(8), may_alias));

/* C += A B, where A is rows by inner and B inner by columns. The serial program and the tasks call the same function:
 * if it were inlined, the loop might be faster in one of them. */
__attribute__((noinline, unused)) static void
dense_leaf(double *c, const double *a, const double *b, long rows, long inner,
                              long columns, long cs, long as, long bs)
{
    for (long i = 0; i < rows; i++) {
        for (long k = 0; k < inner; k++) {
            double factor = a[i * as + k], *out = c + i * cs;
            const double *row = b + k * bs;
            dense_pair factors = {factor, factor};
            long j = 0;
            for (; j + 1 < columns; j += 2)
                *(dense_pair *)(out + j) += factors * *(const dense_pair *)(row + j);
            if (j < columns)
                out[j] += factor * row[j];
        }
    }
}

/* True if C = A B, by Freivalds' check: C x = A (B x) for a well mixed vector x. */
static inline int dense_right(const double *c, const double *a, const double *b, long n,
                              uint64_t *sum)
{
    double *x = (double *)bench_alloc((size_t)(2 * n), sizeof *x), *bx = x + n;
    int right = 1;
    *sum = 0;
    for (long i = 0; i < n; i++)
        x[i] = (double)(bench_mix((uint64_t)i) % 1021);
    for (long i = 0; i < n; i++) {
        bx[i] = 0;
        for (long j = 0; j < n; j++)
            bx[i] += b[i * n + j] * x[j];
    }
    for (long i = 0; i < n; i++) {
        double left = 0, wanted = 0;
        for (long j = 0; j < n; j++) {
            left += c[i * n + j] * x[j];
            wanted += a[i * n + j] * bx[j];
            *sum += bench_mix((uint64_t)(i * n + j)) * (uint64_t)(long)c[i * n + j];
        }
        right = right && left == wanted;
    }
    free(x);
    return right;
}

/* --- matmul --------------------------------------------------------------------- */

/* A product that is divided in two along its longest side, like the recursive matmul of
 * Frigo and others (1999). */
struct matmul {
    double *c;
    const double *a, *b;
    long rows, inner, columns;
    long stride; /* of all three */
};

static inline struct matmul matmul_whole(double *c, const double *a, const double *b, long n)
{
    struct matmul whole;
    whole.c = c;
    whole.a = a;
    whole.b = b;
    whole.rows = whole.inner = whole.columns = whole.stride = n;
    return whole;
}

enum matmul_cut {
    MATMUL_LEAF,
    MATMUL_APART,   /* the halves may run at the same time ... */
    MATMUL_IN_TURN  /* ... or add to the same part of C */
};

/* Halves *m: the second half is put into *other. */
static inline enum matmul_cut matmul_cut(struct matmul *m, struct matmul *other)
{
    long longest = m->rows > m->columns ? m->rows : m->columns;
    longest = longest > m->inner ? longest : m->inner;
    if (longest <= DENSE_LEAF)
        return MATMUL_LEAF;
    *other = *m;
    long half = longest / 2;
    if (m->rows == longest) {
        m->rows = half;
        other->rows -= half;
        other->a += half * m->stride;
        other->c += half * m->stride;
        return MATMUL_APART;
    }
    if (m->columns == longest) {
        m->columns = half;
        other->columns -= half;
        other->b += half;
        other->c += half;
        return MATMUL_APART;
    }
    m->inner = half;
    other->inner -= half;
    other->a += half;
    other->b += half * m->stride;
    return MATMUL_IN_TURN;
}

static inline void matmul_leaf(const struct matmul *m)
{
    dense_leaf(m->c, m->a, m->b, m->rows, m->inner, m->columns, m->stride, m->stride, m->stride);
}

static inline void matmul_serial(struct matmul m)
{
    struct matmul other;
    if (matmul_cut(&m, &other) == MATMUL_LEAF) {
        matmul_leaf(&m);
        return;
    }
    matmul_serial(m);
    matmul_serial(other);
}

static inline long matmul_forks(struct matmul m)
{
    struct matmul other;
    enum matmul_cut cut = matmul_cut(&m, &other);
    return cut == MATMUL_LEAF ? 0 : (cut == MATMUL_APART) + matmul_forks(m) + matmul_forks(other);
}

/* --- strassen -------------------------------------------------------------------- */

/* Quadrants: 0 and 1 above, 2 and 3 below. Each of the seven products multiplies a sum of
 * quadrants of A by one of B: first + sign * second. */
static const struct strassen_operand {
    int first, second, sign;
} strassen_operands[7][2] = {
    {{0, 3, 1}, {0, 3, 1}},  {{2, 3, 1}, {0, 0, 0}},  {{0, 0, 0}, {1, 3, -1}}, {{3, 0, 0}, {2, 0, -1}},
    {{0, 1, 1}, {3, 0, 0}},  {{2, 0, -1}, {0, 1, 1}}, {{1, 3, -1}, {2, 3, 1}},
};

/* The factor of each product in each quadrant of C. */
static const int strassen_shares[4][7] = {
    {1, 0, 0, 1, -1, 0, 1}, {0, 0, 1, 0, 1, 0, 0}, {0, 1, 0, 1, 0, 0, 0}, {1, -1, 1, 0, 0, 1, 0},
};

/* C = A B of size n, which is a power of two times a number of at most DENSE_LEAF. */
struct strassen {
    double *c; /* stride n */
    const double *a, *b;
    long n, as, bs;
};

static inline int strassen_is_leaf(const struct strassen *m)
{
    return m->n <= DENSE_LEAF || m->n % 2 != 0;
}

static inline void strassen_leaf(const struct strassen *m)
{
    memset(m->c, 0, (size_t)(m->n * m->n) * sizeof *m->c);
    dense_leaf(m->c, m->a, m->b, m->n, m->n, m->n, m->n, m->as, m->bs);
}

static inline void strassen_operand(double *out, const double *a, long stride, long half,
                                    struct strassen_operand o)
{
    const double *first = a + (o.first / 2 * stride + o.first % 2) * half;
    const double *second = a + (o.second / 2 * stride + o.second % 2) * half;
    for (long i = 0; i < half; i++)
        for (long j = 0; j < half; j++)
            out[i * half + j] = first[i * stride + j] + o.sign * second[i * stride + j];
}

/* Product i of the seven of m; it and its two operands are stored in `space`. */
static inline struct strassen strassen_product(const struct strassen *m, int i, double *space)
{
    long half = m->n / 2;
    struct strassen product;
    product.c = space;
    product.a = space + half * half;
    product.b = space + 2 * half * half;
    product.n = product.as = product.bs = half;
    strassen_operand(space + half * half, m->a, m->as, half, strassen_operands[i][0]);
    strassen_operand(space + 2 * half * half, m->b, m->bs, half, strassen_operands[i][1]);
    return product;
}

/* The place of product i of m in the space for all seven. */
static inline double *strassen_place(const struct strassen *m, double *space, int i)
{
    return space + 3 * i * (m->n / 2) * (m->n / 2);
}

static inline double *strassen_space(const struct strassen *m)
{
    return (double *)bench_alloc((size_t)(21 * (m->n / 2) * (m->n / 2)), sizeof(double));
}

/* Computes a quadrant of C from its share of the seven products. */
static inline void strassen_quadrant(const struct strassen *m, double *space, int q)
{
    long half = m->n / 2;
    double *c = m->c + (q / 2 * m->n + q % 2) * half;
    for (long i = 0; i < half; i++)
        memset(c + i * m->n, 0, (size_t)half * sizeof *c);
    for (int p = 0; p < 7; p++) {
        int share = strassen_shares[q][p];
        const double *product = strassen_place(m, space, p);
        for (long i = 0; share != 0 && i < half; i++)
            for (long j = 0; j < half; j++)
                c[i * m->n + j] += share * product[i * half + j];
    }
}

static inline void strassen_combine(const struct strassen *m, double *space)
{
    for (int q = 0; q < 4; q++)
        strassen_quadrant(m, space, q);
}

static inline void strassen_serial(struct strassen m)
{
    if (strassen_is_leaf(&m)) {
        strassen_leaf(&m);
        return;
    }
    double *space = strassen_space(&m);
    for (int i = 0; i < 7; i++)
        strassen_serial(strassen_product(&m, i, strassen_place(&m, space, i)));
    strassen_combine(&m, space);
    free(space);
}

/* The number of products that are divided. */
static inline long strassen_cuts(long n)
{
    return n <= DENSE_LEAF || n % 2 != 0 ? 0 : 1 + 7 * strassen_cuts(n / 2);
}

#endif
