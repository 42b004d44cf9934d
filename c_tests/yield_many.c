/* Many tasks that yield, fork, spawn and wait for groups between: each ends, with its own variables.
 * ctest: static debug
 * ctest: matrix
 * ctest: matrix deque=mutex,split idle=park join=help
 * ctest: matrix deque=mutex,split idle=park env=SCHED_STACK=64K
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace
 * ctest: matrix deque=split,mutex idle=park threads=2,4 join=help trace */
#include "check.h"
#include <sched_tasks.h>
#include <stdatomic.h>

enum { TASKS = 60, TURNS = 8 * (1 + 4 / SMALLER) };

static atomic_int ended, spawned;

static void leaf(void *closure, struct scheduler *s)
{
    sched_task_yield(s);
    atomic_fetch_add(&spawned, 1);
}

static void add_one(void *closure, struct scheduler *s)
{
    sched_task_yield(s);
    ++*(int *)closure;
    sched_task_yield(s);
}

static void turn(void *closure, struct scheduler *s)
{
    uint64_t x = 1 + (uint64_t)(intptr_t)closure, sum = 0, again = 1 + (uint64_t)(intptr_t)closure;
    int forked = 0, grouped[2] = {0, 0};
    for (int i = 0; i < TURNS; i++) {
        sum += next_random(&x);
        sched_task_yield(s);
        if (i % 8 == 0) {
            sched_task t;
            sched_fork(&t, add_one, &forked, s);
            sched_task_yield(s);
            sched_join(&t, s);
        }
        if (i % 8 == 3) {
            sched_group g = SCHED_GROUP_INIT;
            for (int k = 0; k < 2; k++)
                CHECK_EQ(sched_group_spawn(&g, add_one, &grouped[k], s), 0);
            CHECK_EQ(sched_group_wait(&g, s), 0);
        }
        if (i % 8 == 5)
            CHECK_EQ(sched_spawn(leaf, NULL, s), 0);
    }
    for (int i = 0; i < TURNS; i++)
        sum -= next_random(&again);
    CHECK_EQ(sum, 0);
    CHECK_EQ(forked, TURNS / 8);
    CHECK_EQ(grouped[0] + grouped[1], TURNS / 4);
    atomic_fetch_add(&ended, 1);
}

static void root(void *closure, struct scheduler *s)
{
    for (intptr_t i = 0; i < TASKS; i++)
        CHECK_EQ(sched_spawn(turn, (void *)i, s), 0);
}

int main(void)
{
    for (int run = 1; run <= 3; run++) {
        CHECK_EQ(sched_init(4, 10, root, NULL), 0);
        CHECK_EQ(ended, run * TASKS);
        CHECK_EQ(spawned, run * TASKS * (TURNS / 8));
    }
    return 0;
}
