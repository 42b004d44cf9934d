/* membarrier denied by seccomp, or unknown to the kernel: the same results. A child of fork that
 * returns from its task runs none of the parent's others.
 * ctest: matrix kind=lifo,steal,cont threads=1,4 deque=mutex,split,chaselev */
#include "child.h"
#include "nodes.h"
#include "seccomp.h"

static void body(void *error)
{
    long call = SYS_membarrier;
    deny(&call, 1, (unsigned)(long)error);
    for (int round = 1; round <= 5; round++) {
        CHECK_EQ(sched_init(4, 4, node, (void *)8), 0);
        CHECK_EQ(ran, 511 * round);
    }
}

static void here_only(void *closure, struct scheduler *s)
{
    (void)closure, (void)s;
    CHECK_EQ(getpid(), *(pid_t *)closure);
}

static void fork_and_return(void *closure, struct scheduler *s)
{
    for (int i = 0; i < 10; i++)
        CHECK_EQ(sched_spawn(here_only, closure, s), 0);
    pid_t pid = fork();
    if (pid == 0)
        return;
    int status = wait_for(pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void forking(void *error)
{
    long call = SYS_membarrier;
    pid_t me = getpid();
    deny(&call, 1, (unsigned)(long)error);
    CHECK_EQ(sched_init(1, 16, fork_and_return, &me), 0);
}

int main(void)
{
    static const int errors[] = {EPERM, ENOSYS};
    for (int i = 0; i < 2; i++) {
        in_child(body, (void *)(long)errors[i]);
        CHECK_CHILD_PASSED();
        in_child(forking, (void *)(long)errors[i]);
        CHECK_CHILD_EXITED(0);
    }
    return 0;
}
