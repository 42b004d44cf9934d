/* fork() beside a pool, or in a task of it: in the child the pool gives EINVAL, also when runs of the
 * child's have begun, and its destruction neither hangs nor harms; the child may have a pool of
 * its own, and the parent's goes on.
 * ctest: matrix deque=mutex,split,chaselev idle=park,spin threads=1,4 */
#include "child.h"
#include "nodes.h"
#include "pool.h"

static struct sched_pool *pool;

static void check_dead(void)
{
    CHECK_ERRNO(sched_pool_submit(pool, node, (void *)3), EINVAL);
    CHECK_ERRNO(sched_pool_run(pool, node, (void *)3), EINVAL);
    CHECK_ERRNO(sched_pool_wait(pool), EINVAL);
    CHECK_EQ(ran, 0);
}

static void in_child_of_pool(void *arg)
{
    ran = 0;
    check_dead();
    struct sched_pool *own[8];
    for (int i = 0; i < 8; i++) /* records of the parent's pool are used again */
        own[i] = pool_of(4);
    check_dead();
    for (int i = 0; i < 8; i++)
        CHECK_EQ(sched_pool_run(own[i], node, (void *)4), 0);
    CHECK_EQ(ran, 8 * 31);
    ran = 0;
    CHECK_ERRNO(sched_pool_destroy(pool), EINVAL);
    check_dead();
    for (int i = 0; i < 8; i++)
        CHECK_EQ(sched_pool_destroy(own[i]), 0);
    check_dead();
    CHECK_EQ(sched_init(4, 4, node, (void *)4), 0);
    CHECK_EQ(ran, 31);
}

static void fork_in_task(void *closure, struct scheduler *s)
{
    in_child(in_child_of_pool, closure);
    CHECK_CHILD_EXITED(0);
}

int main(void)
{
    pool = pool_of(4);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 50 * round; i++) /* busy, or not */
            CHECK_EQ(sched_pool_submit(pool, node, (void *)2), 0);
        in_child(in_child_of_pool, NULL);
        CHECK_CHILD_EXITED(0);
        CHECK_EQ(sched_pool_run(pool, fork_in_task, NULL), 0);
        ran = 0;
        CHECK_EQ(sched_pool_run(pool, node, (void *)5), 0);
        CHECK_EQ(ran, 63);
    }
    CHECK_EQ(sched_pool_destroy(pool), 0);
    return 0;
}
