/* bench.h: measure.h with libsched under it. */

#ifndef BENCH_H
#define BENCH_H

#include "measure.h"

#include <sched.h>

static inline void bench_spawn(taskfunc f, void *closure, struct scheduler *s)
{
    if (sched_spawn(f, closure, s) != 0)
        bench_die("sched_spawn");
}

static inline void bench_init(const struct bench *b, taskfunc f, void *closure)
{
    if (sched_init(b->threads, 0, f, closure) != 0)
        bench_die("sched_init");
}

/* Gives the default pool, which is meant by NULL outside of a run, the threads of -t. Call it
 * before the first use of the pool. */
static inline void bench_default_pool(const struct bench *b)
{
    char threads[16];
    snprintf(threads, sizeof threads, "%d", b->threads);
    if (b->threads > 0 && setenv("SCHED_THREADS", threads, 0) != 0)
        bench_die("setenv");
}

/* The usual run: serial(closure) with -s; f(closure, NULL) from main with -d main; otherwise
 * f(closure, s) under the scheduler. */
static inline void bench_run(struct bench *b, taskfunc f, void (*serial)(void *), void *closure)
{
    if (b->from_main)
        bench_default_pool(b);
    bench_clock_start(b);
    if (b->serial)
        serial(closure);
    else if (b->from_main)
        f(closure, NULL);
    else
        bench_init(b, f, closure);
    bench_clock_stop(b);
}

static inline int bench_threads(const struct bench *b)
{
    const char *env = getenv("SCHED_THREADS");
    if (b->serial)
        return 1;
    int n = env == NULL ? b->threads : strcmp(env, "auto") == 0 ? 0 : atoi(env);
    return n > 0 ? n : sched_default_threads();
}

static inline const char *bench_kind(const struct bench *b)
{
    const char *env = getenv("SCHED_KIND");
    return b->serial ? "none" : env != NULL ? env : "steal";
}

static inline void bench_line(struct bench *b, long tasks, uint64_t checksum, int right)
{
    bench_print(b, bench_kind(b), bench_threads(b), tasks, checksum, right);
}

#endif
