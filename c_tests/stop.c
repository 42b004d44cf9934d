/* stop: sched_stop, and loops in a group that is cancelled. */
#include "case.h"
#include <pthread.h>
#include <sched_tasks.h>
#include <stdatomic.h>

enum { ENOUGH = 100, NUMBERS = 1000 };

static const size_t endless = PTRDIFF_MAX; /* a loop of this many parts does not end by itself */
static atomic_long parts, stops;

static void reset(void)
{
    parts = stops = 0;
}

/* The part that is the last of ENOUGH stops the loop. */
static void some(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    if (atomic_fetch_add(&parts, 1) == ENOUGH - 1) {
        stops++;
        sched_stop(ctx ? s : NULL);
    }
}

static void some_summed(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s)
{
    *(long *)acc += (long)(hi - lo);
    some(lo, hi, ctx, s);
}

static void every(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    parts += (long)(hi - lo);
}

static void plus(void *into, const void *from, void *ctx)
{
    *(long *)into += *(const long *)from;
}

static void wide_plus(void *into, const void *from, void *ctx)
{
    for (int i = 0; i < 40; i++)
        ((long *)into)[i] += ((const long *)from)[i];
}

static void all_whole(struct scheduler *s)
{
    reset();
    CHECK_EQ(sched_for(0, NUMBERS, 0, every, NULL, s), 0);
    CHECK_EQ(parts, NUMBERS);
}

/* Each form of loop, called with s; pass says whether the body passes its s on. */
static void all_stopped(struct scheduler *s, int pass)
{
    void *ctx = pass ? &pass : NULL;
    long zero = 0, sum = 77, wide[40] = {0}, wide_sum[40] = {77};
    for (size_t grain = 0; grain < 3; grain++) {
        reset();
        CHECK_ERRNO(sched_for(0, endless, grain, some, ctx, s), ECANCELED);
        CHECK(parts >= ENOUGH);
        CHECK_EQ(stops, 1);
        reset();
        CHECK_ERRNO(sched_reduce_relaxed(0, endless, grain, sizeof sum, &zero, some_summed, plus, ctx, &sum, s),
                    ECANCELED);
        CHECK(parts >= ENOUGH);
    }
    reset();
    CHECK_ERRNO(sched_reduce(0, endless, 1, sizeof sum, &zero, some_summed, plus, ctx, &sum, s), ECANCELED);
    CHECK(parts >= ENOUGH);
    reset();
    CHECK_ERRNO(sched_reduce(0, endless, 1, sizeof wide, wide, some_summed, wide_plus, ctx, wide_sum, s), ECANCELED);
    CHECK_EQ(sum, 77);
    CHECK_EQ(wide_sum[0], 77);
    all_whole(s);
}

/* stop_loops: sched_stop in a body ends each form of loop, in a task and from main; the call fails with
 * ECANCELED, and the result is as it was. The next loop is whole.
 * ctest: static debug
 * ctest: matrix threads=1,4
 * ctest: matrix idle=park threads=2,16 */
static void loops_root(void *closure, struct scheduler *s)
{
    all_stopped(s, 1);
    all_stopped(NULL, 0);
}

CASE(stop_loops)
{
    CHECK_EQ(sched_init(0, 64, loops_root, NULL), 0);
    all_stopped(NULL, 1);
    all_stopped(NULL, 0);
}

/* stop_alone: on one thread no part begins after the one that stops the loop.
 * ctest: matrix threads=1 */
static void alone_root(void *closure, struct scheduler *s)
{
    long zero = 0, sum = 77;
    CHECK_ERRNO(sched_for(0, endless, 1, some, s, s), ECANCELED);
    CHECK_EQ(parts, ENOUGH);
    reset();
    CHECK_ERRNO(sched_reduce(0, endless, 1, sizeof sum, &zero, some_summed, plus, s, &sum, s), ECANCELED);
    CHECK_EQ(parts, ENOUGH);
    reset();
    CHECK_ERRNO(sched_reduce(0, ENOUGH + 3, 1, sizeof sum, &zero, some_summed, plus, s, &sum, s), ECANCELED);
    CHECK_EQ(parts, ENOUGH);
    reset();
    CHECK_ERRNO(sched_for(0, ENOUGH, 1, some, s, s), ECANCELED); /* although no part was left out */
    CHECK_EQ(parts, ENOUGH);
    sched_stop(s); /* no loop: no effect */
    all_whole(s);
}

CASE(stop_alone)
{
    CHECK_EQ(sched_init(0, 64, alone_root, NULL), 0);
    sched_stop(NULL);
    all_whole(NULL);
}

/* stop_nested: a stopped loop does not stop the loop around it, also if it waits in between, so that the
 * body continues on another worker. A task that a body adds is in no loop.
 * ctest: matrix
 * ctest: matrix with=threads deque=mutex,split idle=park threads=4 join=help */
static void no_loop(void *closure, struct scheduler *s)
{
    sched_stop(s);
    *(atomic_int *)closure += 1;
}

static void after_a_wait(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    sched_task_yield(s);
    sched_stop(s);
}

static void outer_part(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    sched_group g;
    atomic_int ran = 0;
    CHECK_EQ(sched_group_init(&g), 0);
    for (size_t i = lo; i < hi; i++) {
        CHECK_ERRNO(sched_for(0, 8, 1, after_a_wait, NULL, s), ECANCELED);
        CHECK_EQ(sched_group_spawn(&g, no_loop, &ran, s), 0);
    }
    CHECK_EQ(sched_group_wait(&g, s), 0);
    CHECK_EQ(ran, hi - lo);
    parts += (long)(hi - lo);
}

static void nested_root(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_for(0, 300, 0, outer_part, NULL, s), 0);
    CHECK_EQ(parts, 300);
}

CASE(stop_nested)
{
    CHECK_EQ(sched_init(0, 64, nested_root, NULL), 0);
}

/* stop_group: sched_group_cancel ends the loops and reductions that the group's tasks have called, and those
 * within these, on whichever worker they run. A loop that begins after the cancellation calls nothing.
 * ctest: matrix idle=park threads=1,4
 * ctest: matrix deque=split,mutex idle=park threads=2,16 */
static sched_group group;
static atomic_int begun;

static void cancel_when_all(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    if (++parts > ENOUGH)
        sched_group_cancel(&group);
}

static void summed_when_all(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s)
{
    cancel_when_all(lo, hi, ctx, s);
}

static void endless_within(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    for (size_t i = lo; i < hi; i++) {
        begun++;
        CHECK_ERRNO(sched_for(0, endless, 1, cancel_when_all, NULL, s), ECANCELED);
    }
}

static void member(void *closure, struct scheduler *s)
{
    long zero = 0, sum = 77;
    CHECK_ERRNO(sched_for(0, 8, 1, endless_within, NULL, s), ECANCELED);
    CHECK_ERRNO(sched_reduce(0, endless, 1, sizeof sum, &zero, summed_when_all, plus, NULL, &sum, s), ECANCELED);
    CHECK_EQ(sum, 77);
}

static void late_member(void *closure, struct scheduler *s)
{
    sched_group_cancel(&group);
    reset();
    CHECK_ERRNO(sched_for(0, 1, 1, every, NULL, s), ECANCELED);
    CHECK(parts <= 1);
}

static void group_root(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_group_init(&group), 0);
    CHECK_TIMES(3, sched_group_spawn(&group, member, NULL, s));
    CHECK_ERRNO(sched_group_wait(&group, s), ECANCELED);
    CHECK(begun > 0);
    CHECK_EQ(sched_group_spawn(&group, late_member, NULL, s), 0);
    CHECK_ERRNO(sched_group_wait(&group, s), ECANCELED);
    all_whole(s); /* the caller is in no group */
    CHECK_ERRNO(sched_group_init(NULL), EINVAL);
}

CASE(stop_group)
{
    CHECK_EQ(sched_init(0, 64, group_root, NULL), 0);
}

/* stop_other_worker: one worker stops the loop while another is in a long part: both return, and parts that
 * were on offer are not begun.
 * ctest: matrix with=threads idle=park threads=2,4 */
static atomic_int long_parts;

static void meets(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    if (++long_parts <= 2) { /* two workers meet; the second one stops */
        if (long_parts < 2)
            while (long_parts < 2)
                sched_yield();
        else
            sched_stop(s);
    }
}

static void other_root(void *closure, struct scheduler *s)
{
    for (int i = 0; i < 200 / SMALLER + 1; i++) {
        long_parts = 0;
        CHECK_ERRNO(sched_for(0, endless, 1, meets, NULL, s), ECANCELED);
        CHECK(long_parts >= 2);
    }
}

CASE(stop_other_worker)
{
    CHECK_EQ(sched_init(0, 64, other_root, NULL), 0);
}
