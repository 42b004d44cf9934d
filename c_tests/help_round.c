/* Tasks that run in the middle of one that waits have not its rounding mode, and it keeps that.
 * ctest: debug libs=m
 * ctest: matrix kind=steal,lifo,fifo idle=park threads=1 join=help */
#include "check.h"
#include "modes.h"
#include <sched_tasks.h>

enum { CHILDREN = 3 };

static int ran;

static void child(void *closure, struct scheduler *s)
{
    CHECK_EQ(mode_now(), FE_TONEAREST);
    ran++;
}

static void root(void *closure, struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    CHECK_EQ(fesetround(FE_UPWARD), 0);
    for (int i = 0; i < CHILDREN; i++)
        CHECK_EQ(sched_group_spawn(&g, child, NULL, s), 0);
    CHECK_EQ(sched_group_wait(&g, s), 0);
    CHECK_EQ(mode_now(), FE_UPWARD);
    CHECK_EQ(ran, CHILDREN);
    CHECK_EQ(fesetround(FE_TONEAREST), 0);
}

int main(void)
{
    CHECK_EQ(sched_init(1, 8, root, NULL), 0);
    return 0;
}
