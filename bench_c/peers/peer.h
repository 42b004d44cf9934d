/* peer.h: the workloads of bench_c on another system. C11 and C++20.
 *
 * A peer names itself, includes this header and defines the five functions below. This header has the rest: main, and
 * the tasks, which are those of bench_c's programs. If the system keeps threads between runs, they are made before the
 * clock runs.
 *
 *   PEER WORKLOAD [-n SIZE] [-t THREADS] [-r REPETITIONS]     a line a run, as in bench_c
 *   PEER --version
 *
 * A peer whose tasks can be ordered by what they read and write first defines PEER_DEPENDS, and also defines what depend.h
 * asks for.
 *
 * A peer whose tasks can wait for others first defines PEER_FORKS, and also defines what fork.h and outside.h ask for.
 *
 * A task takes two words by value, since OpenMP's firstprivate and C++ closures copy them. If a system takes a pointer
 * instead, the peer allocates memory. */

#ifndef PEER_H
#define PEER_H

#include "../kernels.h"

struct arg {
    uint64_t x, y;
};

typedef void (*task_fn)(struct arg a);

static void peer_start(int threads);
/* Runs f(a) and all tasks spawned from it; returns when they have ended. */
static void peer_run(task_fn f, struct arg a);
/* Spawns from a task. */
static void peer_spawn(task_fn f, struct arg a);
static void peer_stop(void);
static void peer_version(void); /* prints it */

static inline struct arg arg1(long x)
{
    struct arg a = {(uint64_t)x, 0};
    return a;
}

static inline struct arg arg2(long x, long y)
{
    struct arg a = {(uint64_t)x, (uint64_t)y};
    return a;
}

static inline struct arg arg_of(void *p)
{
    struct arg a = {(uint64_t)(uintptr_t)p, 0};
    return a;
}

static inline void *arg_pointer(struct arg a)
{
    return (void *)(uintptr_t)a.x;
}

static inline void peer_timed(struct bench *b, task_fn f, struct arg a)
{
    bench_clock_start(b);
    peer_run(f, a);
    bench_clock_stop(b);
}

static inline void peer_line(struct bench *b, long tasks, uint64_t checksum, int right)
{
    bench_print(b, PEER, b->threads, tasks, checksum, right);
}

/* --- flood -------------------------------------------------------------------- */

static struct flood flood;

static void flood_drop(struct arg a)
{
    ++*flood_at(&flood, (long)a.x);
}

static void flood_first(struct arg a)
{
    (void)a;
    for (long i = 0; i < flood.n; i++)
        peer_spawn(flood_drop, arg1(i));
}

static void flood_main(struct bench *b)
{
    flood = flood_new(b->n);
    for (int r = 0; r < b->repetitions; r++) {
        flood_clear(&flood);
        peer_timed(b, flood_first, arg1(0));
        uint64_t sum;
        int right = flood_right(&flood, &sum);
        peer_line(b, b->n + 1, sum, right);
    }
    free(flood.seen);
}

/* --- tree --------------------------------------------------------------------- */

static long tree_last;
static unsigned char *seen; /* also used by mandelbrot */

static void tree_node(struct arg a)
{
    long i = (long)a.x;
    seen[i]++;
    if (2 * i <= tree_last)
        peer_spawn(tree_node, arg1(2 * i));
    if (2 * i + 1 <= tree_last)
        peer_spawn(tree_node, arg1(2 * i + 1));
}

static void tree_main(struct bench *b)
{
    tree_last = b->n + 1;
    seen = (unsigned char *)bench_alloc((size_t)tree_last + 1, 1);
    for (int r = 0; r < b->repetitions; r++) {
        memset(seen, 0, (size_t)tree_last + 1);
        peer_timed(b, tree_node, arg1(1));
        uint64_t sum;
        int right = tree_right(seen, tree_last, &sum);
        peer_line(b, tree_last, sum, right);
    }
    free(seen);
}

/* --- quicksort ---------------------------------------------------------------- */

static int *numbers;
static unsigned char *leaf;

static void quicksort_task(struct arg a)
{
    long lo = (long)a.x, hi = (long)a.y;
    if (hi - lo <= QUICKSORT_CUTOFF) {
        leaf[lo]++;
        quicksort(numbers, lo, hi);
        return;
    }
    long j = partition(numbers, lo, hi);
    peer_spawn(quicksort_task, arg2(lo, j));
    peer_spawn(quicksort_task, arg2(j + 1, hi));
}

static void quicksort_main(struct bench *b)
{
    long n = b->n;
    numbers = (int *)bench_alloc((size_t)n, sizeof *numbers);
    leaf = (unsigned char *)bench_alloc((size_t)n, 1);
    for (int r = 0; r < b->repetitions; r++) {
        bench_lcg(numbers, n);
        for (long i = 0; i < n; i++)
            leaf[i] = 0;
        uint64_t before = bench_multiset(numbers, n);
        peer_timed(b, quicksort_task, arg2(0, n - 1));
        long tasks;
        int right = quicksort_right(numbers, leaf, n, before, &tasks);
        peer_line(b, tasks, before + (uint64_t)tasks, right);
    }
    free(numbers);
    free(leaf);
}

/* --- mandelbrot --------------------------------------------------------------- */

static long rows;
static uint16_t *image;

static void mandelbrot_task(struct arg a)
{
    long row = (long)a.x;
    seen[row]++;
    mandelbrot_row(rows, row, image + row * rows);
}

static void mandelbrot_first(struct arg a)
{
    (void)a;
    for (long row = 0; row < rows; row++)
        peer_spawn(mandelbrot_task, arg1(row));
}

static void mandelbrot_main(struct bench *b)
{
    rows = b->n;
    image = (uint16_t *)bench_alloc((size_t)rows * (size_t)rows, sizeof *image);
    seen = (unsigned char *)bench_alloc((size_t)rows, 1);
    for (int r = 0; r < b->repetitions; r++) {
        memset(image, 0, (size_t)rows * (size_t)rows * sizeof *image);
        memset(seen, 0, (size_t)rows);
        peer_timed(b, mandelbrot_first, arg1(0));
        uint64_t sum;
        int right = mandelbrot_right(image, seen, rows, &sum);
        peer_line(b, rows + 1, sum, right);
    }
    free(image);
    free(seen);
}

/* --- wakeup, idleburn, emptyrun ------------------------------------------------- */

static struct wakeup wakeup;

static void wakeup_task(struct arg a)
{
    wakeup_answer(&wakeup, (long)a.x);
}

static void wakeup_first(struct arg a)
{
    (void)a;
    for (long round = 1; round <= wakeup.n; round++) {
        bench_spin(wakeup_pause(round));
        double asked = bench_now();
        peer_spawn(wakeup_task, arg1(round));
        wakeup_record(&wakeup, round, asked);
    }
}

static void wakeup_main(struct bench *b)
{
    wakeup = wakeup_new(b->n);
    for (int r = 0; r < b->repetitions; r++) {
        wakeup_clear(&wakeup);
        peer_timed(b, wakeup_first, arg1(0));
        int right = wakeup_right(&wakeup, b);
        peer_line(b, b->n + 1, bench_mix((uint64_t)b->n), right);
    }
    free(wakeup.latency);
}

static long slept;

static void idleburn_task(struct arg a)
{
    slept = bench_sleep((long)a.x);
}

static void idleburn_main(struct bench *b)
{
    for (int r = 0; r < b->repetitions; r++) {
        slept = -1;
        peer_timed(b, idleburn_task, arg1(b->n));
        double busy = bench_seconds(b->usage.ru_utime) + bench_seconds(b->usage.ru_stime);
        bench_field(b, "burn_percent", 100 * busy / b->wall);
        peer_line(b, 1, bench_mix((uint64_t)b->n), slept >= b->n);
    }
}

static long runs;

static void emptyrun_task(struct arg a)
{
    (void)a;
    runs++;
}

static void emptyrun_main(struct bench *b)
{
    for (int r = 0; r < b->repetitions; r++) {
        runs = 0;
        bench_clock_start(b);
        for (long run = 0; run < b->n; run++)
            peer_run(emptyrun_task, arg1(0));
        bench_clock_stop(b);
        peer_line(b, b->n, bench_mix((uint64_t)runs), runs == b->n);
    }
}

/* ------------------------------------------------------------------------------- */

static char **peer_words; /* main's argv */

#ifdef PEER_FORKS
#include "fork.h"
#endif
#include "outside.h"
#ifdef PEER_DEPENDS
#include "depend.h"
#endif

static const struct workload {
    struct bench_about about;
    void (*main)(struct bench *b);
} workloads[] = {
    {{"flood", "spawns", 1L << 20, 1, 1L << 30, NULL}, flood_main},
    {{"tree", "spawns", 1L << 20, 0, 1L << 30, NULL}, tree_main},
    {{"quicksort", "elements", 1L << 20, 1, 1L << 30, NULL}, quicksort_main},
    {{"mandelbrot", "rows and columns", 640, 1, 32768, NULL}, mandelbrot_main},
    {{"wakeup", "wake-ups", 100, 1, 1000000, NULL}, wakeup_main},
    {{"idleburn", "milliseconds of sleep", 1000, 1, 1000000, NULL}, idleburn_main},
    {{"emptyrun", "runs", 1000, 1, 100000000, NULL}, emptyrun_main},
#ifdef PEER_DEPENDS
    DEPEND_WORKLOADS,
#endif
#ifdef PEER_FORKS
    FORK_WORKLOADS,
    {{"outside_beside", "bodies of 1 ms", 1000, 1, 1000000, "loop (the default) or tree"}, outside_beside_main},
#endif
#if defined PEER_FORKS || defined PEER_HANDS
    {{"outside_flood", "tasks of all threads", 200000, 1, 1L << 30, "group-THREADS, pool-THREADS"},
     outside_flood_main},
#endif
#ifdef PEER_HANDS
    {{"outside_sparse", "jobs of all threads", 3000, 1, 10000000, "pool-THREADS"}, outside_sparse_main},
#endif
};

int main(int argc, char **argv)
{
    const size_t count = sizeof workloads / sizeof *workloads;
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        peer_version();
        return 0;
    }
    for (size_t i = 0; argc > 1 && i < count; i++) {
        const struct workload *w = &workloads[i];
        if (strcmp(argv[1], w->about.name) != 0)
            continue;
        struct bench b = bench_start(&w->about, argc - 1, argv + 1);
        if (b.serial) {
            fprintf(stderr, "%s: the serial version is bench_c's\n", PEER);
            return 2;
        }
        if (b.threads < 1)
            b.threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
        peer_words = argv;
        peer_start(b.threads);
        w->main(&b);
        peer_stop();
        return bench_end(&b);
    }
    fprintf(stderr, "usage: %s WORKLOAD [-n SIZE] [-t THREADS] [-r REPETITIONS]\nWORKLOAD is", PEER);
    for (size_t i = 0; i < count; i++)
        fprintf(stderr, " %s", workloads[i].about.name);
    fputc('\n', stderr);
    return 2;
}

#endif
