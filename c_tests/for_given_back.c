/* A loop whose body leaves tasks in the queue: the loop waits for units that it has offered, its own worker gives them
 * back, and the loop may go on with them on another worker, which is then the owner. All units are done once, and so are
 * all tasks.
 * ctest: debug matrix kind=steal deque=split,chaselev idle=park,spin threads=2,4 */
#include "check.h"
#include <sched_tasks.h>
#include <stdatomic.h>

enum { LOOPS = 2000 / SMALLER, UNITS = 24 };

static atomic_int units[UNITS], tasks;
static sched_group group = SCHED_GROUP_INIT;

static void task(void *closure, struct scheduler *s)
{
    for (volatile int turn = 0; turn < 500; turn++)
        ;
    tasks++;
}

static void body(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    for (size_t i = lo; i < hi; i++) {
        units[i]++;
        CHECK_EQ(sched_group_spawn(&group, task, NULL, s), 0);
        for (volatile int turn = 0; turn < 1500; turn++)
            ;
    }
}

static void root(void *closure, struct scheduler *s)
{
    for (int loop = 1; loop <= LOOPS; loop++) {
        CHECK_EQ(sched_for(0, UNITS, 0, body, NULL, s), 0);
        for (int i = 0; i < UNITS; i++)
            CHECK_EQ(units[i], loop);
        CHECK_EQ(sched_group_wait(&group, s), 0);
        CHECK_EQ(tasks, loop * UNITS);
    }
}

int main(void)
{
    CHECK_EQ(sched_init(0, 64, root, NULL), 0);
    return 0;
}
