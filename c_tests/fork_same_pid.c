/* A forked child that has its parent's number, in a namespace of its own: a container's process 1 that calls
 * unshare(CLONE_NEWPID) and forks. It is a child all the same; also where the kernel cannot empty pages at a fork
 * (before Linux 4.14).
 * ctest: static
 * ctest: matrix deque=mutex,split idle=park threads=1,4 */
#include "child.h"
#include "seccomp.h"
#include <stdatomic.h>

static atomic_int ran;

static void node(void *closure, struct scheduler *s)
{
    long depth = (long)closure;
    atomic_fetch_add(&ran, 1);
    for (int i = 0; i < 2 && depth > 0; i++)
        CHECK_EQ(sched_spawn(node, (void *)(depth - 1), s), 0);
}

static void run(void)
{
    ran = 0;
    CHECK_EQ(sched_init(4, 4, node, (void *)5), 0);
    CHECK_EQ(ran, 63);
}

/* Process 1 of a namespace; so are its descendants, each of one of its own. */
static void first(int depth)
{
    CHECK_EQ(getpid(), 1);
    run();
    if (depth == 0)
        return;
    int status;
    CHECK_EQ(unshare(CLONE_NEWPID), 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(20);
        first(depth - 1);
        _exit(7);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(!WIFSIGNALED(status)); /* SIGALRM: it hung */
    CHECK_EQ(status, 7 << 8);
    /* A thread cannot be made any more: the next child is of another namespace. */
}

static void body(void *old_kernel)
{
    setenv("SCHED_WARM", "1min", 1);
    if (unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0)
        skip("namespaces are refused here");
    if (old_kernel)
        no_advice(18); /* MADV_WIPEONFORK */
    int status;
    pid_t pid = fork();
    if (pid < 0)
        skip("a namespace of processes is refused here");
    if (pid == 0) {
        first(2);
        _exit(7);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 7 << 8);
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
