/* matmul.c: a product of matrices, divided along its longest side: regular, cache-friendly. */

#include "bench.h"
#include "dense.h"

#include <sched_tasks.h>

static void multiply_task(void *closure, struct scheduler *s);

static void multiply(struct matmul m, struct scheduler *s)
{
    struct matmul other;
    sched_task task;
    switch (matmul_cut(&m, &other)) {
    case MATMUL_LEAF:
        matmul_leaf(&m);
        break;
    case MATMUL_APART:
        sched_fork(&task, multiply_task, &other, s);
        multiply(m, s);
        sched_join(&task, s);
        break;
    case MATMUL_IN_TURN:
        multiply(m, s);
        multiply(other, s);
        break;
    }
}

static void multiply_task(void *closure, struct scheduler *s)
{
    multiply(*(struct matmul *)closure, s);
}

static void serial_run(void *closure)
{
    matmul_serial(*(struct matmul *)closure);
}

static const struct bench_about about = {
    "matmul", "rows and columns", 512, 1, 8192, NULL,
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    double *a = dense_new(b.n), *factor = dense_new(b.n), *c = dense_new(b.n);
    dense_fill(a, b.n, 1);
    dense_fill(factor, b.n, 1 + (uint64_t)(b.n * b.n));
    struct matmul whole = matmul_whole(c, a, factor, b.n);

    for (int r = 0; r < b.repetitions; r++) {
        memset(c, 0, (size_t)(b.n * b.n) * sizeof *c);

        bench_run(&b, multiply_task, serial_run, &whole);

        uint64_t sum;
        int right = dense_right(c, a, factor, b.n, &sum);
        bench_line(&b, 1 + matmul_forks(whole), sum, right);
    }
    free(a);
    free(factor);
    free(c);
    return bench_end(&b);
}
