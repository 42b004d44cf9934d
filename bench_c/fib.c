/* fib.c: Fibonacci without a cut-off: each call makes a fork and a join, and does almost nothing else.
 *
 * -d counters is the same without a join, as sched_spawn alone allows it: each call is a task with a frame from malloc,
 * and of two siblings the one that ends last passes the sum up. The serial version makes two plain calls, so there can
 * be no speed-up over it. ns_per_task is what a task costs: a fork, its join, and the calls of fib that go with them.
 *
 * fib_inline.c is this program with sched_inline.h, and fib_typed.c with sched_typed.h. */

#include "bench.h"
#include "kernels_fork.h"

#ifndef FIB_NAME
#define FIB_NAME "fib"
#include <sched_tasks.h>
#endif

#include <stdatomic.h>

struct call {
    long n, value;
};

/* --- fork and join ------------------------------------------------------------- */

#ifdef LIBSCHED_SCHED_TYPED_H

SCHED_TASK(long, fib, long, n)
{
    if (n < 2)
        return n;
    fib_task other;
    SCHED_FORK(fib, &other, n - 2);
    long value = SCHED_CALL(fib, n - 1);
    return value + SCHED_JOIN(fib, &other);
}

#else

static void fork_task(void *closure, struct scheduler *s);

static long fib(long n, struct scheduler *s)
{
    if (n < 2)
        return n;
    sched_task other;
    struct call call = {n - 2, 0};
    sched_fork(&other, fork_task, &call, s);
    long value = fib(n - 1, s);
    sched_join(&other, s);
    return value + call.value;
}

#endif

static void fork_task(void *closure, struct scheduler *s)
{
    struct call *call = closure;
    call->value = fib(call->n, s);
}

static void serial_run(void *closure)
{
    struct call *call = closure;
    call->value = fib_serial(call->n);
}

/* --- counters ------------------------------------------------------------------ */

struct frame {
    struct frame *parent;
    long n;
    int side;           /* which of the parent's values is ours */
    atomic_int pending; /* values still missing */
    long value[2];
};

static long counted;

static struct frame *new_frame(struct frame *parent, long n, int side)
{
    struct frame *f = bench_alloc(1, sizeof *f);
    f->parent = parent;
    f->n = n;
    f->side = side;
    atomic_init(&f->pending, 2);
    return f;
}

static void frame_task(void *closure, struct scheduler *s)
{
    struct frame *f = closure;
    long value = f->n;
    if (value >= 2) {
        bench_spawn(frame_task, new_frame(f, value - 1, 0), s);
        bench_spawn(frame_task, new_frame(f, value - 2, 1), s); /* f may be gone from here on */
        return;
    }
    for (;;) {
        struct frame *parent = f->parent;
        int side = f->side;
        free(f);
        if (parent == NULL) {
            counted = value;
            return;
        }
        parent->value[side] = value;
        /* Release: publishes this frame's value. Acquire: the frame that ends last sees the other value. */
        if (atomic_fetch_sub_explicit(&parent->pending, 1, memory_order_acq_rel) != 1)
            return;
        value = parent->value[0] + parent->value[1];
        f = parent;
    }
}

static void counters_task(void *closure, struct scheduler *s)
{
    struct call *call = closure;
    frame_task(new_frame(NULL, call->n, 0), s);
}

/* ------------------------------------------------------------------------------- */

static const struct bench_about about = {
    FIB_NAME, "the Fibonacci number wanted", 30, 0, 45, "fork (default) or counters",
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    int counters = b.data != NULL && strcmp(b.data, "counters") == 0;
    if (b.data != NULL && !counters && strcmp(b.data, "fork") != 0)
        bench_refuse(&b, b.data, "it is %s", about.data);
    long tasks, right = fib_answer(b.n, &tasks);
    if (counters)
        tasks = 2 * tasks - 1; /* the leaves are also tasks */

    for (int r = 0; r < b.repetitions; r++) {
        struct call call = {b.n, -1};
        counted = -1;

        bench_run(&b, counters ? counters_task : fork_task, serial_run, &call);

        long found = counters && !b.serial ? counted : call.value;
        bench_line(&b, tasks, (uint64_t)found, found == right);
    }
    return bench_end(&b);
}
