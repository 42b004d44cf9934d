/* everywhere.h: calls a function in all the places from which a program can wait. */
#ifndef EVERYWHERE_H
#define EVERYWHERE_H

#include "pool.h"
#include "sync.h"

static taskfunc everywhere_called;

static void everywhere_null(void *closure, struct scheduler *s)
{
    everywhere_called(closure, NULL);
}

static void everywhere_section(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_block_begin(s), 0);
    everywhere_called(closure, s);
    CHECK_EQ(sched_block_end(s), 0);
}

static void everywhere_body(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    everywhere_called(ctx, s);
}

static void *everywhere_thread(void *s)
{
    everywhere_called(NULL, s);
    return NULL;
}

static inline void in_a_thread(void *s)
{
    run_thread(everywhere_thread, s);
}

/* Calls f in main and in a thread outside, without a scheduler and with a pool's; in tasks of a run and of a pool, with
 * NULL, and in a blocking section; and in a loop that main has called. */
static inline void everywhere(taskfunc f)
{
    struct sched_pool *pool = pool_of(2);
    everywhere_called = f;
    f(NULL, NULL);
    f(NULL, sched_pool_scheduler(pool));
    in_a_thread(NULL);
    in_a_thread(sched_pool_scheduler(pool));
    run(2, f);
    run(2, everywhere_null);
    run(2, everywhere_section);
    CHECK_EQ(sched_pool_run(pool, f, NULL), 0);
    CHECK_EQ(sched_for(0, 1, 1, everywhere_body, NULL, NULL), 0);
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

/* Checks that `call`, which uses `deadline`, fails after a while, and at once with deadlines in the past. */
#define CHECK_TIMES_OUT(call)                                                                                 \
    do {                                                                                                      \
        sched_time deadline = sched_now() + 200 * SCHED_MICROSECOND;                                          \
        CHECK_ERRNO(call, ETIMEDOUT);                                                                         \
        CHECK(sched_now() >= deadline);                                                                       \
        const sched_time passed[] = {sched_now(), 0, -1, INT64_MIN};                                          \
        for (size_t passed_i = 0; passed_i < sizeof passed / sizeof *passed; passed_i++) {                    \
            deadline = passed[passed_i];                                                                      \
            CHECK_ERRNO(call, ETIMEDOUT);                                                                     \
        }                                                                                                     \
    } while (0)

#endif
