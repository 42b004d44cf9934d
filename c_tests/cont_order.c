/* Kind cont with one worker: every spawn and every fork is a call. The program runs in its serial order, tasks
 * that others fork, copy or group included, and a join finds its child over.
 * ctest: matrix kind=cont threads=1
 * ctest: matrix kind=cont threads=1 idle=park join=help
 * ctest: matrix kind=cont threads=1 idle=park env=SCHED_SEED=3 */
#include "check.h"
#include <sched_tasks.h>

enum { DEPTH = 6 };

static long step;

/* The steps that a tree of this depth takes: one before its children and one after each. */
static long steps(long depth)
{
    return depth == 0 ? 1 : 1 + 4 * (steps(depth - 1) + 1);
}

static void node(void *closure, struct scheduler *s);

static void copied(void *arg, struct scheduler *s)
{
    node(*(void **)arg, s);
}

static void node(void *closure, struct scheduler *s)
{
    long depth = (long)closure, at = ++step;
    void *below = (void *)(depth - 1);
    sched_task t;
    sched_group g = SCHED_GROUP_INIT;
    if (depth == 0)
        return;
    for (int child = 0; child < 4; child++) {
        switch (child) {
        case 0:
            CHECK_EQ(sched_spawn(node, below, s), 0);
            break;
        case 1:
            sched_fork(&t, node, below, s);
            break;
        case 2:
            CHECK_EQ(sched_group_spawn(&g, node, below, s), 0);
            break;
        default:
            CHECK_EQ(sched_spawn_copy(copied, &below, sizeof below, s), 0);
        }
        at += steps(depth - 1) + 1;
        CHECK_EQ(++step, at);
    }
    sched_join(&t, s);
    CHECK_EQ(sched_group_wait(&g, s), 0);
    CHECK_EQ(step, at);
}

int main(void)
{
    for (long depth = 0; depth <= DEPTH; depth++) {
        step = 0;
        CHECK_EQ(sched_init(1, 4, node, (void *)depth), 0);
        CHECK_EQ(step, steps(depth));
    }
    return 0;
}
