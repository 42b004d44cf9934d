/* A task that locks its mutex again would wait for itself; the library says so, after a yield, too.
 * ctest: debug */
#include "child.h"
#include <sched_tasks.h>

static sched_mutex m = SCHED_MUTEX_INIT;

static void task(void *closure, struct scheduler *s)
{
    sched_mutex_lock(&m, s);
    sched_task_yield(s);
    sched_mutex_lock(&m, s);
}

static void body(void *arg)
{
    sched_init(2, 10, task, NULL);
}

int main(void)
{
    in_child(body, NULL);
    CHECK_CHILD_ABORTED("libsched");
    CHECK_CHILD_SAID("sched_mutex_lock: the caller has locked the mutex already");
    return 0;
}
