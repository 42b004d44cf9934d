/* A forked child that has its parent's number, in a namespace of its own: a container's process 1 that calls
 * unshare(CLONE_NEWPID) and forks. It is a child all the same; also where the kernel cannot empty pages at a fork
 * (before Linux 4.14).
 * ctest: static
 * ctest: matrix deque=mutex,split idle=park threads=1,4 */
#include "child.h"
#include "nodes.h"
#include "seccomp.h"

/* Process 1 of a namespace; so are its descendants, each of one of its own. */
static void first(int depth)
{
    CHECK_EQ(getpid(), 1);
    run_nodes();
    if (depth == 0)
        return;
    CHECK_EQ(unshare(CLONE_NEWPID), 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(20);
        first(depth - 1);
        _exit(7);
    }
    CHECK_EQ(wait_for(pid), 7 << 8); /* SIGALRM: it hung */
    /* A thread cannot be made any more: the next child is of another namespace. */
}

static void body(void *old_kernel)
{
    setenv("SCHED_WARM", "1min", 1);
    if (unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0)
        skip("namespaces are refused here");
    if (old_kernel)
        no_advice(18); /* MADV_WIPEONFORK */
    pid_t pid = fork();
    if (pid < 0)
        skip("a namespace of processes is refused here");
    if (pid == 0) {
        first(2);
        _exit(7);
    }
    CHECK_EQ(wait_for(pid), 7 << 8);
}

int main(void)
{
    static int yes;
    in_child(body, NULL);
    CHECK_CHILD_PASSED();
    in_child(body, &yes);
    CHECK_CHILD_PASSED();
    return 0;
}
