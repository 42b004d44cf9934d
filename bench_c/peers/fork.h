/* fork.h: the workloads whose tasks wait for tasks, for a peer that supports this. C11 and C++20. Part of peer.h; the
 * tasks are those of bench_c's programs.
 *
 * The peer has `struct children`, made where a task forks, and defines the functions below. Its own loop, reduction and
 * sort (if it has one) are whole runs, or calls from main if peer_from_main is set. All of this is in one file, because
 * each workload is some thirty lines over the same few functions of the peer. */

#ifndef FORK_H
#define FORK_H

#include "../loops.h"
#include "../phases.h"
#include "../dense.h"
#include "../kernels_fork.h"
#include "../uts.h"

#include <alloca.h>

/* The names of the schedules that the peer lets a program choose for a loop. NULL: there is no choice. */
#ifndef PEER_SCHEDULES
#define PEER_SCHEDULES {NULL}
#endif

static int peer_from_main; /* set by -d main: the calls are made from main, outside of any task */

typedef void (*fork_fn)(void *closure);

static void peer_fork(struct children *c, fork_fn f, void *closure);
static void peer_join(struct children *c); /* all of them */
static void peer_outside(fork_fn f, void *closure); /* outside.h */
/* Makes KNAPSACK_ATTEMPTS attempts by search_attempt, a task each; the first that succeeds
 * cancels the others. From a task. */
static void peer_search(void);
static int peer_unwanted(void *context); /* true if the attempt's search is cancelled */
static void peer_loop(size_t n, uint64_t *found);
/* `n` phases, each a loop over its parts, with the gaps between them; reports the time of each by phases_took. */
static void peer_phases(struct phases *p, long n);
/* `n` loops of loops.h under a schedule, an index into PEER_SCHEDULES; reports the time of each by loops_took. */
static void peer_loops(struct loops *l, long n, int schedule);
/* Like peer_loops, for reductions. */
static void peer_reductions(struct loops *l, long n, int schedule);
static uint64_t peer_reduce(size_t n);
#ifdef PEER_SORTS
static void peer_sort(int *a, size_t n); /* not stable */
#endif

/* f(closure) in a run of its own, with the clock. */
static fork_fn timed_function;

static void timed_task(struct arg a)
{
    timed_function(arg_pointer(a));
}

static void fork_timed(struct bench *b, fork_fn f, void *closure)
{
    timed_function = f;
    peer_timed(b, timed_task, arg_of(closure));
}

/* --- fib ------------------------------------------------------------------------ */

struct fib_call {
    long n, value;
};

static void fib_task(void *closure);

static long fib(long n)
{
    if (n < 2)
        return n;
    struct children children;
    struct fib_call other = {n - 2, 0};
    peer_fork(&children, fib_task, &other);
    long value = fib(n - 1);
    peer_join(&children);
    return value + other.value;
}

static void fib_task(void *closure)
{
    struct fib_call *call = (struct fib_call *)closure;
    call->value = fib(call->n);
}

static void fib_main(struct bench *b)
{
    long tasks, right = fib_answer(b->n, &tasks);
    for (int r = 0; r < b->repetitions; r++) {
        struct fib_call call = {b->n, -1};
        fork_timed(b, fib_task, &call);
        peer_line(b, tasks, (uint64_t)call.value, call.value == right);
    }
}

/* --- nqueens -------------------------------------------------------------------- */

struct placement {
    struct board board;
    long solutions;
};

static unsigned queens_full;

static void queens_place(void *closure)
{
    struct placement *p = (struct placement *)closure;
    p->solutions = p->board.columns == queens_full;
    unsigned open = board_open(p->board, queens_full);
    if (open == 0)
        return;
    struct children children;
    struct placement next[QUEENS_MOST];
    int count = 0;
    for (; open != 0; open &= open - 1) {
        struct placement *child = &next[count++];
        child->board = board_with(p->board, open & -open);
        peer_fork(&children, queens_place, child);
    }
    peer_join(&children);
    while (count > 0)
        p->solutions += next[--count].solutions;
}

static void nqueens_main(struct bench *b)
{
    queens_full = (1u << b->n) - 1;
    for (int r = 0; r < b->repetitions; r++) {
        struct placement first;
        memset(&first, 0, sizeof first);
        fork_timed(b, queens_place, &first);
        peer_line(b, queens_tasks(queens_full, first.board), (uint64_t)first.solutions,
                  first.solutions == queens_solutions[b->n]);
    }
}

/* --- uts ------------------------------------------------------------------------ */

struct visit {
    struct uts_node node;
    long nodes; /* below, and itself */
};

static struct uts_tree uts;

static void uts_visit(void *closure)
{
    struct visit *v = (struct visit *)closure;
    int count = uts_children(&uts, &v->node);
    v->nodes = 1;
    if (count == 0)
        return;
    struct children tasks;
    struct visit *children = (struct visit *)alloca((size_t)count * sizeof *children);
    for (int i = 0; i < count; i++) {
        children[i].node = uts_child(&v->node, i);
        peer_fork(&tasks, uts_visit, &children[i]);
    }
    peer_join(&tasks);
    while (count > 0)
        v->nodes += children[--count].nodes;
}

static void uts_walk(struct bench *b, enum uts_shape shape)
{
    uts = uts_tree(shape, b->n);
    long nodes = uts_nodes(&uts);
    for (int r = 0; r < b->repetitions; r++) {
        struct visit root;
        root.node = uts_root(&uts);
        root.nodes = 0;
        fork_timed(b, uts_visit, &root);
        peer_line(b, nodes, (uint64_t)root.nodes, root.nodes == nodes);
    }
}

static void uts_main(struct bench *b)
{
    uts_walk(b, UTS_GEOMETRIC);
}

static void uts_deep_main(struct bench *b)
{
    uts_walk(b, UTS_BINOMIAL);
}

/* --- matmul, strassen ------------------------------------------------------------- */

static void matmul_task(void *closure)
{
    struct matmul m = *(struct matmul *)closure, other;
    enum matmul_cut cut = matmul_cut(&m, &other);
    if (cut == MATMUL_LEAF) {
        matmul_leaf(&m);
    } else if (cut == MATMUL_APART) {
        struct children children;
        peer_fork(&children, matmul_task, &other);
        matmul_task(&m);
        peer_join(&children);
    } else {
        matmul_task(&m);
        matmul_task(&other);
    }
}

struct product {
    const struct strassen *of;
    int number;
    double *space;
};

static void strassen_task(void *closure);

static void product_task(void *closure)
{
    struct product *p = (struct product *)closure;
    struct strassen m = strassen_product(p->of, p->number, p->space);
    strassen_task(&m);
}

static void strassen_task(void *closure)
{
    const struct strassen *m = (const struct strassen *)closure;
    if (strassen_is_leaf(m)) {
        strassen_leaf(m);
        return;
    }
    double *space = strassen_space(m);
    struct children children;
    struct product products[7];
    for (int i = 0; i < 7; i++) {
        products[i].of = m;
        products[i].number = i;
        products[i].space = strassen_place(m, space, i);
        peer_fork(&children, product_task, &products[i]);
    }
    peer_join(&children);
    strassen_combine(m, space);
    free(space);
}

/* Multiplies by Strassen's algorithm with this many tasks for each divided product, or in the usual
 * way. */
static void dense_main(struct bench *b, fork_fn by_strassen, long tasks)
{
    long n = b->n;
    double *a = dense_new(n), *factor = dense_new(n), *c = dense_new(n);
    dense_fill(a, n, 1);
    dense_fill(factor, n, 1 + (uint64_t)(n * n));
    struct matmul whole = matmul_whole(c, a, factor, n);
    struct strassen square = {c, a, factor, n, n, n};
    for (int r = 0; r < b->repetitions; r++) {
        memset(c, 0, (size_t)(n * n) * sizeof *c);
        if (by_strassen != NULL)
            fork_timed(b, by_strassen, &square);
        else
            fork_timed(b, matmul_task, &whole);
        uint64_t sum;
        int right = dense_right(c, a, factor, n, &sum);
        peer_line(b, 1 + (by_strassen != NULL ? tasks * strassen_cuts(n) : matmul_forks(whole)), sum, right);
    }
    free(a);
    free(factor);
    free(c);
}

static void matmul_main(struct bench *b)
{
    dense_main(b, NULL, 0);
}

static void strassen_main(struct bench *b)
{
    dense_main(b, strassen_task, 7);
}

/* --- mergesort -------------------------------------------------------------------- */

static void merge_task(void *closure)
{
    struct runs runs = *(struct runs *)closure, greater;
    if (runs.nx + runs.ny <= MERGE_LEAF) {
        merge(runs.x, runs.nx, runs.y, runs.ny, runs.out);
        return;
    }
    struct children children;
    runs_cut(&runs, &greater);
    peer_fork(&children, merge_task, &greater);
    merge_task(&runs);
    peer_join(&children);
}

struct part {
    int *a, *spare;
    long n;
    int away; /* the sorted part is to be in spare */
};

static void merge_sort_task(void *closure)
{
    struct part p = *(struct part *)closure;
    if (p.n <= MERGE_SORT_LEAF) {
        merge_sort(p.a, p.spare, p.n, p.away);
        return;
    }
    long half = p.n / 2;
    struct part left = {p.a, p.spare, half, !p.away};
    struct part right = {p.a + half, p.spare + half, p.n - half, !p.away};
    {
        struct children children;
        peer_fork(&children, merge_sort_task, &right);
        merge_sort_task(&left);
        peer_join(&children);
    }
    struct runs runs = runs_of(p.away ? p.a : p.spare, half, p.n, p.away ? p.spare : p.a);
    merge_task(&runs);
}

static void mergesort_main(struct bench *b)
{
    long n = b->n;
    int *a = (int *)bench_alloc((size_t)n, sizeof *a);
    int *spare = (int *)bench_alloc((size_t)n, sizeof *spare);
    memset(spare, 0, (size_t)n * sizeof *spare);
    for (int r = 0; r < b->repetitions; r++) {
        struct part all = {a, spare, n, 0};
        bench_lcg(a, n);
        uint64_t before = bench_multiset(a, n);
        fork_timed(b, merge_sort_task, &all);
        peer_line(b, n, before, bench_sorted(a, n) && bench_multiset(a, n) == before);
    }
    free(a);
    free(spare);
}

/* --- knapsack --------------------------------------------------------------------- */

static struct knapsack search;
static uint64_t *search_found;

/* True if the attempt has found the packing. */
static int search_attempt(long attempt)
{
    uint64_t taken = knapsack_attempt(&search, attempt, peer_unwanted, NULL);
    if (taken != 0)
        *search_found = taken; /* there is one packing, so no other task writes */
    return taken != 0;
}

static void searches(void *closure)
{
    const struct bench *b = (const struct bench *)closure;
    uint64_t *found = search_found;
    for (long i = 0; i < b->n; i++) {
        search = knapsack_new((uint64_t)i);
        search_found = found + i;
        peer_search();
    }
    search_found = found;
}

static void knapsack_main(struct bench *b)
{
    uint64_t *found = (uint64_t *)bench_alloc((size_t)b->n, sizeof *found);
    for (int r = 0; r < b->repetitions; r++) {
        memset(found, 0, (size_t)b->n * sizeof *found);
        search_found = found;
        fork_timed(b, searches, b);
        uint64_t sum;
        int right = knapsack_right(found, b->n, &sum);
        peer_line(b, b->n, sum, right);
    }
    free(found);
}

/* --- phases, loop, loops, reduce, sort ------------------------------------------------------ */

static void loop_main(struct bench *b)
{
    uint64_t wanted = 0;
    loop_range(0, (size_t)b->n, &wanted);
    for (int r = 0; r < b->repetitions; r++) {
        uint64_t found = 0;
        bench_clock_start(b);
        peer_loop((size_t)b->n, &found);
        bench_clock_stop(b);
        peer_line(b, b->n, found, found == wanted);
    }
}

struct phase_part {
    struct phases *phases;
    size_t part;
};

static void phase_part_task(void *closure)
{
    struct phase_part *part = (struct phase_part *)closure;
    phases_parts(part->phases, part->part, part->part + 1);
}

struct phases_forked {
    struct phases *phases;
    long n;
};

/* Each part but the first is a task of its own, and one wait is for all of them. */
static void phase_fork(void *closure)
{
    struct phase_part *parts = (struct phase_part *)closure;
    struct children children;
    for (size_t i = 1; i < PHASE_PARTS; i++)
        peer_fork(&children, phase_part_task, &parts[i]);
    phase_part_task(&parts[0]);
    peer_join(&children);
}

static void phases_fork(void *closure)
{
    struct phases_forked *forked = (struct phases_forked *)closure;
    struct phase_part parts[PHASE_PARTS];
    for (size_t i = 0; i < PHASE_PARTS; i++) {
        parts[i].phases = forked->phases;
        parts[i].part = i;
    }
    for (long k = 0; k < forked->n; k++) {
        phases_gap(forked->phases);
        double start = bench_now();
        if (peer_from_main)
            peer_outside(phase_fork, parts);
        else
            phase_fork(parts);
        phases_took(forked->phases, k, start);
    }
}

static void phases_sum(struct phases *p, long n)
{
    for (long k = 0; k < n; k++) {
        phases_gap(p);
        double start = bench_now();
        phases_found(p, peer_reduce(phases_length(p)));
        phases_took(p, k, start);
    }
}

#ifdef PEER_SORTS
static void phases_sort(struct phases *p, long n)
{
    for (long k = 0; k < n; k++) {
        phases_gap(p);
        double start = bench_now();
        peer_sort(p->numbers, phases_length(p));
        phases_took(p, k, start);
    }
}
#endif

/* By -d group-…: a task for each part. By -d sum-… and sort-…: the reduction and the sort of the
 * system. By any other way: its loop. */
static void phases_main(struct bench *b)
{
    struct phases p = phases_new(b);
    struct phases_forked forked = {&p, b->n};
    int grouped = strcmp(p.way, "group") == 0;
    peer_from_main = b->from_main;
    for (int r = 0; r < b->repetitions; r++) {
        memset(p.sums, 0, sizeof p.sums);
        if (grouped && !peer_from_main) {
            fork_timed(b, phases_fork, &forked);
        } else {
            bench_clock_start(b);
            if (grouped)
                phases_fork(&forked);
            else if (phases_are_sums(&p))
                phases_sum(&p, b->n);
#ifdef PEER_SORTS
            else if (phases_are_sorts(&p))
                phases_sort(&p, b->n);
#endif
            else
                peer_phases(&p, b->n);
            bench_clock_stop(b);
        }
        phases_fields(b, &p);
        peer_line(b, phases_elements(&p, b->n), bench_mix((uint64_t)b->n), phases_right(&p, b->n));
    }
    phases_free(&p);
}

/* Runs the loops by `run` under each schedule. The line names the one with the least median, and has its figures. */
static void timed_loops(struct bench *b, enum loops_way way, void (*run)(struct loops *, long, int))
{
    static const char *const schedules[] = PEER_SCHEDULES;
    const int count = (int)(sizeof schedules / sizeof *schedules);
    struct loops l = loops_new(b, way);
    for (int r = 0; r < b->repetitions; r++) {
        int right = loops_serially(&l, b->n);
        struct bench best;
        double least = 0;
        for (int i = 0; i < count; i++) {
            struct bench one = *b;
            loops_clear(&l, b->n);
            bench_clock_start(&one);
            run(&l, b->n, i);
            bench_clock_stop(&one);
            right = loops_right(&l, b->n) && right;
            double median = loops_fields(&one, &l, b->threads);
            if (schedules[i] != NULL)
                bench_word(&one, "schedule", schedules[i]);
            if (i == 0 || median < least) {
                best = one;
                least = median;
            }
        }
        peer_line(&best, b->n * l.iterations, bench_mix((uint64_t)b->n), right);
        b->failed = best.failed || b->failed;
    }
    loops_free(&l);
}

static void loops_main(struct bench *b)
{
    timed_loops(b, LOOPS_STORED, peer_loops);
}

static void reductions_main(struct bench *b)
{
    timed_loops(b, LOOPS_ADDED, peer_reductions);
}

static void reduce_main(struct bench *b)
{
    uint64_t wanted = reduce_range(0, (size_t)b->n);
    for (int r = 0; r < b->repetitions; r++) {
        bench_clock_start(b);
        uint64_t sum = peer_reduce((size_t)b->n);
        bench_clock_stop(b);
        peer_line(b, b->n, sum, sum == wanted);
    }
}

#ifdef PEER_SORTS
static void sort_main(struct bench *b)
{
    int *a = (int *)bench_alloc((size_t)b->n, sizeof *a);
    bench_take_main(b);
    peer_from_main = b->from_main;
    for (int r = 0; r < b->repetitions; r++) {
        sort_data(b, a);
        uint64_t before = bench_multiset(a, b->n);
        bench_clock_start(b);
        peer_sort(a, (size_t)b->n);
        bench_clock_stop(b);
        peer_line(b, b->n, before, bench_sorted(a, b->n) && bench_multiset(a, b->n) == before);
    }
    free(a);
}
#define SORT_WORKLOAD , {{"sort", "elements", 1L << 20, 1, 1L << 30, SORT_DATA}, sort_main}
#else
#define SORT_WORKLOAD
#endif

#define FORK_WORKLOADS                                                                     \
    {{"fib", "the Fibonacci number wanted", 27, 0, 45, NULL}, fib_main},                   \
    {{"nqueens", "queens", 12, 1, QUEENS_MOST, NULL}, nqueens_main},                       \
    {{"uts", "depth (10: T1)", 10, 0, 15, NULL}, uts_main},                                \
    {{"uts_deep", "children of the root (2000: T3)", 2000, 0, 100000, NULL}, uts_deep_main}, \
    {{"matmul", "rows and columns", 512, 1, 8192, NULL}, matmul_main},                     \
    {{"strassen", "rows and columns", 512, 1, 8192, NULL}, strassen_main},                 \
    {{"mergesort", "elements", 1L << 20, 1, 1L << 30, NULL}, mergesort_main},              \
    {{"knapsack", "searches", 32, 1, 1000000, NULL}, knapsack_main},                       \
    {{"loop", "iterations", 100000000, 1, 1L << 40, NULL}, loop_main},                     \
    {{"phases", "phases", 2000, 1, 100000000, "WAY-WORK-GAP, times in us"}, phases_main},   \
    {{"loops", "loops", 60, 1, 1000000, "SHAPE-WORK-ITERATIONS, the work in us"}, loops_main}, \
    {{"reductions", "reductions", 60, 1, 1000000, "as of loops"}, reductions_main},        \
    {{"reduce", "terms", 100000000, 1, 1L << 40, NULL}, reduce_main}                       \
    SORT_WORKLOAD

#endif
