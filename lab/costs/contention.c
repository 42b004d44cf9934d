/* contention.c: workers that contend for the lock of a queue. The tasks of a flood, and those of a
 * tree of forks, think for a while. */

#include "costs.h"

enum { CONTENDED = 1 << 15, CONTESTS = 7 };

static const long thinks[] = {0, 16, 64, 256}; /* as THINKS in simulator/src/prices.rs */
static long thinking;
static double first_begun, last_ended;

/* Thinks for a time between zero and twice the average; the task's number decides how long. */
static void think(uint64_t task)
{
    if (thinking == 0)
        return;
    uint64_t hash = task * 0x9e3779b97f4a7c15, y = 1;
    long times = (long)(((hash ^ hash >> 32) & 0xffff) * (uint64_t)(2 * thinking + 1) >> 16);
    for (long i = 0; i < times; i++) {
        y = y * 3 + 1;
        __asm__ volatile("" : "+r"(y));
    }
}

static void thinker(void *closure, struct scheduler *s)
{
    (void)s;
    think((uint64_t)(uintptr_t)closure);
}

static void spawn_thinkers(void *closure, struct scheduler *s)
{
    (void)closure;
    first_begun = now_ns();
    for (long i = 0; i < CONTENDED; i++)
        if (sched_spawn(thinker, (void *)(intptr_t)i, s) != 0)
            bench_die("sched_spawn");
}

static void forked_thinkers(void *closure, struct scheduler *s)
{
    struct forks *f = closure;
    think((uint64_t)(uintptr_t)f + (uint64_t)f->leaves);
    fork_or_end(f, forked_thinkers, s);
}

static void fork_thinkers(void *closure, struct scheduler *s)
{
    struct forks root = {CONTENDED, 0};
    (void)closure;
    first_begun = now_ns();
    forked_thinkers(&root, s);
    last_ended = now_ns();
}

/* The run has one worker, or two that contend. If other programs keep one worker from its processor, the other one is
 * faster; so the median counts. */
void measure_contention(void)
{
    for (size_t t = 0; t < sizeof thinks / sizeof *thinks; t++) {
        double spawning_ns[CONTESTS], forking_ns[CONTESTS];
        thinking = thinks[t];
        for (int i = 0; i < CONTESTS; i++) {
            run(0, spawn_thinkers);
            spawning_ns[i] = (now_ns() - first_begun) / CONTENDED;
            run(0, fork_thinkers);
            forking_ns[i] = (last_ended - first_begun) / (CONTENDED - 1);
        }
        char name[32];
        bench_sort(spawning_ns, CONTESTS);
        snprintf(name, sizeof name, "spawns %ld", thinking);
        print(name, spawning_ns[CONTESTS / 2]);
        bench_sort(forking_ns, CONTESTS);
        snprintf(name, sizeof name, "forks %ld", thinking);
        print(name, forking_ns[CONTESTS / 2]);
    }
}
