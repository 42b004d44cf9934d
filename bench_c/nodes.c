/* nodes.c: tasks that begin after others have ended: nodes with two edges, and tasks that name three addresses
 * (nodes.h). The first task adds them all, or runs a graph of them that has run before; serial is a plain loop.
 *
 * -s -d graph-lists-0 computes the points from lists of successors and counts of predecessors, as a scheduler does, in
 * plain memory of one thread: no scheduler of one thread can avoid these cache misses. */

#include "bench.h"
#include "nodes.h"

#include <sched_tasks.h>

static struct points points;
static sched_node *nodes;
static sched_graph graph = SCHED_GRAPH_INIT;

static void compute(void *closure, struct scheduler *s)
{
    (void)s;
    point_compute(&points, (struct point *)closure - points.all);
}

static void adds_nodes(struct scheduler *s)
{
    for (long i = 0; i < points.n; i++) {
        struct point *it = &points.all[i];
        if (sched_node_init(&nodes[i], compute, it) != 0)
            bench_die("sched_node_init");
        for (int k = 0; k < 2; k++)
            if (it->before[k] >= 0 && sched_after(&nodes[i], &nodes[it->before[k]]) != 0)
                bench_die("sched_after");
        if (sched_node_ready(&nodes[i], s) != 0)
            bench_die("sched_node_ready");
    }
}

static void adds_by_address(struct scheduler *s)
{
    sched_group group = SCHED_GROUP_INIT;
    for (long i = 0; i < points.n; i++) {
        struct point *it = &points.all[i];
        sched_dep deps[3] = {{it, SCHED_INOUT}};
        size_t n = 1;
        for (int k = 0; k < 2; k++)
            if (it->before[k] >= 0)
                deps[n++] = (sched_dep){&points.all[it->before[k]], SCHED_IN};
        if (sched_group_spawn_after(&group, compute, it, n, deps, s) != 0)
            bench_die("sched_group_spawn_after");
    }
    if (sched_group_wait(&group, s) != 0)
        bench_die("sched_group_wait");
}

static void makes_graph(void)
{
    for (long i = 0; i < points.n; i++)
        if (sched_node_init(&nodes[i], compute, &points.all[i]) != 0 || sched_graph_add(&graph, &nodes[i]) != 0)
            bench_die("sched_graph_add");
    for (long i = 0; i < points.n; i++)
        for (int k = 0; k < 2; k++)
            if (points.all[i].before[k] >= 0 && sched_after(&nodes[i], &nodes[points.all[i].before[k]]) != 0)
                bench_die("sched_after");
}

static void runs_graph(void *closure, struct scheduler *s)
{
    (void)closure;
    if (sched_graph_run(&graph, s) != 0)
        bench_die("sched_graph_run");
}

static void first_task(void *closure, struct scheduler *s)
{
    if (points.again)
        runs_graph(closure, s);
    else if (points.by_address)
        adds_by_address(s);
    else
        adds_nodes(s);
}

/* The lists of a point: the first edge to a successor, the number of predecessors that are not
 * computed, and the edges to the point. */
struct lists {
    struct lists_edge { struct lists *to; struct lists_edge *next; } *after, edges[2];
    int before;
};
static struct lists *lists, **computable;

static void runs_lists(void)
{
    long ready = 0;
    for (long i = 0; i < points.n; i++) {
        struct lists *it = &lists[i];
        it->after = NULL, it->before = 0;
        for (int k = 0; k < 2; k++)
            if (points.all[i].before[k] >= 0) {
                struct lists *before = &lists[points.all[i].before[k]];
                it->edges[k] = (struct lists_edge){it, before->after};
                before->after = &it->edges[k], it->before++;
            }
        if (it->before == 0)
            computable[ready++] = it;
    }
    while (ready > 0) {
        struct lists *it = computable[--ready];
        point_compute(&points, it - lists);
        for (struct lists_edge *edge = it->after; edge != NULL; edge = edge->next)
            if (--edge->to->before == 0)
                computable[ready++] = edge->to;
    }
}

static void serial_run(void *closure)
{
    (void)closure;
    if (points.by_lists) {
        runs_lists();
        return;
    }
    for (long i = 0; i < points.n; i++)
        point_compute(&points, i);
}

static const struct bench_about about = {
    "nodes", "points", 100000, 1, 1L << 28,
    "SHAPE-HOW-TURNS: wave or graph; node, again, address or, with -s, lists (default wave-node-0)",
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    points = points_new(&b);
    nodes = bench_alloc((size_t)points.n, sizeof *nodes);
    lists = bench_alloc((size_t)points.n, sizeof *lists);
    computable = bench_alloc((size_t)points.n, sizeof *computable);

    if (points.again && !b.serial) {
        makes_graph();
        if (sched_init(1, 1, runs_graph, NULL) != 0)
            bench_die("sched_init");
    }
    for (int r = 0; r < b.repetitions; r++) {
        points_clear(&points);

        bench_run(&b, first_task, serial_run, NULL);

        uint64_t sum;
        int right = points_right(&points, &sum);
        bench_line(&b, points.n, sum, right);
    }
    sched_graph_destroy(&graph);
    free(nodes);
    free(lists);
    free(computable);
    free(points.all);
    return bench_end(&b);
}
