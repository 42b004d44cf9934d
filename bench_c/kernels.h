/* kernels.h: the work of the tasks and the checks of the answers, for our programs and for
 * the peers alike: no scheduler here. C11 and C++20. */

#ifndef KERNELS_H
#define KERNELS_H

#include "measure.h"

/* --- flood -------------------------------------------------------------------- */

/* Neighbouring tasks count themselves in bytes that are `height` apart, so that the check does not make two workers
 * share a cache line. `height` is an odd number of lines: 64 bytes at this distance are spread over the sets of a
 * cache, while at a power of two they would share a few sets. */
struct flood {
    long n, height;
    unsigned char *seen;
};

enum { FLOOD_STRIPES = 64, FLOOD_LINE = 64 };

static inline struct flood flood_new(long n)
{
    struct flood f;
    f.n = n;
    f.height = ((n / FLOOD_STRIPES / FLOOD_LINE + 1) | 1) * FLOOD_LINE;
    f.seen = (unsigned char *)bench_alloc((size_t)f.height * FLOOD_STRIPES, 1);
    return f;
}

static inline void flood_clear(struct flood *f)
{
    memset(f->seen, 0, (size_t)f->height * FLOOD_STRIPES);
}

static inline unsigned char *flood_at(struct flood *f, long i)
{
    return &f->seen[i % FLOOD_STRIPES * f->height + i / FLOOD_STRIPES];
}

static inline int flood_right(struct flood *f, uint64_t *sum)
{
    int right = 1;
    *sum = 0;
    for (long i = 0; i < f->n; i++) {
        unsigned char count = *flood_at(f, i);
        *sum += bench_mix((uint64_t)i) * count;
        right = right && count == 1;
    }
    return right;
}

/* --- tree --------------------------------------------------------------------- */

/* True if each of the tasks 1 to last was counted once in seen[i]. */
static inline int tree_right(const unsigned char *seen, long last, uint64_t *sum)
{
    *sum = 0;
    for (long i = 1; i <= last; i++)
        *sum += bench_mix((uint64_t)i) * seen[i];
    return bench_once(seen + 1, last);
}

/* --- quicksort ---------------------------------------------------------------- */

enum { QUICKSORT_CUTOFF = 128 };

/* Hoare's partition with the pivot a[lo]. Returns j: a[lo..j] <= a[j+1..hi], and lo <= j < hi. */
static inline long partition(int *a, long lo, long hi)
{
    int pivot = a[lo];
    long i = lo - 1, j = hi + 1;
    for (;;) {
        do i++; while (a[i] < pivot);
        do j--; while (a[j] > pivot);
        if (i >= j)
            return j;
        int t = a[i];
        a[i] = a[j];
        a[j] = t;
    }
}

/* Recurs into the smaller half: the C stack stays small on any data. */
static inline void quicksort(int *a, long lo, long hi)
{
    while (lo < hi) {
        long j = partition(a, lo, hi);
        if (j - lo < hi - j - 1) {
            quicksort(a, lo, j);
            lo = j + 1;
        } else {
            quicksort(a, j + 1, hi);
            hi = j;
        }
    }
}

/* leaf[lo] counts the leaves. With L leaves, L - 1 tasks have split, since each of these spawns two. */
static inline int quicksort_right(const int *a, const unsigned char *leaf, long n,
                                  uint64_t before, long *tasks)
{
    long leaves = 0;
    int once = 1;
    for (long i = 0; i < n; i++) {
        leaves += leaf[i];
        once = once && leaf[i] <= 1;
    }
    *tasks = 2 * leaves - 1;
    return once && bench_sorted(a, n) && bench_multiset(a, n) == before;
}

/* --- queens ------------------------------------------------------------------- */

enum { QUEENS_MOST = 18 };

static const long queens_solutions[QUEENS_MOST + 1] = {
    1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512,
    95815104, 666090624,
};

struct board {
    unsigned columns, left, right; /* those taken: columns, and diagonals at this row */
};

/* `full` has one bit for each column. */
static inline unsigned board_open(struct board b, unsigned full)
{
    return full & ~(b.columns | b.left | b.right);
}

static inline struct board board_with(struct board b, unsigned queen)
{
    b.columns |= queen;
    b.left = (b.left | queen) << 1;
    b.right = (b.right | queen) >> 1;
    return b;
}

/* The solutions below a board. */
static inline long queens_count(unsigned full, unsigned columns, unsigned left, unsigned right)
{
    if (columns == full)
        return 1;
    long sum = 0;
    for (unsigned open = full & ~(columns | left | right); open != 0; open &= open - 1) {
        unsigned queen = open & -open;
        sum += queens_count(full, columns | queen, (left | queen) << 1, (right | queen) >> 1);
    }
    return sum;
}

/* The number of placements of any number of queens: a task for each. */
static inline long queens_tasks(unsigned full, struct board b)
{
    long sum = 1;
    for (unsigned open = board_open(b, full); open != 0; open &= open - 1)
        sum += queens_tasks(full, board_with(b, open & -open));
    return sum;
}

/* --- mandelbrot --------------------------------------------------------------- */

enum { MANDELBROT_LIMIT = 400 }; /* iterations after which a point is said to be inside */

/* One row of n by n points. The points are exactly symmetric about 0, so rows r and n - 1 - r are the same. */
static inline void mandelbrot_row(long n, long row, uint16_t *out)
{
    double ci = (double)(2 * row + 1 - n) * (1.5 / (double)n);
    for (long column = 0; column < n; column++) {
        double cr = (double)(2 * column + 1) * (1.5 / (double)n) - 2.0;
        double zr = 0, zi = 0;
        uint16_t k = 0;
        while (k < MANDELBROT_LIMIT && zr * zr + zi * zi <= 4.0) {
            double t = zr * zr - zi * zi + cr;
            zi = 2 * zr * zi + ci;
            zr = t;
            k++;
        }
        out[column] = k;
    }
}

/* True if every row was done once, the picture is its own mirror image, and every 16th row is as computed here. */
static inline int mandelbrot_right(const uint16_t *image, const unsigned char *seen, long n,
                                   uint64_t *sum)
{
    size_t size = (size_t)n * sizeof *image;
    uint16_t *again = (uint16_t *)bench_alloc((size_t)n, sizeof *again);
    int right = bench_once(seen, n);
    *sum = 0;
    for (long i = 0; i < n * n; i++)
        *sum += bench_mix(((uint64_t)i << 16) + image[i]);
    for (long row = 0; right && row < n; row++) {
        right = memcmp(image + row * n, image + (n - 1 - row) * n, size) == 0;
        if (right && row % 16 == 0) {
            mandelbrot_row(n, row, again);
            right = memcmp(image + row * n, again, size) == 0;
        }
    }
    free(again);
    return right;
}

/* --- wake-ups ----------------------------------------------------------------- */

/* How long the sleepers are left alone before round i: between one and three milliseconds, and always different, so
 * that a sleeper with a period of its own is not met at the same point of each period. */
static inline double wakeup_pause(long i)
{
    return 1e-3 + 2e-3 * (double)(bench_mix((uint64_t)i) >> 40) / (double)(1 << 24);
}

static inline void bench_spin(double seconds)
{
    double start = bench_now();
    while (bench_now() - start < seconds)
        ;
}

enum { WAKEUP_PATIENCE = 20 }; /* seconds until a task that does not start is given up */

/* The data that the asking and the answering thread share. */
struct wakeup {
    long n;
    double *latency; /* seconds, one a round; rounds are numbered from 1 */
    double started;  /* the clock at the start of the task ... */
    long answered;   /* ... of this round; the store of `answered` publishes it */
};

static inline struct wakeup wakeup_new(long n)
{
    struct wakeup w;
    w.n = n;
    w.latency = (double *)bench_alloc((size_t)n, sizeof *w.latency);
    return w;
}

static inline void wakeup_clear(struct wakeup *w)
{
    w->answered = 0;
    for (long i = 0; i < w->n; i++)
        w->latency[i] = -1;
}

static inline void wakeup_answer(struct wakeup *w, long round)
{
    w->started = bench_now();
    __atomic_store_n(&w->answered, round, __ATOMIC_RELEASE);
}

/* Waits for the answer to `round`, which was asked for at the time `asked`. */
static inline void wakeup_record(struct wakeup *w, long round, double asked)
{
    while (__atomic_load_n(&w->answered, __ATOMIC_ACQUIRE) != round) {
        if (bench_now() - asked > (double)WAKEUP_PATIENCE) {
            fprintf(stderr, "wakeup: in %d s no other worker started the task\n",
                    WAKEUP_PATIENCE);
            exit(1);
        }
    }
    w->latency[round - 1] = w->started - asked;
}

/* Adds the fields of the line; true if every round has had an answer. burn_us is the processor time of a round beyond
 * that of the asking thread, which is always busy. */
static inline int wakeup_right(struct wakeup *w, struct bench *b)
{
    int right = 1;
    double used = bench_seconds(b->usage.ru_utime) + bench_seconds(b->usage.ru_stime);
    for (long i = 0; i < w->n; i++)
        right = right && w->latency[i] >= 0;
    bench_sort(w->latency, w->n);
    bench_field(b, "wake_us", 1e6 * bench_quantile(w->latency, w->n, 0.5));
    bench_field(b, "p90_us", 1e6 * bench_quantile(w->latency, w->n, 0.9));
    bench_field(b, "p99_us", 1e6 * bench_quantile(w->latency, w->n, 0.99));
    bench_field(b, "burn_us", 1e6 * (used - b->wall) / (double)w->n);
    return right;
}

/* --- idling ------------------------------------------------------------------- */

/* Sleeps, and returns how many milliseconds by the clock. */
static inline long bench_sleep(long milliseconds)
{
    double start = bench_now();
    struct timespec left = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0)
        if (errno != EINTR)
            bench_die("nanosleep");
    return (long)((bench_now() - start) * 1e3);
}

#endif
