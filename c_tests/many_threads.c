/* 4096 threads are allowed, 4097 are not, also through SCHED_THREADS.
 * ctest: timeout=60 */
#include "child.h"
#include <stdatomic.h>

static atomic_long ran;

static void leaf(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&ran, 1);
}

static void root(void *closure, struct scheduler *s)
{
    for (int i = 0; i < 10000; i++)
        CHECK_EQ(sched_spawn(leaf, NULL, s), 0);
}

static void too_many(void *arg)
{
    CHECK_ERRNO(sched_init(1, 1, root, NULL), EINVAL);
}

int main(void)
{
    CHECK_ERRNO(sched_init(4097, 0, root, NULL), EINVAL);
    setenv("SCHED_THREADS", "4097", 1);
    in_child(too_many, NULL);
    CHECK_CHILD_EXITED(0);
    CHECK_CHILD_SAID("SCHED_THREADS");
    CHECK_EQ(ran, 0);
    unsetenv("SCHED_THREADS");
    CHECK_EQ(sched_init(4096, 0, root, NULL), 0);
    CHECK_EQ(ran, 10000);
    return 0;
}
