/* A task of an inner run waits by the outer run's s, and a task of its own run is queued meanwhile: that one begins at
 * once, not when the worker has waited awake for a while. The awaited task ends soon by itself, before a worker that
 * waits awake gives up. So without that promise the queued task is too late in each round in which no thread loses its
 * processor.
 * ctest: matrix kind=steal deque=split,chaselev idle=park threads=2 */
#include "check.h"
#include <sched_tasks.h>
#include <stdatomic.h>
#include <time.h>

enum { ROUNDS = 100, SOON_NS = 4000 };

static struct scheduler *outer;
static sched_group group;
static atomic_int started, waits, has_begun;
static int in_time;

static long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

static void ends_soon(void *closure, struct scheduler *s)
{
    (void)closure, (void)s;
    started = 1;
    while (!waits)
        ;
    for (long begun = now_ns(); !has_begun && now_ns() - begun < SOON_NS;)
        ;
}

static void begins(void *closure, struct scheduler *s)
{
    (void)closure, (void)s;
    has_begun = 1;
}

static void inner(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(begins, NULL, s), 0);
    waits = 1;
    CHECK_EQ(sched_group_wait(&group, outer), 0);
    in_time += has_begun;
}

static void root(void *closure, struct scheduler *s)
{
    outer = s;
    for (int round = 0; round < ROUNDS; round++) {
        started = waits = has_begun = 0;
        CHECK_EQ(sched_group_spawn(&group, ends_soon, NULL, s), 0);
        while (!started)
            ;
        CHECK(sched_init(1, 4, inner, NULL) >= 0);
    }
}

int main(void)
{
    CHECK(sched_init(2, 16, root, NULL) >= 0);
    CHECK(in_time > ROUNDS / 2);
    return 0;
}
