/* futex denied by seccomp in the middle of a run, to a worker that others sleep beside: the
 * run completes, perhaps a second late.
 * ctest: matrix kind=steal,cont deque=split,chaselev,spin,fair,adaptive idle=park threads=2,4 */
#include "child.h"
#include "seccomp.h"
#include <stdatomic.h>

enum { LEAVES = 100 };

static atomic_int ran;

static void leaf(void *closure, struct scheduler *s)
{
    ran++;
}

static void root(void *closure, struct scheduler *s)
{
    static const long futex = SYS_futex;
    pause_us(30000); /* all others sleep now */
    deny(&futex, 1, EPERM);
    for (int i = 0; i < LEAVES; i++)
        CHECK_EQ(sched_spawn(leaf, closure, s), 0);
}

static void body(void *arg)
{
    CHECK_EQ(sched_init(4, 4, root, arg), 0);
    CHECK_EQ(ran, LEAVES);
}

int main(void)
{
    in_child_without_futex(body, NULL);
    CHECK_CHILD_PASSED();
    return 0;
}
