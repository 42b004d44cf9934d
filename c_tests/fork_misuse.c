/* sched_fork and sched_join have no errors to report: misuse ends the process with a message.
 * ctest: static debug
 * ctest: matrix few idle=park threads=1,4 */
#include "child.h"
#include <sched_tasks.h>

static sched_task t;
static struct scheduler *kept;

static void nothing(void *closure, struct scheduler *s)
{
}

static void null_function(void *closure, struct scheduler *s)
{
    sched_fork(&t, NULL, NULL, s);
}

static void keep(void *closure, struct scheduler *s)
{
    kept = s;
}

/* In a child by fork(2) the run has ended: its tasks run in the parent only. */
static void join_in_child(void *closure, struct scheduler *s)
{
    int status;
    sched_fork(&t, nothing, closure, s);
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        alarm(20);
        sched_join(&t, s);
        _exit(0); /* a thief had done it before */
    }
    CHECK(pid > 0);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    sched_join(&t, s);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT)
        abort();
    CHECK_EQ(status, 0);
    CHECK(threads_of(4) > 1 || kind_is("cont")); /* which has it called before the fork */
    check_say("sched_join: the run of s has ended\n"); /* not to be provoked here */
    abort();
}

static void run(void *root)
{
    sched_init(4, 10, *(taskfunc *)root, NULL);
}

static void ended(void *unused)
{
    CHECK_EQ(sched_init(4, 10, keep, NULL), 0);
    sched_fork(&t, nothing, NULL, kept);
}

int main(void)
{
    static taskfunc roots[] = {null_function, join_in_child};
    in_child(run, &roots[0]);
    CHECK_CHILD_ABORTED("sched_fork: f is NULL");
    in_child(ended, NULL);
    CHECK_CHILD_ABORTED("sched_fork: the run of s has ended");
    in_child(run, &roots[1]);
    CHECK_CHILD_ABORTED("sched_join: the run of s has ended");
    return 0;
}
