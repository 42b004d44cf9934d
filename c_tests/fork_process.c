/* fork(2) among forks: the child process may start runs of its own and fork there, in the task itself,
 * in a child of the task or beside tasks in flight; the parent's joins go on. A group of the
 * parent's run cannot be waited for in the child.
 * ctest: debug
 * ctest: matrix idle=park threads=1,4 */
#include "child.h"
#include "fib.h"

static void process(void *closure, struct scheduler *s)
{
    int status;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        long n = 12;
        alarm(20);
        CHECK_EQ(sched_init(4, 10, fib, &n), 0);
        CHECK_EQ(n, 144);
        _exit(0);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
}

static void root(void *closure, struct scheduler *s)
{
    sched_task tasks[6];
    long n[6];
    for (int i = 0; i < 6; i++) {
        n[i] = 12;
        sched_fork(&tasks[i], i % 2 ? process : fib, &n[i], s);
    }
    process(closure, s);
    for (int i = 5; i >= 0; i--) {
        sched_join(&tasks[i], s);
        CHECK_EQ(n[i], i % 2 ? 12 : 144);
    }
}

static void nothing(void *closure, struct scheduler *s)
{
}

/* The group is not over as long as its own task waits. */
static void waits(void *closure, struct scheduler *s)
{
    int status;
    sched_group *g = closure;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(20);
        CHECK_ERRNO(sched_group_spawn(g, nothing, NULL, s), EINVAL);
        CHECK_ERRNO(sched_group_wait(g, s), EINVAL);
        _exit(0);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
}

static void groups(void *closure, struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    CHECK_EQ(sched_group_spawn(&g, waits, &g, s), 0);
    CHECK_EQ(sched_group_wait(&g, s), 0);
}

int main(void)
{
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(sched_init(4, 10, root, NULL), 0);
        CHECK_EQ(sched_init(4, 10, groups, NULL), 0);
    }
    return 0;
}
