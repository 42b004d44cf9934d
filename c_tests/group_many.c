/* A group may have any number of tasks, spawned by who waits and by the tasks themselves; waits may be
 * repeated, and the group used anew; groups within a group's tasks are groups of their own.
 * ctest: static debug
 * ctest: matrix
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace */
#include "marks.h"
#include <sched_tasks.h>

enum { N = 700 / SMALLER, ROUNDS = 4, NESTED = 3 };

struct node {
    sched_group *group;
    long i;
};

static struct node nodes[MARKS / 1024];
static sched_group global = SCHED_GROUP_INIT, zero;

static void branch(void *closure, struct scheduler *s)
{
    struct node *node = closure;
    mark(node->i);
    for (long child = 2 * node->i + 1; child <= 2 * node->i + 2 && child < N; child++) {
        nodes[child] = (struct node){node->group, child};
        CHECK_EQ(sched_group_spawn(node->group, branch, &nodes[child], s), 0);
    }
    if (node->i % 100 == 0)
        pause_us(50);
}

static void tree(sched_group *group, struct scheduler *s)
{
    nodes[0] = (struct node){group, 0};
    CHECK_EQ(sched_group_spawn(group, branch, &nodes[0], s), 0);
    CHECK_EQ(sched_group_wait(group, s), 0);
    for (long i = 0; i < N; i++)
        CHECK_EQ(marks[i], 1);
    check_marks(N);
}

static void leaf(void *closure, struct scheduler *s)
{
    mark((long)closure);
}

/* At each level a group of three, each with one of its own, down to leaves: 3 + 9 + 27 + 81. */
static void nest(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    sched_group g = SCHED_GROUP_INIT;
    mark(i);
    if (i >= 40)
        return;
    for (long k = 1; k <= NESTED; k++)
        CHECK_EQ(sched_group_spawn(&g, nest, (void *)(NESTED * i + k), s), 0);
    CHECK_EQ(sched_group_wait(&g, s), 0);
    for (long k = 1; k <= NESTED; k++)
        CHECK_EQ(marks[NESTED * i + k], 1);
}

static void root(void *closure, struct scheduler *s)
{
    sched_group local = SCHED_GROUP_INIT;
    CHECK_EQ(sched_group_wait(&local, s), 0); /* nothing to wait for */
    CHECK_EQ(sched_group_wait(&zero, s), 0);
    for (int round = 0; round < ROUNDS; round++) {
        tree(&local, s);
        tree(round % 2 ? &global : &zero, s);
        CHECK_EQ(sched_group_wait(&local, s), 0); /* once more */
    }
    for (long i = 0; i < N; i++) {
        CHECK_EQ(sched_group_spawn(&local, leaf, (void *)i, s), 0);
        if (i % 50 == 0)
            CHECK_EQ(sched_group_wait(&local, s), 0);
    }
    CHECK_EQ(sched_group_wait(&local, s), 0);
    check_marks(N);
    nest((void *)0, s);
}

int main(void)
{
    CHECK_EQ(sched_init(4, 10, root, NULL), 0);
    check_marks(121);
    return 0;
}
