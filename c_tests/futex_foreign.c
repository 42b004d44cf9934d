/* A foreign thread to which futex is denied spawns into a running scheduler, contending with
 * its workers: nothing is lost and the run ends.
 * ctest: matrix kind=steal deque=split,chaselev,spin idle=park,spin threads=4 timeout=60 */
#include "child.h"
#include "seccomp.h"
#include <stdatomic.h>

enum { LEAVES = 30000 };

static struct scheduler *_Atomic run;
static atomic_int ran, done;

static void leaf(void *closure, struct scheduler *s)
{
    ran++;
}

static void root(void *closure, struct scheduler *s)
{
    run = s;
    while (!done)
        sched_yield();
}

static void *stranger(void *arg)
{
    static const long futex = SYS_futex;
    while (!run)
        sched_yield();
    deny(&futex, 1, EPERM);
    for (int i = 0; i < LEAVES; i++)
        CHECK_EQ(sched_spawn(leaf, arg, run), 0);
    done = 1;
    return NULL;
}

static void body(void *arg)
{
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, stranger, arg), 0);
    CHECK_EQ(sched_init(4, 4, root, arg), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(ran, LEAVES);
}

int main(void)
{
    in_child_without_futex(body, NULL);
    CHECK_CHILD_PASSED();
    return 0;
}
