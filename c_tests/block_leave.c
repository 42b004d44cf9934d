/* Ways out of a blocking section: exit, _exit, quick_exit; fork with a run in the child, where the parent's s
 * is refused; pthread_exit and cancellation, which end the process with a message, as elsewhere; an
 * overflow of the stack says so.
 * ctest: static debug
 * ctest: matrix deque=mutex,split,chaselev idle=park threads=1,2,4
 * ctest: matrix deque=mutex,split idle=park threads=2 env=SCHED_WARM=0 */
#include "block.h"
#include "child.h"
#include "leave.h"

static void busy(void *closure, struct scheduler *s)
{
    (void)closure;
    for (int i = 0; i < 20; i++) {
        sched_task_yield(s);
        block(10, s);
    }
}

static void others(struct scheduler *s)
{
    spawn_all(5, busy, s);
    begin(s);
    pause_us(500);
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

static __attribute__((noinline)) int deep(volatile char *above, long levels)
{
    volatile char room[4096];
    room[0] = *above;
    return levels == 0 ? 0 : deep(room, levels - 1) + room[0];
}

static void overflows(void *closure, struct scheduler *s)
{
    volatile char here = 0;
    (void)closure;
    others(s);
    deep(&here, LONG_MAX);
}

static void inner(void *closure, struct scheduler *s)
{
    block(100, s);
    *(int *)closure = 1;
}

static void forks(void *closure, struct scheduler *s)
{
    int status, ran = 0;
    others(s);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(20);
        CHECK_ERRNO(sched_block_end(s), EINVAL);
        CHECK_ERRNO(sched_block_begin(s), EINVAL);
        for (int i = 0; i < 3; i++) {
            ran = 0;
            CHECK_EQ(sched_init(2, 4, inner, &ran), 0);
            CHECK(ran);
        }
        _exit(0);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
    end(s);
    *(int *)closure = 1;
}

static void start(void *task)
{
    sched_init(2, 4, *(taskfunc *)task, NULL);
    check_say("sched_init came back\n");
}

int main(void)
{
    taskfunc leaving = leaves, ending = ends, cancelled = is_cancelled, deepest = overflows;
    for (way = 0; way < WAYS_OUT; way++) {
        in_child(start, &leaving);
        check_child(__FILE__, __LINE__,
                    WIFEXITED(child.status) && WEXITSTATUS(child.status) == 40 + way, "exit");
    }
    in_child(start, &ending);
    CHECK_CHILD_ABORTED("pthread_exit");
    in_child(start, &cancelled);
    CHECK_CHILD_ABORTED("cancel");
    in_child(start, &deepest);
    CHECK_CHILD_SAID("overflowed its stack");
    for (int i = 0; i < 5; i++) {
        int done = 0;
        CHECK_EQ(sched_init(2, 4, forks, &done), 0);
        CHECK(done);
    }
    return 0;
}
