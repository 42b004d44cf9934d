/* line.c: the time that a line of memory takes from one processor to another. */

#define _GNU_SOURCE /* for processor sets */
#include "costs.h"

#include <pthread.h>

enum { TURNS = 200, SAMPLES = 151, START = 150000 }; /* START: ns */

static cpu_set_t processors; /* those of this thread before it started the other one */

/* Keeps a thread on the first, or the last, of our processors. */
static void keep_on(pthread_t t, int last)
{
    cpu_set_t all, one;
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        return;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &all) && (last || CPU_COUNT(&one) == 0)) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
        }
    pthread_setaffinity_np(t, sizeof one, &one);
}

/* Starts a thread on another processor than this thread's, if there are two. */
static pthread_t start_thread(void *f(void *))
{
    pthread_t t;
    cpu_set_t all;
    int known = sched_getaffinity(0, sizeof all, &all) == 0;
    bench_check(pthread_create(&t, NULL, f, NULL), "pthread_create");
    keep_on(t, 1);
    keep_on(pthread_self(), 0);
    if (known)
        processors = all;
    return t;
}

static void end_thread(pthread_t t)
{
    bench_check(pthread_join(t, NULL), "pthread_join");
    pthread_setaffinity_np(pthread_self(), sizeof processors, &processors);
}

static _Alignas(128) atomic_int turn;

static void take_turns(int first)
{
    for (int mine = first; mine < TURNS; mine += 2) {
        for (long tries = 1; turn != mine; tries++)
            if (tries % 4096 == 0)
                sched_yield(); /* both may be on one processor */
        turn = mine + 1;
    }
}

static void *other_side(void *closure)
{
    (void)closure;
    take_turns(1);
    return NULL;
}

void measure_line(void)
{
    double all[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) {
        turn = -1;
        pthread_t t = start_thread(other_side);
        wait_ns(START); /* until the other thread waits for its turn */
        double start = now_ns();
        turn = 0;
        take_turns(0);
        while (turn != TURNS)
            sched_yield();
        all[i] = (now_ns() - start) / TURNS;
        end_thread(t);
    }
    print("line", typical(all, SAMPLES));
}
