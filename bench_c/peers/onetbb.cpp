// onetbb.cpp: oneTBB, a task_group in an arena.

#define PEER "onetbb"

#include "peer.h"

#include <memory>

#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <tbb/version.h>

static std::unique_ptr<tbb::global_control> control;
static tbb::task_arena arena;
static tbb::task_group *group;

static void peer_start(int threads)
{
    control = std::make_unique<tbb::global_control>(
        tbb::global_control::max_allowed_parallelism, threads);
    arena.initialize(threads);
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

static void peer_stop()
{
    arena.terminate();
    control.reset();
}

static void peer_version()
{
    std::printf("oneTBB %s\n", TBB_runtime_version());
}
