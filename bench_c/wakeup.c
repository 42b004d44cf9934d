/* wakeup.c: from a spawn to the start of the task, when the other worker sleeps.
 *
 * A first task keeps its worker busy for long enough that all others have gone to sleep,
 * reads the clock, spawns one task, and then waits for it without touching the scheduler:
 * another worker must wake up and take it. n times; the line has the median (wake_us) and
 * the slowest but a tenth (p90_us), in microseconds.
 *
 * With -d futex (or -s) two threads do the same with a bare FUTEX_WAIT and FUTEX_WAKE: what
 * the kernel takes for it, and no scheduler can beat. */

#define _GNU_SOURCE /* for syscall */
#include "bench.h"
#include "kernels.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

enum { PATIENCE = 20 }; /* seconds until a task that does not start is given up */

static long n;
static double *latency; /* seconds, one a round */

/* What the two sides share, each word on a line of its own. */
static struct {
    _Alignas(64) atomic_int futex;
    _Alignas(64) double started;      /* the clock at the start of the task ... */
    atomic_long answered;             /* ... of this round, which publishes it */
} shared;

static void answer(long round)
{
    shared.started = bench_now();
    atomic_store_explicit(&shared.answered, round, memory_order_release);
}

/* Waits for the answer to `round`, asked for at `asked`. */
static void record(long round, double asked)
{
    while (atomic_load_explicit(&shared.answered, memory_order_acquire) != round) {
        if (bench_now() - asked > PATIENCE) {
            fprintf(stderr, "wakeup: in %d s no other worker started the task\n", PATIENCE);
            exit(1);
        }
    }
    latency[round - 1] = shared.started - asked;
}

/* --- under the scheduler ------------------------------------------------------- */

static void woken(void *closure, struct scheduler *s)
{
    (void)s;
    answer((long)(intptr_t)closure);
}

static void first_task(void *closure, struct scheduler *s)
{
    (void)closure;
    for (long round = 1; round <= n; round++) {
        bench_spin(wakeup_pause(round));
        double asked = bench_now();
        bench_spawn(woken, (void *)(intptr_t)round, s);
        record(round, asked);
    }
}

/* --- with a bare futex --------------------------------------------------------- */

static void futex(int operation, int value)
{
    /* EAGAIN: the word has changed already; EINTR: looked at again by the caller. */
    if (syscall(SYS_futex, &shared.futex, operation, value, NULL, NULL, 0) < 0 &&
        errno != EAGAIN && errno != EINTR)
        bench_die("futex");
}

static void *sleeper(void *closure)
{
    (void)closure;
    for (int round = 1; round <= n; round++) {
        while (atomic_load_explicit(&shared.futex, memory_order_acquire) != round)
            futex(FUTEX_WAIT_PRIVATE, round - 1);
        answer(round);
    }
    return NULL;
}

static void futex_run(void *closure)
{
    (void)closure;
    pthread_t t;
    errno = pthread_create(&t, NULL, sleeper, NULL);
    if (errno != 0)
        bench_die("pthread_create");
    for (int round = 1; round <= n; round++) {
        bench_spin(wakeup_pause(round));
        double asked = bench_now();
        atomic_store_explicit(&shared.futex, round, memory_order_release);
        futex(FUTEX_WAKE_PRIVATE, 1);
        record(round, asked);
    }
    errno = pthread_join(t, NULL);
    if (errno != 0)
        bench_die("pthread_join");
}

/* ------------------------------------------------------------------------------- */

static const struct bench_about about = {
    "wakeup", "wake-ups", 100, 1, 1000000,
    "sched (a spawn, default) or futex (FUTEX_WAKE, no scheduler)",
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    if (b.data != NULL && strcmp(b.data, "futex") == 0) {
        b.serial = 1;
    } else if (b.data != NULL && strcmp(b.data, "sched") != 0) {
        fprintf(stderr, "wakeup: -d %s: sched or futex is wanted\n", b.data);
        return 2;
    }
    if (!b.serial && (bench_threads(&b) == 1 || strcmp(bench_kind(&b), "serial") == 0)) {
        fprintf(stderr, "wakeup: there must be a second thread to wake up: -t 2\n");
        return 2;
    }
    n = b.n;
    latency = bench_alloc((size_t)n, sizeof *latency);

    for (int r = 0; r < b.repetitions; r++) {
        memset(&shared, 0, sizeof shared);
        for (long i = 0; i < n; i++)
            latency[i] = -1;

        bench_run(&b, first_task, futex_run, NULL);

        int right = 1;
        for (long i = 0; i < n; i++)
            right = right && latency[i] >= 0;
        bench_sort(latency, n);
        bench_field(&b, "wake_us", 1e6 * bench_quantile(latency, n, 0.5));
        bench_field(&b, "p90_us", 1e6 * bench_quantile(latency, n, 0.9));
        bench_line(&b, n + 1, bench_mix((uint64_t)n), right);
    }
    free(latency);
    return bench_end(&b);
}
