/* A chain of forks, each child forking the next: as deep as the stacks allow, run by their parents
 * or, where these wait for a thief, handed from worker to worker.
 * ctest: static
 * ctest: matrix refuse */
#include "aside.h"
#include <stdatomic.h>

enum { DEEP = 6000 / SMALLER, HANDED = 500 / SMALLER };

struct level {
    long depth, sum;
    int hand; /* wait for a thief */
    atomic_int begun;
};

static void go_down(void *closure, struct scheduler *s)
{
    struct level *level = closure;
    level->begun = 1;
    level->sum = level->depth;
    if (level->depth == 0)
        return;
    struct level below = {.depth = level->depth - 1, .hand = level->hand};
    sched_task t;
    sched_fork(&t, go_down, &below, s);
    for (unsigned turns = 0; level->hand && turns < 2000 && !below.begun;)
        spin(&turns);
    sched_join(&t, s);
    level->sum += below.sum;
}

static void descend(long depth, int hand)
{
    struct level top = {.depth = depth, .hand = hand};
    CHECK_EQ(sched_init(4, 10, go_down, &top), 0);
    CHECK_EQ(top.sum, depth * (depth + 1) / 2);
}

int main(void)
{
    descend(DEEP, 0);
    descend(HANDED, threads_of(4) > 1);
    return 0;
}
