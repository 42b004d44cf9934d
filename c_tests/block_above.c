/* A task that runs on the stack of one that is in a blocking section, because that waits for it or calls a loop, is not in
 * the section: sched_block_end gives EPERM there, in every kind, in a run, in a pool, and in a call of main; the section
 * of the task below goes on. The task may have a section of its own.
 * ctest: static
 * ctest: matrix deque=mutex,split idle=park threads=1,2 */
#include "check.h"
#include <sched_tasks.h>
#include <sched_typed.h>

static int above;

static void has_no_section(struct scheduler *s)
{
    CHECK_ERRNO(sched_block_end(s), EPERM);
    if (sched_block_begin(s) == 0) { /* EAGAIN: too deep below other tasks */
        CHECK_EQ(sched_block_end(s), 0);
        CHECK_ERRNO(sched_block_end(s), EPERM);
    }
    __atomic_add_fetch(&above, 1, __ATOMIC_RELAXED);
}

static void task(void *closure, struct scheduler *s)
{
    has_no_section(s);
}

static void body(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    for (; lo < hi; lo++)
        has_no_section(s);
}

static void add(size_t lo, size_t hi, void *into, void *ctx, struct scheduler *s)
{
    body(lo, hi, ctx, s);
    *(size_t *)into += hi - lo;
}

static void combine(void *into, const void *from, void *ctx)
{
    *(size_t *)into += *(const size_t *)from;
}

SCHED_TASK(int, typed, int, n)
{
    has_no_section(SCHED_SELF);
    return n;
}

SCHED_TASK(int, in_section, int, unused)
{
    struct scheduler *s = SCHED_SELF;
    sched_task before, within;
    sched_group group = SCHED_GROUP_INIT;
    typed_task late;
    size_t sum = 0, zero = 0;

    sched_fork(&before, task, NULL, s);
    CHECK_EQ(sched_group_spawn(&group, task, NULL, s), 0);
    CHECK_EQ(sched_block_begin(s), 0);
    sched_join(&before, s);
    sched_fork(&within, task, NULL, s);
    sched_join(&within, s);
    CHECK_EQ(sched_group_spawn(&group, task, NULL, s), 0);
    CHECK_EQ(sched_group_wait(&group, s), 0);
    SCHED_FORK(typed, &late, 3);
    CHECK_EQ(SCHED_JOIN(typed, &late), 3);
    CHECK_EQ(sched_for(0, 10, 1, body, NULL, s), 0);
    CHECK_EQ(sched_reduce(0, 10, 1, sizeof sum, &zero, add, combine, NULL, &sum, s), 0);
    CHECK_EQ(sum, 10);
    CHECK_EQ(sched_block_end(s), 0);
    CHECK_ERRNO(sched_block_end(s), EPERM);
    return unused;
}

static void root(void *closure, struct scheduler *s)
{
    CHECK_EQ(in_section(1, s), 1);
}

static void one(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    for (; lo < hi; lo++)
        CHECK_EQ(in_section((int)lo, s), (int)lo);
}

int main(void)
{
    enum { EACH = 25 };
    CHECK_EQ(sched_init(2, 16, root, NULL), 0);
    CHECK_EQ(above, EACH);
    CHECK_EQ(sched_for(0, 4, 1, one, NULL, NULL), 0); /* main is a guest */
    CHECK_EQ(above, 5 * EACH);
    return 0;
}
