/* fib.c: Fibonacci by continuation tasks: the smallest useful task, with a join.
 *
 * Each call is a task with a frame from malloc; of two siblings the one that ends last
 * adds the values and passes the sum up. There is no cut-off below which it would become
 * serial, so this measures spawn, malloc and one atomic decrement. The serial version is
 * two plain calls, of which the compiler leaves next to nothing: no speed-up is to be had. */

#include "bench.h"

#include <stdatomic.h>

struct frame {
    struct frame *parent;
    int n, side;        /* side: which of the parent's values is ours */
    atomic_int pending; /* values still missing */
    long value[2];
};

static long result;

static struct frame *new_frame(struct frame *parent, int n, int side)
{
    struct frame *f = bench_alloc(1, sizeof *f);
    f->parent = parent;
    f->n = n;
    f->side = side;
    atomic_init(&f->pending, 2);
    return f;
}

static void task(void *closure, struct scheduler *s)
{
    struct frame *f = closure;
    int n = f->n;
    if (n >= 2) {
        bench_spawn(task, new_frame(f, n - 1, 0), s);
        bench_spawn(task, new_frame(f, n - 2, 1), s); /* f may be gone from here on */
        return;
    }
    long value = n;
    for (;;) {
        struct frame *parent = f->parent;
        int side = f->side;
        free(f);
        if (parent == NULL) {
            result = value;
            return;
        }
        parent->value[side] = value;
        /* Release: my value is stored. Acquire, by the last: so is the other. */
        if (atomic_fetch_sub_explicit(&parent->pending, 1, memory_order_acq_rel) != 1)
            return;
        value = parent->value[0] + parent->value[1];
        f = parent;
    }
}

static long serial(int n)
{
    return n < 2 ? n : serial(n - 1) + serial(n - 2);
}

static void serial_run(void *closure)
{
    struct frame *f = closure;
    result = serial(f->n);
    free(f);
}

static const struct bench_about about = {
    "fib", "the Fibonacci number wanted", 29, 0, 45, NULL,
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    long fib = 0, next = 1; /* fib(n), fib(n + 1) */
    for (long i = 0; i < b.n; i++) {
        long sum = fib + next;
        fib = next;
        next = sum;
    }

    for (int r = 0; r < b.repetitions; r++) {
        result = -1;

        bench_run(&b, task, serial_run, new_frame(NULL, (int)b.n, 0));

        /* fib(n + 1) leaves, and one task less that adds. */
        bench_line(&b, 2 * next - 1, (uint64_t)result, result == fib);
    }
    return bench_end(&b);
}
