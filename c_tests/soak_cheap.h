/* soak_cheap.h: rounds of tasks that do nothing but add to the tally, so that a round has millions of them: trees of
 * spawns, floods, trees of forks (by sched_fork and by sched_typed.h), chains, loops and reductions. A round of size n
 * has about n tasks, returns how many it has checked, and ends the process if one of them did not run exactly once. */
#ifndef SOAK_CHEAP_H
#define SOAK_CHEAP_H

#include "tally.h"
#include <sched_typed.h>

static uint64_t cheap_size; /* of the round that runs */
static size_t cheap_grain;

static inline void *as_closure(uint64_t number)
{
    return (void *)(uintptr_t)number;
}

static inline uint64_t as_number(void *closure)
{
    return (uint64_t)(uintptr_t)closure;
}

static int may_refuse(void)
{
    const char *overflow = getenv("SCHED_OVERFLOW");
    return overflow && strcmp(overflow, "refuse") == 0;
}

/* A spawn that is refused leaves the task with the caller, who runs it. */
static inline void give(taskfunc f, uint64_t number, struct scheduler *s)
{
    if (sched_spawn(f, as_closure(number), s) == 0)
        return;
    CHECK(get_errno() == EAGAIN && may_refuse());
    f(as_closure(number), s);
}

/* A run with the task f(1). The library chooses the number of threads and the queue's size by what is random here. */
static void one_run(taskfunc f, uint64_t *random)
{
    CHECK_EQ(sched_init((int)(next_random(random) % 6), (int)(next_random(random) % 100), f, as_closure(1)), 0);
}

/* The task i has the children 2i and 2i + 1. */
static void tree_node(void *closure, struct scheduler *s)
{
    uint64_t i = as_number(closure);
    if (2 * i <= cheap_size)
        give(tree_node, 2 * i, s);
    if (2 * i + 1 <= cheap_size)
        give(tree_node, 2 * i + 1, s);
    tally(i, s);
}

static void flood_leaf(void *closure, struct scheduler *s)
{
    tally(as_number(closure), s);
}

static void flood_root(void *closure, struct scheduler *s)
{
    for (uint64_t i = 2; i <= cheap_size; i++)
        give(flood_leaf, i, s);
    tally(1, s);
}

/* Each task forks its two children and joins them; the sum of the numbers comes back by the joins, too. */
struct fork_call {
    uint64_t number, sum;
};

static void fork_node(void *closure, struct scheduler *s)
{
    struct fork_call *call = closure;
    uint64_t i = call->number;
    tally(i, s);
    call->sum = i;
    if (2 * i > cheap_size)
        return;
    sched_task left, right;
    struct fork_call a = {2 * i, 0}, b = {2 * i + 1, 0};
    sched_fork(&left, fork_node, &a, s);
    if (b.number <= cheap_size) {
        sched_fork(&right, fork_node, &b, s);
        sched_join(&right, s);
    }
    sched_join(&left, s);
    call->sum += a.sum + b.sum;
}

static void fork_root(void *closure, struct scheduler *s)
{
    struct fork_call call = {as_number(closure), 0};
    fork_node(&call, s);
    CHECK_EQ(call.sum, tally_up_to(cheap_size).sum);
}

SCHED_TASK(uint64_t, typed_node, uint64_t, i)
{
    tally(i, SCHED_SELF);
    if (2 * i > cheap_size)
        return i;
    typed_node_task left;
    SCHED_FORK(typed_node, &left, 2 * i);
    uint64_t sum = i;
    if (2 * i + 1 <= cheap_size) {
        typed_node_task right;
        SCHED_FORK(typed_node, &right, 2 * i + 1);
        sum += SCHED_JOIN(typed_node, &right);
    }
    return sum + SCHED_JOIN(typed_node, &left);
}

static void typed_root(void *closure, struct scheduler *s)
{
    CHECK_EQ(typed_node(as_number(closure), s), tally_up_to(cheap_size).sum);
}

/* Each task spawns the next one as the last thing that it does. */
static void chain_link(void *closure, struct scheduler *s)
{
    for (uint64_t i = as_number(closure);; i++) {
        tally(i, s);
        if (i >= cheap_size || sched_spawn(chain_link, as_closure(i + 1), s) == 0)
            return;
        CHECK(get_errno() == EAGAIN && may_refuse());
    }
}

static uint64_t chain_round(uint64_t n, uint64_t *random)
{
    /* In kind cont a spawn calls the task, so the stacks of a whole chain exist at a time. */
    cheap_size = spawn_calls() && n > 1000 ? 1000 : n;
    one_run(chain_link, random);
    tally_check("chain", cheap_size);
    return cheap_size;
}

static void loop_body(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    tally_range(lo, hi, s);
}

static void loop_root(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_for(1, cheap_size + 1, cheap_grain, loop_body, NULL, s), 0);
}

/* The parts of a loop count as tasks, and its numbers are what is checked. */
static uint64_t loop_round(uint64_t n, uint64_t *random)
{
    static const size_t grains[] = {0, 1, 1, 2, 7};
    cheap_size = n;
    cheap_grain = grains[next_random(random) % 5];
    one_run(loop_root, random);
    return tally_check("loop", n);
}

static void reduce_body(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s)
{
    tally_range(lo, hi, s);
    *(uint64_t *)acc += tally_up_to(hi - 1).sum - tally_up_to(lo - 1).sum;
}

static void reduce_combine(void *into, const void *from, void *ctx)
{
    *(uint64_t *)into += *(const uint64_t *)from;
}

static void reduce_root(void *closure, struct scheduler *s)
{
    uint64_t zero = 0, sum = 0;
    if (cheap_grain % 2)
        CHECK_EQ(sched_reduce(1, cheap_size + 1, cheap_grain, sizeof sum, &zero, reduce_body, reduce_combine, NULL, &sum, s), 0);
    else
        CHECK_EQ(sched_reduce_relaxed(1, cheap_size + 1, cheap_grain, sizeof sum, &zero, reduce_body, reduce_combine, NULL, &sum, s), 0);
    CHECK_EQ(sum, tally_up_to(cheap_size).sum);
}

static uint64_t reduce_round(uint64_t n, uint64_t *random)
{
    cheap_size = n;
    cheap_grain = 1 + next_random(random) % 4;
    one_run(reduce_root, random);
    return tally_check("reduce", n);
}

#endif
