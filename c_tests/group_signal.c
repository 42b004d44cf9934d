/* A signal handler may cancel a group and ask whether it was cancelled: its tasks that have not begun will not.
 * ctest: matrix threads=1 */
#include "check.h"
#include <sched_tasks.h>

static sched_group g = SCHED_GROUP_INIT;
static volatile sig_atomic_t before = -1, after = -1;
static int ran;

static void cancel(int sig)
{
    before = sched_group_cancelled(&g);
    sched_group_cancel(&g);
    after = sched_group_cancelled(&g);
}

static void member(void *closure, struct scheduler *s)
{
    if (++ran == 3)
        CHECK_EQ(raise(SIGUSR1), 0);
}

static void root(void *closure, struct scheduler *s)
{
    for (int i = 0; i < 10; i++)
        CHECK_EQ(sched_group_spawn(&g, member, NULL, s), 0);
    CHECK_ERRNO(sched_group_wait(&g, s), ECANCELED);
}

int main(void)
{
    CHECK(signal(SIGUSR1, cancel) != SIG_ERR);
    CHECK_EQ(sched_init(1, 0, root, NULL), 0);
    CHECK_EQ(before, 0);
    CHECK_EQ(after, 1);
    CHECK_EQ(ran, 3);
    return 0;
}
