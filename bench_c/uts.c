/* uts.c: the Unbalanced Tree Search, T1: a task for each node, which computes a SHA-1.
 *
 * uts_deep.c is this program on T3, and uts_typed.c with sched_typed.h. */

#ifndef UTS_NAME
#define UTS_NAME "uts"
#define UTS_SHAPE UTS_GEOMETRIC
#define UTS_SIZE "depth (10: T1 as published)", 10, 0, 15
#endif

#include "bench.h"
#include "uts.h"

#include <alloca.h>
#ifndef LIBSCHED_SCHED_TYPED_H
#include <sched_tasks.h>
#endif

struct visit {
    sched_task task;
    struct uts_node node;
    long nodes; /* below, and itself */
};

static struct uts_tree tree;

#ifdef LIBSCHED_SCHED_TYPED_H

SCHED_TASK(long, count_nodes, struct uts_node, node)
{
    long sum = 1;
    int count = uts_children(&tree, &node);
    count_nodes_task *children = count > 0 ? alloca((size_t)count * sizeof *children) : NULL;
    for (int i = 0; i < count; i++)
        SCHED_FORK(count_nodes, &children[i], uts_child(&node, i));
    while (count > 0)
        sum += SCHED_JOIN(count_nodes, &children[--count]);
    return sum;
}

static void visit(void *closure, struct scheduler *s)
{
    struct visit *v = closure;
    v->nodes = count_nodes(v->node, s);
}

#else

static void visit(void *closure, struct scheduler *s)
{
    struct visit *v = closure;
    long sum = 1;
    int count = uts_children(&tree, &v->node);
    struct visit *children = count > 0 ? alloca((size_t)count * sizeof *children) : NULL;
    for (int i = 0; i < count; i++) {
        children[i].node = uts_child(&v->node, i);
        sched_fork(&children[i].task, visit, &children[i], s);
    }
    while (count > 0) {
        struct visit *child = &children[--count];
        sched_join(&child->task, s);
        sum += child->nodes;
    }
    v->nodes = sum;
}

#endif

static void serial_run(void *closure)
{
    struct visit *v = closure;
    v->nodes = uts_count(&tree, &v->node);
}

static const struct bench_about about = {UTS_NAME, UTS_SIZE, NULL};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    tree = uts_tree(UTS_SHAPE, b.n);
    long nodes = uts_nodes(&tree);

    for (int r = 0; r < b.repetitions; r++) {
        struct visit root;
        root.node = uts_root(&tree);
        root.nodes = 0;

        bench_run(&b, visit, serial_run, &root);

        bench_line(&b, nodes, (uint64_t)root.nodes, root.nodes == nodes);
    }
    return bench_end(&b);
}
