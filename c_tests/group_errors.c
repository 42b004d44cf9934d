/* What the functions of groups refuse, with EINVAL: NULL for g or f, and the s of a run that has
 * ended; nothing has changed then. NULL is no cancelled group.
 * ctest: static debug
 * ctest: matrix few idle=park threads=1,4 */
#include "check.h"
#include <sched_tasks.h>

static sched_group g = SCHED_GROUP_INIT;
static struct scheduler *kept;
static int ran;

static void task(void *closure, struct scheduler *s)
{
    ran++;
}

static void root(void *closure, struct scheduler *s)
{
    kept = s;
    CHECK_ERRNO(sched_group_spawn(NULL, task, NULL, s), EINVAL);
    CHECK_ERRNO(sched_group_spawn(&g, NULL, NULL, s), EINVAL);
    CHECK_ERRNO(sched_group_spawn(&g, NULL, NULL, NULL), EINVAL);
    CHECK_ERRNO(sched_group_wait(NULL, s), EINVAL);
    CHECK_ERRNO(sched_group_wait(NULL, NULL), EINVAL);
    sched_group_cancel(NULL);
    CHECK_EQ(sched_group_cancelled(NULL), 0);
    CHECK_EQ(sched_group_wait(&g, s), 0);
    CHECK_EQ(sched_group_spawn(&g, task, NULL, s), 0);
    CHECK_EQ(sched_group_wait(&g, s), 0);
}

int main(void)
{
    for (int run = 1; run <= 3; run++) {
        CHECK_EQ(sched_init(4, 10, root, NULL), 0);
        CHECK_EQ(ran, run);
        CHECK_ERRNO(sched_group_spawn(&g, task, NULL, kept), EINVAL);
        CHECK_EQ(sched_group_wait(&g, kept), 0); /* it has no task */
    }
    CHECK_EQ(ran, 3);
    return 0;
}
