/* nodes.h: a binary tree of tasks, each of which is counted. */
#ifndef NODES_H
#define NODES_H

#include "check.h"
#include <stdatomic.h>

static atomic_int ran;

/* A task: the root of a tree of this depth, which has 2^(depth + 1) - 1 tasks. */
static void node(void *closure, struct scheduler *s)
{
    long depth = (long)closure;
    atomic_fetch_add(&ran, 1);
    for (int i = 0; i < 2 && depth > 0; i++)
        CHECK_EQ(sched_spawn(node, (void *)(depth - 1), s), 0);
}

/* Runs a tree of depth 5. */
static inline void run_nodes(void)
{
    ran = 0;
    CHECK_EQ(sched_init(4, 4, node, (void *)5), 0);
    CHECK_EQ(ran, 63);
}

#endif
