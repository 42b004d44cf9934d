/* measure.h: what every measured program shares, whatever runs its tasks: options, clock,
 * calibration, checks, one line a run. C11 and C++20: the peers include it, too.
 *
 * Include it first in a program: it asks for POSIX before the first libc header.
 *
 * The line is read by people and by sched-bench:
 *
 *   bench=tree n=1048576 kind=steal threads=2 tasks=1048577 seconds=0.012345
 *   ns_per_task=11.8 checksum=00c0ffee user=0.02 sys=0.00 vcsw=4 icsw=17 cal=0.54 ok
 *
 * seconds is wall time around the run alone; data is made and checked outside it. Between cal and the verdict a program
 * may have fields of its own. user and sys (seconds of processor time) and vcsw and icsw (voluntary and involuntary
 * context switches) help to explain a slow run: if wall time is far more than processor time, threads slept or the
 * machine was busy; many icsw come from other programs; sys is the kernel's share. cal is the speed of the processor
 * just before the run: without it a figure in ns says little. */

#ifndef MEASURE_H
#define MEASURE_H

#ifndef _XOPEN_SOURCE
#define _XOPEN_SOURCE 700
#endif

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* A program's description of itself, a constant in each program. */
struct bench_about {
    const char *name;
    const char *size;     /* what -n counts */
    long n, min, max;     /* its default and its range */
    const char *data;     /* what -d chooses, or NULL: no such option */
};

struct bench {
    const struct bench_about *about;
    long n;
    int threads;          /* -t; 0: the scheduler's default */
    int repetitions;
    int serial;
    const char *data;     /* the argument of -d, or NULL; without the word main */
    int from_main;        /* the calls are made outside of any task */
    int failed;
    double wall;          /* the time at the start of a run; after it, the time that the run took */
    struct rusage usage;  /* the same for the process's counters */
    double cal;           /* ns an iteration of the calibration loop, before the run */
    char extra[192];      /* fields of the program's own, or nothing */
};

/* --- failing ---------------------------------------------------------------- */

static inline void bench_die(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

/* For functions that return an error's number, or 0. */
static inline void bench_check(int error, const char *what)
{
    errno = error;
    if (error != 0)
        bench_die(what);
}

static inline void *bench_alloc(size_t count, size_t size)
{
    void *p = count > PTRDIFF_MAX / size ? NULL : malloc(count * size);
    if (p == NULL) {
        errno = ENOMEM;
        bench_die("malloc");
    }
    return p;
}

/* --- the clock and the processor's speed ------------------------------------- */

static inline double bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* `turns` turns of y = y * 3 + 1, each waiting for the one before; the barrier keeps the compiler from folding them.
 * In every program the loop lies within one cache line: a loop across two lines takes some processors twice as long. */
__attribute__((noinline, aligned(64), unused)) static uint64_t bench_turns(uint64_t y, long turns)
{
    for (long i = 0; i < turns; i++) {
        y = y * 3 + 1;
        __asm__ volatile("" : "+r"(y));
    }
    return y;
}

/* The result of bench_turns(y, turns), without taking the turns. */
static inline uint64_t bench_turned(uint64_t y, uint64_t turns)
{
    /* y -> step*y + add makes 1, 2, 4, ... of the turns at once. */
    uint64_t step = 3, add = 1;
    for (; turns != 0; turns >>= 1) {
        if (turns & 1)
            y = step * y + add;
        add = step * add + add;
        step *= step;
    }
    return y;
}

/* Nanoseconds that a turn takes: the fastest of some tries of 2^16 turns each. */
static inline double bench_calibrate(int tries)
{
    const long turns = 1L << 16;
    double least = 0;
    uint64_t y = 1;
    for (int t = 0; t < tries; t++) {
        double start = bench_now();
        y = bench_turns(y, turns);
        double ns = (bench_now() - start) * 1e9 / (double)turns;
        if (t == 0 || ns < least)
            least = ns;
    }
    return least;
}

/* --- options ---------------------------------------------------------------- */

static inline void bench_usage(const struct bench_about *about, FILE *out)
{
    fprintf(out, "usage: %s [-n SIZE] [-t THREADS] [-r REPETITIONS] [-s]%s\n"
            "  -n  %s, %ld to %ld (default %ld)\n"
            "  -t  threads; 0: the default. With libsched, SCHED_THREADS wins\n"
            "  -r  runs, a line each (default 1)\n"
            "  -s  serial: plain calls, no scheduler\n",
            about->name, about->data != NULL ? " [-d DATA]" : "",
            about->size, about->min, about->max, about->n);
    if (about->data != NULL)
        fprintf(out, "  -d  %s\n", about->data);
}

static inline long bench_number(const struct bench_about *about, int option,
                                const char *text, long min, long max)
{
    char *end;
    errno = 0;
    long v = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || v < min || v > max) {
        fprintf(stderr, "%s: -%c %s: a number from %ld to %ld is wanted\n",
                about->name, option, text, min, max);
        exit(2);
    }
    return v;
}

/* Ends the program: `data` is not what -d can be. The rest says what it can be. */
__attribute__((noreturn, format(printf, 3, 4)))
static inline void bench_refuse(const struct bench *b, const char *data, const char *format, ...)
{
    va_list words;
    va_start(words, format);
    fprintf(stderr, "%s: -d %s: ", b->about->name, data);
    vfprintf(stderr, format, words);
    fputc('\n', stderr);
    exit(2);
}

static inline struct bench bench_start(const struct bench_about *about, int argc, char **argv)
{
    struct bench b;
    memset(&b, 0, sizeof b);
    b.about = about;
    b.n = about->n;
    b.repetitions = 1;
    int c;
    while ((c = getopt(argc, argv, about->data != NULL ? "n:t:r:shd:" : "n:t:r:sh")) != -1) {
        switch (c) {
        case 'n': b.n = bench_number(about, c, optarg, about->min, about->max); break;
        case 't': b.threads = (int)bench_number(about, c, optarg, -1, 4096); break;
        case 'r': b.repetitions = (int)bench_number(about, c, optarg, 1, 1000000); break;
        case 's': b.serial = 1; break;
        case 'd': b.data = optarg; break;
        case 'h': bench_usage(about, stdout); exit(0);
        default: bench_usage(about, stderr); exit(2);
        }
    }
    if (optind != argc) {
        bench_usage(about, stderr);
        exit(2);
    }
    bench_calibrate(16); /* about a millisecond: the processor is awake from here on */
    return b;
}

/* For programs that can also make their calls from main, outside of any task: takes the word main
 * from the front of -d. `-d main-for-20-0` is `-d for-20-0` from main; `-d main` is main alone. */
static inline void bench_take_main(struct bench *b)
{
    const char *data = b->data;
    if (data == NULL || strncmp(data, "main", 4) != 0 || (data[4] != '\0' && data[4] != '-'))
        return;
    b->from_main = 1;
    b->data = data[4] == '\0' ? NULL : data + 5;
}

/* --- a timed run ------------------------------------------------------------ */

static inline void bench_clock_start(struct bench *b)
{
    b->cal = bench_calibrate(4);
    getrusage(RUSAGE_SELF, &b->usage);
    b->wall = bench_now();
}

static inline struct timeval bench_since(struct timeval then, struct timeval now)
{
    now.tv_sec -= then.tv_sec;
    now.tv_usec -= then.tv_usec;
    return now;
}

static inline void bench_clock_stop(struct bench *b)
{
    struct rusage now;
    b->wall = bench_now() - b->wall;
    getrusage(RUSAGE_SELF, &now);
    b->usage.ru_utime = bench_since(b->usage.ru_utime, now.ru_utime);
    b->usage.ru_stime = bench_since(b->usage.ru_stime, now.ru_stime);
    b->usage.ru_nvcsw = now.ru_nvcsw - b->usage.ru_nvcsw;
    b->usage.ru_nivcsw = now.ru_nivcsw - b->usage.ru_nivcsw;
}

/* --- the line --------------------------------------------------------------- */

static inline double bench_seconds(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

/* Adds a field to the next line: a name and a number. */
static inline void bench_field(struct bench *b, const char *name, double value)
{
    size_t used = strlen(b->extra);
    snprintf(b->extra + used, sizeof b->extra - used, " %s=%.6g", name, value);
}

/* Like bench_field, for a word. */
static inline void bench_word(struct bench *b, const char *name, const char *word)
{
    size_t used = strlen(b->extra);
    snprintf(b->extra + used, sizeof b->extra - used, " %s=%s", name, word);
}

/* tasks is the exact number of tasks that the answer needs; with -s, the number that a scheduler would run. If the
 * schedule decides how many tasks there are, it is the number of elements or iterations instead. */
static inline void bench_print(struct bench *b, const char *kind, int threads, long tasks,
                               uint64_t checksum, int right)
{
    if (!right)
        b->failed = 1;
    printf("bench=%s n=%ld kind=%s threads=%d tasks=%ld seconds=%.6f ns_per_task=%.2f "
           "checksum=%016" PRIx64 " user=%.6f sys=%.6f vcsw=%ld icsw=%ld cal=%.3f%s %s\n",
           b->about->name, b->n, kind, threads, tasks, b->wall,
           b->wall * 1e9 / (double)tasks, checksum, bench_seconds(b->usage.ru_utime),
           bench_seconds(b->usage.ru_stime), b->usage.ru_nvcsw, b->usage.ru_nivcsw, b->cal,
           b->extra, right ? "ok" : "WRONG");
    fflush(stdout);
    b->extra[0] = '\0';
}

static inline int bench_end(const struct bench *b)
{
    return b->failed ? 1 : 0;
}

/* --- numbers ---------------------------------------------------------------- */

/* A well mixed function of x (splitmix64's last step). */
static inline uint64_t bench_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* The course's data: a linear congruential generator, 31 bits a number. */
static inline void bench_lcg(int *a, long n)
{
    uint64_t s = 0;
    for (long i = 0; i < n; i++) {
        s = s * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        a[i] = (int)((s >> 33) & 0x7FFFFFFF);
    }
}

/* A checksum of an array in any order. A sort must not change it. */
static inline uint64_t bench_multiset(const int *a, long n)
{
    uint64_t sum = 0;
    for (long i = 0; i < n; i++)
        sum += bench_mix((uint64_t)(uint32_t)a[i] + 1);
    return sum;
}

static inline int bench_sorted(const int *a, long n)
{
    for (long i = 1; i < n; i++)
        if (a[i - 1] > a[i])
            return 0;
    return 1;
}

/* True if each of the n counters is 1: then no task was lost or ran twice. */
static inline int bench_once(const unsigned char *seen, long n)
{
    for (long i = 0; i < n; i++)
        if (seen[i] != 1)
            return 0;
    return 1;
}

/* --- samples ---------------------------------------------------------------- */

static inline int bench_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline void bench_sort(double *x, long n)
{
    qsort(x, (size_t)n, sizeof *x, bench_compare);
}

/* The value below which `share` of the n sorted ones lie. */
static inline double bench_quantile(const double *x, long n, double share)
{
    long i = (long)(share * (double)n);
    return x[i < n ? i : n - 1];
}

#endif
