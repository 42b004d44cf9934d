/* depend.h: the workloads of bench_c whose tasks are ordered by what they read and write. */

#ifndef DEPEND_H
#define DEPEND_H

#include "../nodes.h"
#include "../sparselu.h"

/* Runs all points, or all steps, as tasks, and waits for them. From a task. Of the ways of nodes.h only address is meant. */
static void peer_points(struct points *p);
static void peer_lu(const struct lu *lu);

static struct points depend_points;
static struct lu depend_lu;

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

#define DEPEND_WORKLOADS                                                                                 \
    {{"nodes", "points", 100000, 1, 1L << 28, "SHAPE-address-TURNS: wave or graph"}, nodes_main},        \
    {{"sparselu", "rows and columns of blocks", 50, 1, 400, "rows and columns of a block (default 16)"}, \
     sparselu_main}

#endif
