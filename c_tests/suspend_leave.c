/* A task that has waited, and goes on in another thread perhaps, leaves as any: exit, _exit, quick_exit,
 * and fork with a run in the child; a message where it ends its thread, or returns in the child.
 * ctest: static debug
 * ctest: matrix deque=mutex,split,chaselev idle=park threads=1,2,4
 * ctest: matrix deque=mutex,split idle=park threads=1,4 env=SCHED_JOIN=help */
#include "aside.h"
#include "child.h"
#include "leave.h"

static void waits(void *closure, struct scheduler *s)
{
    (void)closure;
    for (int i = 0; i < 100; i++)
        sched_task_yield(s);
}

static void others(struct scheduler *s)
{
    for (int i = 0; i < 10; i++)
        CHECK_EQ(sched_spawn(waits, NULL, s), 0);
    change_thread(s);
    sched_task_yield(s);
}

static void leaves(void *closure, struct scheduler *s)
{
    (void)closure;
    others(s);
    leave(s);
}

static void ends(void *closure, struct scheduler *s)
{
    (void)closure;
    others(s);
    pthread_exit(NULL);
}

static void is_cancelled(void *closure, struct scheduler *s)
{
    (void)closure;
    others(s);
    pthread_cancel(pthread_self());
    for (;;)
        pthread_testcancel();
}

static void inner(void *closure, struct scheduler *s)
{
    int *ran = closure;
    change_thread(s);
    sched_task_yield(s);
    *ran = 1;
}

static void forks(void *closure, struct scheduler *s)
{
    int status, ran = 0;
    others(s);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(20);
        CHECK_ERRNO(sched_spawn(inner, &ran, s), EINVAL);
        sched_task_yield(s);
        for (int i = 0; i < 3; i++) {
            ran = 0;
            CHECK_EQ(sched_init(2, 4, inner, &ran), 0);
            CHECK(ran);
        }
        _exit(0);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
    sched_task_yield(s);
    change_thread(s);
    *(int *)closure = 1;
}

static void child_of(void *closure, struct scheduler *s)
{
    (void)closure;
    change_thread(s);
    if (fork() == 0)
        return; /* to a task that waits in the parent */
    _exit(0);
}

static void waits_for_child(void *closure, struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    (void)closure;
    CHECK_EQ(sched_group_spawn(&g, child_of, NULL, s), 0);
    sched_group_wait(&g, s);
    check_say("went on in the child\n");
}

static void run(void *task)
{
    sched_init(4, 4, *(taskfunc *)task, NULL);
    check_say("sched_init came back\n");
}

int main(void)
{
    taskfunc leaving = leaves, ending = ends, cancelled = is_cancelled, returning = waits_for_child;
    for (way = 0; way < WAYS_OUT; way++) {
        in_child(run, &leaving);
        check_child(__FILE__, __LINE__,
                    WIFEXITED(child.status) && WEXITSTATUS(child.status) == 40 + way, "exit");
    }
    in_child(run, &ending);
    CHECK_CHILD_ABORTED("pthread_exit");
    in_child(run, &cancelled);
    CHECK_CHILD_ABORTED("cancel");
    in_child(run, &returning);
    CHECK_CHILD_SAID("returned in a child");
    CHECK(strstr(child.said, "went on in the child") == NULL);
    for (int i = 0; i < 3; i++) {
        int done = 0;
        CHECK_EQ(sched_init(4, 4, forks, &done), 0);
        CHECK(done);
    }
    return 0;
}
