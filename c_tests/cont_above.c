/* Kind cont: a task that gives way, or waits, keeps no stacks for children that it may have later, however deep
 * those before have gone: many such tasks need a stack each.
 * ctest: matrix kind=cont idle=park threads=1,4 env=SCHED_STACK=64K
 * ctest: matrix kind=cont idle=park threads=1,4 env=SCHED_STACK=64K args=waits */
#include "proc.h"
#include <sched_tasks.h>
#include <stdatomic.h>

enum { TASKS = 300, DEPTH = 30, MOST_KB = (TASKS + 2 * DEPTH + 300) * 400 };

static atomic_int there;
static sched_sem go_on;
static int waits;

static void deeper(void *closure, struct scheduler *s)
{
    long left = (long)closure;
    if (left > 0)
        CHECK_EQ(sched_spawn(deeper, (void *)(left - 1), s), 0);
}

static void task(void *closure, struct scheduler *s)
{
    deeper(closure, s);
    there++;
    if (waits)
        CHECK_EQ(sched_sem_wait(&go_on, s), 0);
    else
        while (there < TASKS)
            sched_task_yield(s);
}

static void root(void *closure, struct scheduler *s)
{
    long before = status_kb("VmSize");
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(sched_spawn(task, (void *)(long)DEPTH, s), 0);
    while (there < TASKS)
        sched_task_yield(s);
    long more = status_kb("VmSize") - before;
    if (more >= MOST_KB)
        CHECK_EQ(more, MOST_KB);
    for (int i = 0; i < TASKS && waits; i++)
        CHECK_EQ(sched_sem_post(&go_on), 0);
}

int main(int argc, char **argv)
{
    waits = argc > 1;
    one_heap();
    CHECK_EQ(sched_sem_init(&go_on, 0), 0);
    CHECK_EQ(sched_init(4, 4, root, NULL), 0);
    CHECK_EQ(there, TASKS);
    return 0;
}
