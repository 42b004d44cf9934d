/* Debug builds of the library find descriptors that are NULL, joined twice, never forked, of another
 * run, copied, or not joined, and end the process with a message.
 * ctest: debug=only
 * ctest: matrix few idle=park threads=1,4 */
#include "child.h"
#include <sched_tasks.h>

static sched_task t;

static void nothing(void *closure, struct scheduler *s)
{
}

static void forks_null(void *closure, struct scheduler *s)
{
    sched_fork(NULL, nothing, closure, s);
}

static void joins_null(void *closure, struct scheduler *s)
{
    sched_join(NULL, s);
}

static void joins_twice(void *closure, struct scheduler *s)
{
    sched_fork(&t, nothing, closure, s);
    sched_join(&t, s);
    sched_join(&t, s);
}

static void never_forks(void *closure, struct scheduler *s)
{
    sched_join(&t, s);
}

static void joins(void *closure, struct scheduler *s)
{
    sched_join(&t, s);
}

static void forks_outside(void *closure, struct scheduler *s)
{
    sched_fork(&t, nothing, closure, s);
    sched_init(4, 10, joins, NULL);
}

static void copies(void *closure, struct scheduler *s)
{
    sched_task copy;
    sched_fork(&t, nothing, closure, s);
    copy = t;
    sched_join(&copy, s);
}

static void never_joins(void *closure, struct scheduler *s)
{
    sched_fork(&t, nothing, closure, s);
}

static void child_never_joins(void *closure, struct scheduler *s)
{
    sched_task child;
    sched_fork(&child, never_joins, closure, s);
    sched_join(&child, s);
}

static void member_never_joins(void *closure, struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    CHECK_EQ(sched_group_spawn(&g, never_joins, closure, s), 0);
    CHECK_EQ(sched_group_wait(&g, s), 0);
}

static void run(void *root)
{
    memset(&t, 0, sizeof t);
    alarm(20);
    sched_init(4, 10, *(taskfunc *)root, NULL);
}

int main(void)
{
    static const struct {
        taskfunc root;
        const char *says;
    } cases[] = {
        {forks_null, "sched_fork: t is NULL"},
        {joins_null, "sched_join: t is NULL"},
        {joins_twice, "sched_join: the task was joined already"},
        {never_forks, "sched_join: the descriptor was not forked"},
        {forks_outside, "sched_join: the task was forked in another run"},
        {copies, "its descriptor was copied"},
        {never_joins, "a task (never_joins), or one that it has joined, did not join"},
        {child_never_joins, "_joins), or one that it has joined, did not join"},
        {member_never_joins, "a task (never_joins), or one that it has joined, did not join"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        taskfunc root = cases[i].root;
        in_child(run, &root);
        CHECK_CHILD_ABORTED("libsched");
        CHECK_CHILD_SAID(cases[i].says);
    }
    return 0;
}
