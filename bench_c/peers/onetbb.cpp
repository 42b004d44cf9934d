// onetbb.cpp: oneTBB, a task_group in an arena. With ONETBB_FIXED, its reductions are bracketed in the same way each
// time, as sched_reduce's are.

#ifdef ONETBB_FIXED
#define PEER "onetbb.fixed"
#define PEER_REDUCE tbb::parallel_deterministic_reduce
#else
#define PEER "onetbb"
#define PEER_REDUCE tbb::parallel_reduce
#endif
#define PEER_FORKS
#define PEER_SORTS
#define PEER_HANDS

#include "../measure.h"

#include <functional>
#include <memory>
#include <string_view>

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_sort.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <tbb/version.h>

struct children {
    tbb::task_group group;
};

#include "peer.h"

static std::unique_ptr<tbb::global_control> control;
static tbb::task_arena arena;
static tbb::task_group *group;

// A thread that only hands over is not among the threads that work.
static void peer_start(int threads)
{
    bool hands = std::string_view(peer_words[1]) == "outside_sparse";
    control = std::make_unique<tbb::global_control>(
        tbb::global_control::max_allowed_parallelism, threads + hands);
    arena.initialize(threads, hands ? 0 : 1);
}

// Calls f in the arena, or, from main, in that which each thread has of its own.
template <typename F> static auto called(F f)
{
    return peer_from_main ? f() : arena.execute(f);
}

static void peer_run(task_fn f, struct arg a)
{
    arena.execute([=] {
        tbb::task_group here;
        group = &here;
        f(a);
        here.wait();
    });
}

static void peer_spawn(task_fn f, struct arg a)
{
    group->run([=] { f(a); });
}

static void peer_fork(struct children *c, fork_fn f, void *closure)
{
    c->group.run([=] { f(closure); });
}

static void peer_join(struct children *c)
{
    c->group.wait();
}

static void peer_outside(fork_fn f, void *closure)
{
    f(closure);
}

static void peer_for(size_t n, void (*body)(size_t lo, size_t hi))
{
    tbb::parallel_for(tbb::blocked_range<size_t>(0, n),
                      [=](const tbb::blocked_range<size_t> &r) { body(r.begin(), r.end()); });
}

static void peer_hand(task_fn f, struct arg a)
{
    arena.enqueue([=] { f(a); });
}

static int peer_unwanted(void *)
{
    return tbb::is_current_task_group_canceling();
}

static void peer_search()
{
    tbb::task_group attempts;
    bool over = false;
    for (long k = 0; k < KNAPSACK_ATTEMPTS && !__atomic_load_n(&over, __ATOMIC_RELAXED); k++) {
        attempts.run([k, &attempts, &over] {
            if (search_attempt(k)) {
                __atomic_store_n(&over, true, __ATOMIC_RELAXED);
                attempts.cancel();
            }
        });
    }
    attempts.wait();
}

using tbb_range = tbb::blocked_range<size_t>;

static void peer_loop(size_t n, uint64_t *found)
{
    arena.execute([=] {
        tbb::parallel_for(tbb_range(0, n),
                          [=](const tbb_range &r) { loop_range(r.begin(), r.end(), found); });
    });
}

static void peer_phases(struct phases *p, long n)
{
    called([=] {
        for (long k = 0; k < n; k++) {
            phases_gap(p);
            double start = bench_now();
            tbb::parallel_for(tbb_range(0, PHASE_PARTS),
                              [=](const tbb_range &r) { phases_parts(p, r.begin(), r.end()); });
            phases_took(p, k, start);
        }
    });
}

static void peer_loops(struct loops *l, long n, int)
{
    arena.execute([=] {
        for (long k = 0; k < n; k++) {
            double start = loops_begin(l, k);
            tbb::parallel_for(tbb_range(0, (size_t)l->iterations),
                              [=](const tbb_range &r) { loops_range(l, r.begin(), r.end()); });
            loops_took(l, k, start);
        }
    });
}

static void peer_reductions(struct loops *l, long n, int)
{
    auto add = [=](const tbb_range &r, uint64_t sum) {
        return sum + loops_sum(l, r.begin(), r.end());
    };
    arena.execute([=] {
        for (long k = 0; k < n; k++) {
            double start = loops_begin(l, k);
            l->sums[k] = PEER_REDUCE(tbb_range(0, (size_t)l->iterations), uint64_t(0), add,
                                     std::plus<uint64_t>());
            loops_took(l, k, start);
        }
    });
}

static uint64_t peer_reduce(size_t n)
{
    auto add = [](const tbb_range &r, uint64_t sum) {
        return sum + reduce_range(r.begin(), r.end());
    };
    return called([=] {
        return PEER_REDUCE(tbb_range(0, n), uint64_t(0), add, std::plus<uint64_t>());
    });
}

static void peer_sort(int *a, size_t n)
{
    called([=] { tbb::parallel_sort(a, a + n); });
}

static void peer_stop()
{
    arena.terminate();
    control.reset();
}

static void peer_version()
{
    std::printf("oneTBB %s\n", TBB_runtime_version());
}
