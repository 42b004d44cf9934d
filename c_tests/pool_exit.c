/* exit, _exit and quick_exit end a process at once while a pool lives: with or without tasks in it,
 * by the thread that made it or by a task.
 * ctest: static
 * ctest: matrix deque=mutex,split idle=park,spin threads=1,4 */
#include "child.h"
#include "leave.h"
#include "pool.h"

enum { EMPTY, BUSY, BY_TASK };

static void body(void *deed)
{
    static int begun;
    struct sched_pool *pool = pool_of(4);
    int what = *(int *)deed;
    if (what == BY_TASK)
        CHECK_EQ(sched_pool_run(pool, leave_task, NULL), 0);
    if (what == BUSY)
        CHECK_EQ(sched_pool_submit(pool, compute, &begun), 0);
    pause_us(2000);
    leave(NULL);
}

int main(void)
{
    for (int deed = EMPTY; deed <= BY_TASK; deed++)
        for (way = 0; way < WAYS_OUT; way++) {
            in_child(body, &deed);
            CHECK_CHILD_EXITED(40 + way);
        }
    return 0;
}
