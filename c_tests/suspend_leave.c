/* A task that has waited, and goes on in another thread perhaps, leaves as any: exit, _exit, quick_exit,
 * and fork with a run in the child; a message where it ends its thread, or returns in the child.
 * ctest: static debug
 * ctest: matrix deque=mutex,split,chaselev idle=park threads=1,2,4
 * ctest: matrix deque=mutex,split idle=park threads=1,4 join=help */
#include "aside.h"
#include "leaving.h"

static void waits(void *closure, struct scheduler *s)
{
    for (int i = 0; i < 100; i++)
        sched_task_yield(s);
}

static void get_ready(struct scheduler *s)
{
    for (int i = 0; i < 10; i++)
        CHECK_EQ(sched_spawn(waits, NULL, s), 0);
    change_thread(s);
    sched_task_yield(s);
}

static void go_on(struct scheduler *s)
{
    sched_task_yield(s);
    change_thread(s);
}

static void try_parents(struct scheduler *s)
{
    CHECK_ERRNO(sched_spawn(waits, NULL, s), EINVAL);
    sched_task_yield(s);
}

static void inner(void *closure, struct scheduler *s)
{
    change_thread(s);
    sched_task_yield(s);
    *(int *)closure = 1;
}

static void child_of(void *closure, struct scheduler *s)
{
    change_thread(s);
    if (fork() == 0)
        return; /* to a task that waits in the parent */
    _exit(0);
}

static void waits_for_child(void *closure, struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    CHECK_EQ(sched_group_spawn(&g, child_of, NULL, s), 0);
    sched_group_wait(&g, s);
    check_say("went on in the child\n");
}

int main(void)
{
    check_leaving(3);
    run_in_child(waits_for_child);
    CHECK_CHILD_SAID("returned in a child");
    CHECK(strstr(child.said, "went on in the child") == NULL);
    return 0;
}
