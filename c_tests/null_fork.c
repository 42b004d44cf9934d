/* fork() beside the default pool, busy or not, or in a task of it: the child makes its own at the next use, and the
 * parent's goes on. What waits in the child for the parent's tasks is told that their run has ended.
 * ctest: static debug
 * ctest: matrix deque=split,mutex,chaselev idle=park,spin threads=1,4 */
#include "child.h"
#include "null.h"
#include "proc.h"

static sched_sem never = SCHED_SEM_INIT(0);
static sched_group waiting = SCHED_GROUP_INIT;
static atomic_int released;

static void wait_for_release(void *closure, struct scheduler *s)
{
    while (!released)
        sched_task_yield(s);
}

static void in_the_child(void *arg)
{
    CHECK_EQ(thread_count(), 1);
    if (waiting.state) {
        CHECK_ERRNO(sched_group_wait(&waiting, NULL), EINVAL);
        CHECK_ERRNO(sched_sem_wait(&never, NULL), EINVAL);
    }
    null_works();
    CHECK(thread_count() > 1);
    CHECK(sched_worker_count(NULL) >= threads_of(sched_default_threads()));
    null_works();
}

/* A child that exits, and one of it. */
static void in_a_grandchild(void *arg)
{
    in_the_child(arg);
    waiting.state = 0;
    in_child(in_the_child, NULL);
    CHECK_CHILD_EXITED(0);
    exit(0);
}

static void forks(void *closure, struct scheduler *s)
{
    in_child(in_the_child, NULL);
    CHECK_CHILD_EXITED(0);
    null_works();
}

static void fork_within(void)
{
    sched_task t;
    sched_fork(&t, forks, NULL, NULL);
    sched_join(&t, NULL);
}

int main(void)
{
    in_child(in_the_child, NULL); /* before the first use */
    CHECK_CHILD_EXITED(0);
    null_works();
    in_child(in_a_grandchild, NULL);
    CHECK_CHILD_EXITED(0);
    fork_within();
    for (int i = 0; i < 3; i++)
        CHECK_EQ(sched_group_spawn(&waiting, wait_for_release, NULL, NULL), 0);
    in_child(in_a_grandchild, NULL);
    CHECK_CHILD_EXITED(0);
    fork_within();
    released = 1;
    CHECK_EQ(sched_group_wait(&waiting, NULL), 0);
    null_works();
    return 0;
}
