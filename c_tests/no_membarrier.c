/* membarrier denied by seccomp, or unknown to the kernel: the same results.
 * ctest: matrix kind=lifo,steal threads=1,4 deque=mutex,split,chaselev */
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

static void body(void *error)
{
    long call = SYS_membarrier;
    deny(&call, 1, (unsigned)(long)error);
    for (int round = 1; round <= 5; round++) {
        CHECK_EQ(sched_init(4, 4, node, (void *)8), 0);
        CHECK_EQ(ran, 511 * round);
    }
}

int main(void)
{
    static const int errors[] = {EPERM, ENOSYS};
    for (int i = 0; i < 2; i++) {
        in_child(body, (void *)(long)errors[i]);
        if (WIFEXITED(child.status) && WEXITSTATUS(child.status) == 77)
            skip(child.said);
        CHECK_CHILD_EXITED(0);
    }
    return 0;
}
