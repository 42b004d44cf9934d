/* A task that has waited may go on in another thread. It keeps its s, which is good for all calls there,
 * and its floating-point controls, which are no other task's: but in kind cont its children's may be.
 * ctest: static debug libs=m
 * ctest: matrix kind=lifo,fifo,steal,cont deque=mutex,split,chaselev idle=park,nap threads=2,4,16
 * ctest: matrix deque=mutex,split idle=park threads=1,4 join=help
 * ctest: matrix deque=mutex,split idle=park threads=4 env=SCHED_STACK=64K
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace
 * ctest: matrix deque=split,mutex idle=park threads=2,4 join=help trace */
#include "aside.h"
#include "modes.h"
#include <stdatomic.h>

static atomic_int spawned, covered;

static void add_one(void *closure, struct scheduler *s)
{
    CHECK(sched_worker_index(s) >= 0);
    atomic_fetch_add((atomic_int *)closure, 1);
}

static void rounds_to_nearest(void *closure, struct scheduler *s)
{
    if (!kind_is("cont"))
        CHECK_EQ(mode_now(), FE_TONEAREST);
    atomic_fetch_add((atomic_int *)closure, 1);
}

static void body(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    if (lo % 64 == 0)
        sched_task_yield(s);
    atomic_fetch_add(&covered, (int)(hi - lo));
}

static void all_calls(struct scheduler *s)
{
    atomic_int forked = 0, grouped = 0, inner = 0;
    sched_task t[3];
    sched_group g = SCHED_GROUP_INIT;
    CHECK(sched_worker_index(s) >= 0 && sched_worker_index(s) < sched_worker_count(s));
    CHECK_EQ(sched_spawn(add_one, &spawned, s), 0);
    for (int i = 0; i < 3; i++)
        sched_fork(&t[i], add_one, &forked, s);
    change_thread(s);
    for (int i = 3; i-- > 0;)
        sched_join(&t[i], s);
    CHECK_EQ(forked, 3);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(sched_group_spawn(&g, add_one, &grouped, s), 0);
    change_thread(s);
    CHECK_EQ(sched_group_wait(&g, s), 0);
    CHECK_EQ(grouped, 3);
    covered = 0;
    CHECK_EQ(sched_for(0, 1000, 10, body, NULL, s), 0);
    CHECK_EQ(covered, 1000);
    CHECK_EQ(sched_init(2, 4, add_one, &inner), 0);
    CHECK_EQ(inner, 1);
}

static void root(void *closure, struct scheduler *s)
{
    atomic_int nearest = 0;
    sched_group g = SCHED_GROUP_INIT;
    change_thread(s);
    all_calls(s);
    CHECK_EQ(fesetround(FE_UPWARD), 0);
    change_thread(s);
    CHECK_EQ(mode_now(), FE_UPWARD);
    if (join_is("suspend")) {
        for (int i = 0; i < 20; i++)
            CHECK_EQ(sched_group_spawn(&g, rounds_to_nearest, &nearest, s), 0);
        CHECK_EQ(sched_group_wait(&g, s), 0);
        CHECK_EQ(nearest, 20);
    }
    change_thread(s);
    CHECK_EQ(mode_now(), FE_UPWARD);
    CHECK_EQ(fesetround(FE_TONEAREST), 0);
    all_calls(s);
    *(int *)closure = 1;
}

int main(void)
{
    for (int run = 0; run < 3; run++) {
        int ran = 0;
        spawned = 0;
        CHECK_EQ(sched_init(4, 10, root, &ran), 0);
        CHECK(ran);
        CHECK_EQ(spawned, 2);
        CHECK_EQ(mode_now(), FE_TONEAREST);
    }
    return 0;
}
