/* With one worker, tasks that yield in a loop keep step: never more than 10 turns apart, whatever else is
 * queued.
 * ctest: static debug
 * ctest: matrix threads=1
 * ctest: matrix threads=1 deque=mutex,split idle=park join=help
 * ctest: matrix threads=1 deque=mutex,split idle=park env=SCHED_SEED=7
 * ctest: matrix threads=1 deque=mutex,split idle=park overflow=refuse
 * ctest: matrix threads=1 deque=mutex,split idle=park env=SCHED_STACK=64K */
#include "check.h"
#include <sched_tasks.h>

enum { TURNS = 2000, APART = 10, MOST = 5 };

static int turns[MOST], tasks;
static int others;

static void other(void *closure, struct scheduler *s)
{
    (void)closure;
    (void)s;
    others++;
}

static void turn(void *closure, struct scheduler *s)
{
    int *mine = closure;
    while (*mine < TURNS) {
        ++*mine;
        for (int i = 0; i < tasks; i++)
            if (turns[i] < *mine - APART)
                CHECK_EQ(turns[i], *mine);
        if (tasks == MOST)
            CHECK_EQ(sched_spawn(other, NULL, s), 0);
        sched_task_yield(s);
    }
}

static void root(void *closure, struct scheduler *s)
{
    (void)closure;
    for (int i = 0; i < tasks; i++)
        CHECK_EQ(sched_spawn(turn, &turns[i], s), 0);
}

int main(void)
{
    for (tasks = 2; tasks <= MOST; tasks++) {
        memset(turns, 0, sizeof turns);
        CHECK_EQ(sched_init(1, 2 * MOST, root, NULL), 0);
        for (int i = 0; i < tasks; i++)
            CHECK_EQ(turns[i], TURNS);
    }
    CHECK_EQ(others, MOST * TURNS);
    return 0;
}
