/* outside.h: the services of any scheduler to threads of the program's own, outside of any task. A
 * program says how its scheduler does a thing; the threads, the work, the clock and the checks are
 * here. C11 and C++20.
 *
 *   flood   threads hand over n empty tasks together, and wait for them
 *   sparse  threads hand over n jobs of 10 us together, and sleep for 200 us after each
 *   beside  a thread has a job of n bodies of 1 ms done; meanwhile main needs loops of 20 us, and
 *           sleeps for 1 ms before each
 *
 * -d WAY-THREADS of the first two: -d group-8. With one thread, this is main. */

#ifndef OUTSIDE_H
#define OUTSIDE_H

#include "kernels.h"

#include <pthread.h>

enum { OUTSIDE_MOST_THREADS = 64 };

struct outside {
    char way[16];
    int threads;
};

/* Reads -d; `way` is the default. */
static inline struct outside outside_new(const struct bench *b, const char *way)
{
    struct outside o;
    memset(&o, 0, sizeof o);
    const char *data = b->data != NULL ? b->data : way;
    int end = 0;
    if (sscanf(data, "%15[a-z]-%d%n", o.way, &o.threads, &end) != 2 || data[end] != '\0' || o.threads < 1 ||
        o.threads > OUTSIDE_MOST_THREADS)
        bench_refuse(b, data, "WAY-THREADS is wanted, %s for one", way);
    return o;
}

static inline void outside_sleep(long us)
{
    struct timespec left = {us / 1000000, us % 1000000 * 1000};
    while (nanosleep(&left, &left) != 0)
        if (errno != EINTR)
            bench_die("nanosleep");
}

/* --- several threads, and the clock ---------------------------------------------- */

struct outside_thread {
    pthread_t thread;
    pthread_barrier_t *gate;
    void (*f)(long lo, long hi);
    long lo, hi;
};

static inline void outside_pass(pthread_barrier_t *gate)
{
    int error = pthread_barrier_wait(gate);
    if (error != PTHREAD_BARRIER_SERIAL_THREAD)
        bench_check(error, "pthread_barrier_wait");
}

static inline void *outside_thread_main(void *closure)
{
    struct outside_thread *t = (struct outside_thread *)closure;
    outside_pass(t->gate);
    t->f(t->lo, t->hi);
    outside_pass(t->gate);
    return NULL;
}

/* Calls f for 0 to n - 1 in equal shares, from main or from several threads at the same time. Then
 * calls `last`, if it is not NULL. The clock runs from the first call to the end of the last one;
 * the threads are made before. */
static inline void outside_run(struct bench *b, int threads, void (*f)(long lo, long hi), void (*last)(void))
{
    struct outside_thread t[OUTSIDE_MOST_THREADS];
    pthread_barrier_t gate;
    if (threads > 1)
        bench_check(pthread_barrier_init(&gate, NULL, (unsigned)threads + 1), "pthread_barrier_init");
    for (int i = 0; threads > 1 && i < threads; i++) {
        t[i].gate = &gate;
        t[i].f = f;
        t[i].lo = b->n * i / threads;
        t[i].hi = b->n * (i + 1) / threads;
        bench_check(pthread_create(&t[i].thread, NULL, outside_thread_main, &t[i]), "pthread_create");
    }
    bench_clock_start(b);
    if (threads == 1) {
        f(0, b->n);
    } else {
        outside_pass(&gate);
        outside_pass(&gate);
    }
    if (last != NULL)
        last();
    bench_clock_stop(b);
    for (int i = 0; threads > 1 && i < threads; i++)
        bench_check(pthread_join(t[i].thread, NULL), "pthread_join");
    if (threads > 1)
        pthread_barrier_destroy(&gate);
}

/* --- sparse ------------------------------------------------------------------------ */

enum { SPARSE_WORK = 10, SPARSE_PAUSE = 200, SPARSE_PATIENCE = 20 }; /* us, us, s */

/* A job on a cache line of its own. */
struct sparse_job {
    double handed, started, ended;
    uint64_t result;
    long count;
    char pad[64 - 3 * sizeof(double) - 2 * sizeof(uint64_t)];
};

static struct {
    struct sparse_job *jobs;
    long n, turns;
    long ended; /* jobs */
} sparse;

static inline void sparse_new(const struct bench *b)
{
    sparse.n = b->n;
    sparse.jobs = (struct sparse_job *)bench_alloc((size_t)b->n, sizeof *sparse.jobs);
    sparse.turns = (long)((double)SPARSE_WORK * 1000 / bench_calibrate(64));
}

static inline void sparse_clear(void)
{
    memset(sparse.jobs, 0, (size_t)sparse.n * sizeof *sparse.jobs);
    sparse.ended = 0;
}

/* The work of a job. */
static inline void sparse_job(struct sparse_job *job)
{
    job->started = bench_now();
    job->result = bench_turns(job->result + 1, sparse.turns);
    job->count++;
    job->ended = bench_now();
    __atomic_fetch_add(&sparse.ended, 1, __ATOMIC_RELEASE);
}

/* Hands over job `i` by `hand` and pauses. */
static inline void sparse_hand(long i, void (*hand)(struct sparse_job *job))
{
    sparse.jobs[i].handed = bench_now();
    hand(&sparse.jobs[i]);
    outside_sleep(SPARSE_PAUSE);
}

/* Waits until all jobs have ended. */
static inline void sparse_wait(void)
{
    double start = bench_now();
    while (__atomic_load_n(&sparse.ended, __ATOMIC_ACQUIRE) != sparse.n) {
        if (bench_now() - start > (double)SPARSE_PATIENCE) {
            fprintf(stderr, "sparse: %ld of %ld jobs had ended after %d s\n", sparse.ended, sparse.n, SPARSE_PATIENCE);
            exit(1);
        }
        outside_sleep(100);
    }
}

/* True if each job was done once. The fields of the line, in us: start_us is the median time from
 * the hand-over of a job to its start, p50_us and p99_us to its end; cpu_us is the processor time
 * of the process, divided by the number of jobs. */
static inline int sparse_right(struct bench *b)
{
    double *us = (double *)bench_alloc((size_t)sparse.n, sizeof *us);
    int right = 1;
    for (long i = 0; i < sparse.n; i++) {
        const struct sparse_job *job = &sparse.jobs[i];
        right = right && job->count == 1 && job->result == bench_turned(1, (uint64_t)sparse.turns);
        us[i] = 1e6 * (job->started - job->handed);
    }
    bench_sort(us, sparse.n);
    bench_field(b, "start_us", bench_quantile(us, sparse.n, 0.5));
    for (long i = 0; i < sparse.n; i++)
        us[i] = 1e6 * (sparse.jobs[i].ended - sparse.jobs[i].handed);
    bench_sort(us, sparse.n);
    bench_field(b, "p50_us", bench_quantile(us, sparse.n, 0.5));
    bench_field(b, "p99_us", bench_quantile(us, sparse.n, 0.99));
    double used = bench_seconds(b->usage.ru_utime) + bench_seconds(b->usage.ru_stime);
    bench_field(b, "cpu_us", 1e6 * used / (double)sparse.n);
    free(us);
    return right;
}

/* --- beside ------------------------------------------------------------------------ */

enum { BESIDE_BODY = 1000, BESIDE_LOOP = 20, BESIDE_PAUSE = 1000 }; /* us */
enum { BESIDE_PARTS = 16, BESIDE_ALONE = 100 };                      /* of a loop; loops */

static struct {
    long bodies, body_turns; /* the bodies of the job */
    unsigned char *seen;     /* of each body, how often it was done */
    long part_turns;
    uint64_t parts[BESIDE_PARTS][8]; /* of main's loops, on lines of their own */
    double *took;            /* us, of each loop */
    long most;               /* loops */
    void (*job)(void);
    int began, over;         /* the job */
} beside;

static inline void beside_new(const struct bench *b)
{
    double turn = bench_calibrate(64);
    beside.bodies = b->n;
    beside.body_turns = (long)((double)BESIDE_BODY * 1000 / turn);
    beside.part_turns = (long)((double)BESIDE_LOOP * 1000 / (double)BESIDE_PARTS / turn);
    beside.seen = (unsigned char *)bench_alloc((size_t)b->n, 1);
    beside.most = BESIDE_ALONE + 4 * b->n;
    beside.took = (double *)bench_alloc((size_t)beside.most, sizeof *beside.took);
}

/* Bodies `lo` to `hi` of the job. */
static inline void beside_bodies(size_t lo, size_t hi)
{
    __atomic_store_n(&beside.began, 1, __ATOMIC_RELAXED);
    for (size_t i = lo; i < hi; i++) {
        uint64_t y = bench_turns(i, beside.body_turns);
        beside.seen[i] += y == bench_turned(i, (uint64_t)beside.body_turns);
    }
}

/* Parts `lo` to `hi` of a loop of main's. */
static inline void beside_parts(size_t lo, size_t hi)
{
    for (size_t i = lo; i < hi; i++)
        beside.parts[i][0] = bench_turns(beside.parts[i][0], beside.part_turns);
}

static inline void *beside_thread(void *closure)
{
    (void)closure;
    beside.job();
    __atomic_store_n(&beside.over, 1, __ATOMIC_RELEASE);
    return NULL;
}

static inline double beside_loop(void (*loop)(void))
{
    outside_sleep(BESIDE_PAUSE);
    double start = bench_now();
    loop();
    return 1e6 * (bench_now() - start);
}

/* A run: main's loops by `loop`, first alone, then until the `job` of the other thread is over.
 * True if all of it was done once. The fields, in us: alone_us is the median of the loops alone; p50_us,
 * p99_us and most_us are those of the `loops` loops beside the job. The clock runs during the job. */
static inline int beside_run(struct bench *b, void (*loop)(void), void (*job)(void))
{
    memset(beside.seen, 0, (size_t)beside.bodies);
    memset(beside.parts, 0, sizeof beside.parts);
    beside.job = job;
    beside.began = beside.over = 0;
    for (long i = 0; i < BESIDE_ALONE; i++)
        beside.took[i] = beside_loop(loop);
    bench_sort(beside.took, BESIDE_ALONE);
    double alone = bench_quantile(beside.took, BESIDE_ALONE, 0.5);

    pthread_t thread;
    long loops = 0;
    bench_clock_start(b);
    bench_check(pthread_create(&thread, NULL, beside_thread, NULL), "pthread_create");
    while (!__atomic_load_n(&beside.began, __ATOMIC_RELAXED))
        outside_sleep(100);
    while (!__atomic_load_n(&beside.over, __ATOMIC_ACQUIRE) && loops < beside.most)
        beside.took[loops++] = beside_loop(loop);
    bench_check(pthread_join(thread, NULL), "pthread_join");
    bench_clock_stop(b);

    bench_sort(beside.took, loops);
    bench_field(b, "alone_us", alone);
    bench_field(b, "p50_us", loops > 0 ? bench_quantile(beside.took, loops, 0.5) : 0);
    bench_field(b, "p99_us", loops > 0 ? bench_quantile(beside.took, loops, 0.99) : 0);
    bench_field(b, "most_us", loops > 0 ? beside.took[loops - 1] : 0);
    bench_field(b, "loops", (double)loops);
    int right = bench_once(beside.seen, beside.bodies);
    uint64_t wanted = bench_turned(0, (uint64_t)beside.part_turns * (uint64_t)(BESIDE_ALONE + loops));
    for (int i = 0; i < BESIDE_PARTS; i++)
        right = right && beside.parts[i][0] == wanted;
    return right;
}

#endif
