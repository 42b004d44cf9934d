/* threads.h: plain threads, for the programs that compare the scheduler with what the kernel provides. Include it
 * before bench.h, because it asks for GNU's interfaces. */

#ifndef THREADS_H
#define THREADS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* for pthread_attr_setaffinity_np, sched_getcpu */
#endif

#include "measure.h"

#include <pthread.h>
#include <sched.h>

/* Calls f(0) and f(1), each in a thread of its own, and waits for both. If `one` is true, both run on one processor. */
static inline void two_threads(void *(*f)(void *), int one)
{
    pthread_t t[2];
    pthread_attr_t attributes;
    bench_check(pthread_attr_init(&attributes), "pthread_attr_init");
    if (one) {
        int here = sched_getcpu();
        if (here < 0)
            bench_die("sched_getcpu");
        cpu_set_t *set = CPU_ALLOC(here + 1);
        size_t size = CPU_ALLOC_SIZE(here + 1);
        if (set == NULL)
            bench_die("CPU_ALLOC");
        CPU_ZERO_S(size, set);
        CPU_SET_S(here, size, set);
        bench_check(pthread_attr_setaffinity_np(&attributes, size, set), "pthread_attr_setaffinity_np");
        CPU_FREE(set);
    }
    for (intptr_t i = 0; i < 2; i++)
        bench_check(pthread_create(&t[i], &attributes, f, (void *)i), "pthread_create");
    for (int i = 0; i < 2; i++)
        bench_check(pthread_join(t[i], NULL), "pthread_join");
    pthread_attr_destroy(&attributes);
}

#endif
