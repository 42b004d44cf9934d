/* outside.h: the workloads of bench_c/outside.h on another system. C11 and C++20. Part of peer.h,
 * after fork.h.
 *
 * A peer that takes single tasks from any thread defines PEER_HANDS and peer_hand. A peer with
 * PEER_FORKS also defines peer_outside and peer_for, which threads of the program's own call. */

#ifndef PEER_OUTSIDE_H
#define PEER_OUTSIDE_H

#include "../outside.h"

#ifdef PEER_HANDS
/* Hands over f(a), and does not wait for it. */
static void peer_hand(task_fn f, struct arg a);

static void sparse_task(struct arg a)
{
    sparse_job((struct sparse_job *)arg_pointer(a));
}

static void sparse_hand_job(struct sparse_job *job)
{
    peer_hand(sparse_task, arg_of(job));
}

static void sparse_hand_all(long lo, long hi)
{
    for (long i = lo; i < hi; i++)
        sparse_hand(i, sparse_hand_job);
}

static void outside_sparse_main(struct bench *b)
{
    struct outside o = outside_new(b, "pool-1");
    sparse_new(b);
    for (int r = 0; r < b->repetitions; r++) {
        sparse_clear();
        outside_run(b, o.threads, sparse_hand_all, sparse_wait);
        int right = sparse_right(b);
        peer_line(b, b->n, bench_mix((uint64_t)b->n), right);
    }
    free(sparse.jobs);
}

static long handed_ended;

static void handed_drop(struct arg a)
{
    ++*flood_at(&flood, (long)a.x);
    __atomic_fetch_add(&handed_ended, 1, __ATOMIC_RELEASE);
}

static void outside_hand_all(long lo, long hi)
{
    for (long i = lo; i < hi; i++)
        peer_hand(handed_drop, arg1(i));
}

static void outside_handed(void)
{
    while (__atomic_load_n(&handed_ended, __ATOMIC_ACQUIRE) != flood.n)
        sched_yield();
}
#endif

#ifdef PEER_FORKS
/* Calls f(closure), which may fork and join as in a task. */
static void peer_outside(fork_fn f, void *closure);
/* A loop of n numbers. */
static void peer_for(size_t n, void (*body)(size_t lo, size_t hi));

/* --- flood, of forked tasks --------------------------------------------------------- */

static void outside_drop(void *closure)
{
    ++*flood_at(&flood, (long)(intptr_t)closure);
}

struct outside_range {
    long lo, hi;
};

static void outside_fork_all(void *closure)
{
    struct outside_range range = *(struct outside_range *)closure;
    struct children children;
    for (long i = range.lo; i < range.hi; i++)
        peer_fork(&children, outside_drop, (void *)(intptr_t)i);
    peer_join(&children);
}

static void outside_flood(long lo, long hi)
{
    struct outside_range range = {lo, hi};
    peer_outside(outside_fork_all, &range);
}

/* --- beside ----------------------------------------------------------------------- */

static void beside_main_loop(void)
{
    peer_for(BESIDE_PARTS, beside_parts);
}

static void beside_loop_job(void)
{
    peer_for((size_t)beside.bodies, beside_bodies);
}

static void beside_tree(void *closure)
{
    struct outside_range range = *(struct outside_range *)closure;
    if (range.hi - range.lo == 1) {
        beside_bodies((size_t)range.lo, (size_t)range.hi);
        return;
    }
    long half = range.lo + (range.hi - range.lo) / 2;
    struct outside_range lower = {range.lo, half}, upper = {half, range.hi};
    struct children children;
    peer_fork(&children, beside_tree, &upper);
    beside_tree(&lower);
    peer_join(&children);
}

static void beside_tree_job(void)
{
    struct outside_range all = {0, beside.bodies};
    peer_outside(beside_tree, &all);
}

static void outside_beside_main(struct bench *b)
{
    int by_tree = b->data != NULL && strcmp(b->data, "tree") == 0;
    beside_new(b);
    for (int r = 0; r < b->repetitions; r++) {
        int right = beside_run(b, beside_main_loop, by_tree ? beside_tree_job : beside_loop_job);
        peer_line(b, b->n, bench_mix((uint64_t)b->n), right);
    }
    free(beside.seen);
    free(beside.took);
}
#endif

/* By -d group-…: forked tasks. By -d pool-…: single tasks that are handed over, and counted. */
static void outside_flood_main(struct bench *b)
{
    struct outside o = outside_new(b, "group-1");
    void (*hand_over)(long, long) = NULL, (*last)(void) = NULL;
#ifdef PEER_FORKS
    if (strcmp(o.way, "group") == 0)
        hand_over = outside_flood;
#endif
#ifdef PEER_HANDS
    if (strcmp(o.way, "pool") == 0) {
        hand_over = outside_hand_all;
        last = outside_handed;
    }
#endif
    if (hand_over == NULL) {
        fprintf(stderr, PEER ": no flood -d %s\n", b->data);
        exit(2);
    }
    flood = flood_new(b->n);
    for (int r = 0; r < b->repetitions; r++) {
        flood_clear(&flood);
#ifdef PEER_HANDS
        handed_ended = 0;
#endif
        outside_run(b, o.threads, hand_over, last);
        uint64_t sum;
        int right = flood_right(&flood, &sum);
        peer_line(b, b->n, sum, right);
    }
    free(flood.seen);
}

#endif
