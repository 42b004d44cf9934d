/* futex denied by seccomp: a pool is slower, and does the same.
 * ctest: matrix idle=park deque=mutex,split threads=1,4 timeout=60 */
#include "child.h"
#include "nodes.h"
#include "pool.h"
#include "seccomp.h"

static void body(void *arg)
{
    static const long calls[] = {SYS_futex, 449 /* waitv */, 454, 455, 456 /* wake, wait, requeue */};
    deny(calls, 5, EPERM);
    for (int round = 1; round <= 3; round++) {
        struct sched_pool *pool = pool_of(4);
        ran = 0;
        CHECK_EQ(sched_pool_run(pool, node, (void *)6), 0);
        CHECK_EQ(ran, 127);
        pause_us(5000);
        CHECK_EQ(sched_pool_submit(pool, node, (void *)6), 0);
        CHECK_EQ(sched_pool_wait(pool), 0);
        CHECK_EQ(ran, 254);
        CHECK_EQ(sched_pool_submit(pool, node, (void *)6), 0);
        CHECK_EQ(sched_pool_destroy(pool), 0);
        CHECK_EQ(ran, 381);
    }
}

int main(void)
{
    in_child_without_futex(body, NULL);
    CHECK_CHILD_PASSED();
    return 0;
}
