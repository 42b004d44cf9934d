/* 100,000 tasks that wait at once: each on a stack of its own, and all go on. So few pages each that it
 * is less than 1 GB. Where the address space ends, tasks help instead, and none is lost.
 * ctest: matrix deque=mutex,split idle=park threads=1,2 timeout=120
 * ctest: env=SCHED_STACK=64K timeout=120
 * ctest: args=40000 env=SCHED_JOIN=help */
#include "child.h"
#include "proc.h"
#include <sched_tasks.h>
#include <stdatomic.h>

static int most = 100000;
static atomic_int waiting, went_on;
static sched_group gate = SCHED_GROUP_INIT;
static atomic_int open_now;
static long peak_kb;

struct count {
    sched_group all;
    int low_memory;
};

static void last(void *closure, struct scheduler *s)
{
    (void)closure;
    (void)s;
}

/* Waits for a task that is queued behind all others. */
static void wait_long(void *closure, struct scheduler *s)
{
    int before = atomic_fetch_add(&waiting, 1);
    (void)closure;
    while (!open_now)
        sched_task_yield(s);
    if (before == 0)
        CHECK_EQ(sched_spawn(last, NULL, s), 0);
    atomic_fetch_add(&went_on, 1);
}

static void look(void *closure, struct scheduler *s)
{
    int *enough = closure;
    (void)gate;
    while (waiting < *enough)
        sched_task_yield(s);
    peak_kb = status_kb("VmRSS");
    open_now = 1;
}

static void root(void *closure, struct scheduler *s)
{
    int *enough = closure;
    CHECK_EQ(sched_spawn(look, enough, s), 0);
    for (int i = 0; i < *enough; i++)
        CHECK_EQ(sched_spawn(wait_long, NULL, s), 0);
}
