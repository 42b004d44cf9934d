/* strassen.c: Strassen's product of matrices. Each product is seven tasks, which fill separate
 * memory, and sums that wait for all seven. strassen_address.c has four sums instead: each is a
 * task that begins when the products that it reads have ended. */

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

#ifdef BY_ADDRESS
#define NAME "strassen_address"
enum { TASKS = 7 + 4 };

static void quadrant_task(void *closure, struct scheduler *s)
{
    struct product *p = closure;
    (void)s;
    strassen_quadrant(p->of, p->space, p->number);
}

static void tasks(const struct strassen *m, double *space, struct scheduler *s)
{
    sched_group group = SCHED_GROUP_INIT;
    struct product parts[TASKS];
    for (int i = 0; i < TASKS; i++) {
        sched_dep deps[7];
        size_t n = 0;
        for (int p = 0; p < 7; p++)
            if (i == p || (i >= 7 && strassen_shares[i - 7][p] != 0))
                deps[n++] = (sched_dep){strassen_place(m, space, p), i < 7 ? SCHED_OUT : SCHED_IN};
        parts[i].of = m;
        parts[i].number = i % 7;
        parts[i].space = i < 7 ? strassen_place(m, space, i) : space;
        if (sched_group_spawn_after(&group, i < 7 ? product_task : quadrant_task, &parts[i], n, deps, s) != 0)
            bench_die("sched_group_spawn_after");
    }
    if (sched_group_wait(&group, s) != 0)
        bench_die("sched_group_wait");
}
#else
#define NAME "strassen"
enum { TASKS = 7 };

static void tasks(const struct strassen *m, double *space, struct scheduler *s)
{
    struct product products[TASKS];
    for (int i = 0; i < TASKS; i++) {
        products[i].of = m;
        products[i].number = i;
        products[i].space = strassen_place(m, space, i);
        sched_fork(&products[i].task, product_task, &products[i], s);
    }
    for (int i = TASKS - 1; i >= 0; i--)
        sched_join(&products[i].task, s);
    strassen_combine(m, space);
}
#endif

static void multiply(struct strassen m, struct scheduler *s)
{
    if (strassen_is_leaf(&m)) {
        strassen_leaf(&m);
        return;
    }
    double *space = strassen_space(&m);
    tasks(&m, space, s);
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
    NAME, "rows and columns", 512, 1, 8192, NULL,
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
        bench_line(&b, 1 + TASKS * strassen_cuts(b.n), sum, right);
    }
    free(a);
    free(factor);
    free(c);
    return bench_end(&b);
}
