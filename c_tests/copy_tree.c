/* A task may spawn copies out of its own copy, over and over; it is not used for another task
 * before the task has returned.
 * ctest: matrix threads=1,4
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace */
#include "marks.h"
#include <sched_tasks.h>

enum { N = 3000 / SMALLER };

struct node {
    long i;
    char filling[100];
};

static void task(void *copy, struct scheduler *s)
{
    struct node *node = copy;
    long i = node->i;
    for (size_t k = 0; k < sizeof node->filling; k++)
        CHECK_EQ(node->filling[k], (char)i);
    for (long child = 2 * i + 1; child <= 2 * i + 2 && child < N; child++) {
        node->i = child;
        memset(node->filling, (char)child, sizeof node->filling);
        CHECK_EQ(sched_spawn_copy(task, node, sizeof *node, s), 0);
    }
    node->i = i;
    memset(node->filling, (char)i, sizeof node->filling);
    if (i % 100 == 0)
        pause_us(50);
    CHECK_EQ(node->i, i);
    for (size_t k = 0; k < sizeof node->filling; k++)
        CHECK_EQ(node->filling[k], (char)i);
    mark(i);
}

static void root(void *closure, struct scheduler *s)
{
    struct node first = {0, {0}};
    CHECK_EQ(sched_spawn_copy(task, &first, sizeof first, s), 0);
}

int main(void)
{
    for (int run = 0; run < 3; run++) {
        CHECK_EQ(sched_init(4, 10, root, NULL), 0);
        check_marks(N);
    }
    return 0;
}
