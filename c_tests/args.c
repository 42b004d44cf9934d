/* What sched_init and sched_spawn make of their arguments, good and bad.
 * ctest: static
 * ctest:
 * ctest: env=SCHED_KIND=lifo
 * ctest: env=SCHED_KIND=serial
 * ctest: matrix deque=mutex idle=park threads=2 */
#include "check.h"

static int ran;
static struct scheduler *stale;

static void leaf(void *closure, struct scheduler *s)
{
    ++*(int *)closure;
}

static void root(void *closure, struct scheduler *s)
{
    stale = s;
    ran++;
    CHECK_ERRNO(sched_spawn(NULL, closure, s), EINVAL);
    CHECK_ERRNO(sched_spawn(NULL, NULL, NULL), EINVAL);
    CHECK_EQ(sched_spawn(leaf, closure, s), 0);
}

int main(void)
{
    static const int counts[] = {0, -1, 1, 2, 16, INT_MIN};
    int leaves = 0;

    CHECK_ERRNO(sched_init(1, 1, NULL, &leaves), EINVAL);
    if (!getenv("SCHED_THREADS")) { /* which wins over the argument */
        CHECK_ERRNO(sched_init(4097, 1, root, &leaves), EINVAL);
        CHECK_ERRNO(sched_init(INT_MAX, 1, root, &leaves), EINVAL);
    }
    CHECK_ERRNO(sched_spawn(NULL, &leaves, NULL), EINVAL);
    CHECK_EQ(ran, 0);

    for (int i = 0; i < (int)(sizeof counts / sizeof *counts); i++) {
        CHECK_EQ(sched_init(counts[i], 1, root, &leaves), 0);
        CHECK_EQ(ran, i + 1);
        CHECK_EQ(leaves, i + 1);
        CHECK_ERRNO(sched_spawn(root, &leaves, stale), EINVAL);
    }
    CHECK_EQ(ran, (int)(sizeof counts / sizeof *counts));
    return 0;
}
