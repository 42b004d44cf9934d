/* treef.c: a binary tree of tasks that do nothing: each forks one child, calls the other, and joins the first.
 *
 * treef_typed.c is this program with sched_typed.h. */

#include "bench.h"

#ifndef TREEF_NAME
#define TREEF_NAME "treef"
#include <sched_tasks.h>
#endif

struct node {
    long depth, leaves;
};

#ifdef LIBSCHED_SCHED_TYPED_H

SCHED_TASK(long, tree, long, depth)
{
    if (depth == 0)
        return 1;
    tree_task other;
    SCHED_FORK(tree, &other, depth - 1);
    long leaves = SCHED_CALL(tree, depth - 1);
    return leaves + SCHED_JOIN(tree, &other);
}

#else

static void node_task(void *closure, struct scheduler *s);

static long tree(long depth, struct scheduler *s)
{
    if (depth == 0)
        return 1;
    sched_task other;
    struct node node = {depth - 1, 0};
    sched_fork(&other, node_task, &node, s);
    long leaves = tree(depth - 1, s);
    sched_join(&other, s);
    return leaves + node.leaves;
}

#endif

static void node_task(void *closure, struct scheduler *s)
{
    struct node *node = closure;
    node->leaves = tree(node->depth, s);
}

static long tree_serial(long depth)
{
    return depth == 0 ? 1 : tree_serial(depth - 1) + tree_serial(depth - 1);
}

static void serial_run(void *closure)
{
    struct node *node = closure;
    node->leaves = tree_serial(node->depth);
}

static const struct bench_about about = {TREEF_NAME, "depth", 20, 0, 30, NULL};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    long tasks = 1L << b.n; /* the first task, and one fork for each node with children */

    for (int r = 0; r < b.repetitions; r++) {
        struct node root = {b.n, 0};

        bench_run(&b, node_task, serial_run, &root);

        bench_line(&b, tasks, (uint64_t)root.leaves, root.leaves == tasks);
    }
    return bench_end(&b);
}
