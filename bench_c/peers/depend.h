/* depend.h: the workloads of bench_c whose tasks are ordered by what they read and write. */

#ifndef DEPEND_H
#define DEPEND_H

#include "../align.h"
#include "../nodes.h"
#include "../sparselu.h"

/* Runs all points, steps or blocks as tasks, and waits for them. From a task. Of the ways of
 * nodes.h only address is meant. */
static void peer_points(struct points *p);
static void peer_lu(const struct lu *lu);
static void peer_align(const struct align *al);
/* Runs the seven products of m, and the four quadrants of C, which read them. */
static void peer_strassen(const struct strassen *m, double *space);

static struct points depend_points;
static struct lu depend_lu;
static struct align depend_align;

static void depend_points_first(struct arg a)
{
    (void)a;
    peer_points(&depend_points);
}

static void depend_lu_first(struct arg a)
{
    (void)a;
    peer_lu(&depend_lu);
}

static void depend_align_first(struct arg a)
{
    (void)a;
    peer_align(&depend_align);
}

static void nodes_main(struct bench *b)
{
    depend_points = points_new(b);
    for (int r = 0; r < b->repetitions; r++) {
        points_clear(&depend_points);
        peer_timed(b, depend_points_first, arg1(0));
        uint64_t sum;
        int right = points_right(&depend_points, &sum);
        peer_line(b, b->n, sum, right);
    }
    free(depend_points.all);
}

static void sparselu_main(struct bench *b)
{
    depend_lu = lu_new(b);
    for (int r = 0; r < b->repetitions; r++) {
        lu_clear(&depend_lu);
        peer_timed(b, depend_lu_first, arg1(0));
        uint64_t sum;
        int right = lu_right(&depend_lu, &sum);
        peer_line(b, depend_lu.steps, sum, right);
    }
    lu_free(&depend_lu);
}

static void align_main(struct bench *b)
{
    depend_align = align_new(b);
    for (int r = 0; r < b->repetitions; r++) {
        align_clear(&depend_align);
        peer_timed(b, depend_align_first, arg1(0));
        uint64_t sum;
        int right = align_right(&depend_align, &sum);
        peer_line(b, depend_align.blocks * depend_align.blocks, sum, right);
    }
    align_free(&depend_align);
}

static void depend_strassen(void *closure)
{
    const struct strassen *m = (const struct strassen *)closure;
    if (strassen_is_leaf(m)) {
        strassen_leaf(m);
        return;
    }
    double *space = strassen_space(m);
    peer_strassen(m, space);
    free(space);
}

static void depend_product(const struct strassen *m, double *space, int i)
{
    struct strassen product = strassen_product(m, i, space);
    depend_strassen(&product);
}

static void strassen_address_main(struct bench *b)
{
    dense_main(b, depend_strassen, 7 + 4);
}

#define DEPEND_WORKLOADS                                                                                 \
    {{"nodes", "points", 100000, 1, 1L << 28, "SHAPE-address-TURNS: wave or graph"}, nodes_main},        \
    {{"sparselu", "rows and columns of blocks", 50, 1, 400, "rows and columns of a block (default 16)"}, \
     sparselu_main},                                                                                     \
    {{"align", "letters", 2048, 1, 1L << 15, "rows and columns of a block (default 32)"}, align_main},   \
    {{"strassen_address", "rows and columns", 512, 1, 8192, NULL}, strassen_address_main}

#endif
