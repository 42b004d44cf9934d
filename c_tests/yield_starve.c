/* With one worker, a task that yields goes on however many others come: each task here spawns the next
 * and yields.
 * ctest: matrix kind=steal,fifo,serial threads=1 */
#include "check.h"
#include <sched_tasks.h>

enum { MOST = 20000 };

static int begun, first_went_on;

static void next(void *closure, struct scheduler *s)
{
    int number = ++begun;
    if (number < MOST && !first_went_on)
        CHECK_EQ(sched_spawn(next, closure, s), 0);
    sched_task_yield(s);
    if (number == 1)
        first_went_on = 1;
}

int main(void)
{
    CHECK_EQ(sched_init(1, 10, next, NULL), 0);
    CHECK(first_went_on);
    CHECK(begun < 1000);
    return 0;
}
