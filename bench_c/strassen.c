/* strassen.c: Strassen's product of matrices: seven tasks at a time, each with memory of its
 * own to fill, and sums that wait for all seven. */

#include "bench.h"
#include "dense.h"

#include <sched_tasks.h>

struct product {
    sched_task task;
    const struct strassen *of;
    int number;
    double *space;
};

static void multiply(struct strassen m, struct scheduler *s);

static void product_task(void *closure, struct scheduler *s)
{
    struct product *p = closure;
    multiply(strassen_product(p->of, p->number, p->space), s);
}

static void multiply(struct strassen m, struct scheduler *s)
{
    if (strassen_is_leaf(&m)) {
        strassen_leaf(&m);
        return;
    }
    double *space = strassen_space(&m);
    struct product products[7];
    for (int i = 0; i < 7; i++) {
        products[i].of = &m;
        products[i].number = i;
        products[i].space = strassen_place(&m, space, i);
        sched_fork(&products[i].task, product_task, &products[i], s);
    }
    for (int i = 6; i >= 0; i--)
        sched_join(&products[i].task, s);
    strassen_combine(&m, space);
    free(space);
}

static void first_task(void *closure, struct scheduler *s)
{
    multiply(*(struct strassen *)closure, s);
}

static void serial_run(void *closure)
{
    strassen_serial(*(struct strassen *)closure);
}

static const struct bench_about about = {
    "strassen", "rows and columns", 512, 1, 8192, NULL,
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    double *a = dense_new(b.n), *factor = dense_new(b.n), *c = dense_new(b.n);
    dense_fill(a, b.n, 1);
    dense_fill(factor, b.n, 1 + (uint64_t)(b.n * b.n));
    struct strassen whole = {c, a, factor, b.n, b.n, b.n};

    for (int r = 0; r < b.repetitions; r++) {
        memset(c, 0, (size_t)(b.n * b.n) * sizeof *c);

        bench_run(&b, first_task, serial_run, &whole);

        uint64_t sum;
        int right = dense_right(c, a, factor, b.n, &sum);
        bench_line(&b, 1 + strassen_forks(b.n), sum, right);
    }
    free(a);
    free(factor);
    free(c);
    return bench_end(&b);
}
