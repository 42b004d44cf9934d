/* wakeup.c: from a spawn to the start of the task, when the other worker sleeps.
 *
 * A first task keeps its worker busy for long enough that all others have gone to sleep, reads the clock, spawns one
 * task, and then waits for it without touching the scheduler: another worker must wake up and take it. This happens n
 * times; the line has the median (wake_us) and two percentiles (p90_us, p99_us), in microseconds, and burn_us, the
 * processor time that a wake-up costs beside that of the first task.
 *
 * With -d futex (or -s) two threads do the same with a bare FUTEX_WAIT and FUTEX_WAKE. This is the kernel's own time,
 * which no scheduler can beat. */

#define _GNU_SOURCE /* for syscall */
#include "bench.h"
#include "kernels.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

static struct wakeup wakeup;
static _Alignas(64) atomic_int word; /* the round that has begun, for the sleeper of -d futex */

/* --- under the scheduler ------------------------------------------------------- */

static void woken(void *closure, struct scheduler *s)
{
    (void)s;
    wakeup_answer(&wakeup, (long)(intptr_t)closure);
}

static void first_task(void *closure, struct scheduler *s)
{
    (void)closure;
    for (long round = 1; round <= wakeup.n; round++) {
        bench_spin(wakeup_pause(round));
        double asked = bench_now();
        bench_spawn(woken, (void *)(intptr_t)round, s);
        wakeup_record(&wakeup, round, asked);
    }
}

/* --- with a bare futex --------------------------------------------------------- */

static void futex(int operation, int value)
{
    /* EAGAIN: the word has changed already. EINTR: the caller looks at the word again. */
    if (syscall(SYS_futex, &word, operation, value, NULL, NULL, 0) < 0 &&
        errno != EAGAIN && errno != EINTR)
        bench_die("futex");
}

static void *sleeper(void *closure)
{
    (void)closure;
    for (int round = 1; round <= wakeup.n; round++) {
        while (atomic_load_explicit(&word, memory_order_acquire) != round)
            futex(FUTEX_WAIT_PRIVATE, round - 1);
        wakeup_answer(&wakeup, round);
    }
    return NULL;
}

static void futex_run(void *closure)
{
    (void)closure;
    pthread_t t;
    bench_check(pthread_create(&t, NULL, sleeper, NULL), "pthread_create");
    for (int round = 1; round <= wakeup.n; round++) {
        bench_spin(wakeup_pause(round));
        double asked = bench_now();
        atomic_store_explicit(&word, round, memory_order_release);
        futex(FUTEX_WAKE_PRIVATE, 1);
        wakeup_record(&wakeup, round, asked);
    }
    bench_check(pthread_join(t, NULL), "pthread_join");
}

/* ------------------------------------------------------------------------------- */

static const struct bench_about about = {
    "wakeup", "wake-ups", 100, 1, 1000000,
    "sched (a spawn, default) or futex (FUTEX_WAKE, no scheduler)",
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    if (b.data != NULL && strcmp(b.data, "futex") == 0)
        b.serial = 1;
    else if (b.data != NULL && strcmp(b.data, "sched") != 0)
        bench_refuse(&b, b.data, "sched or futex is wanted");
    if (!b.serial && (bench_threads(&b) == 1 || strcmp(bench_kind(&b), "serial") == 0)) {
        fprintf(stderr, "wakeup: there must be a second thread to wake up: -t 2\n");
        return 2;
    }
    wakeup = wakeup_new(b.n);

    for (int r = 0; r < b.repetitions; r++) {
        wakeup_clear(&wakeup);
        atomic_store(&word, 0);

        bench_run(&b, first_task, futex_run, NULL);

        int right = wakeup_right(&wakeup, &b);
        bench_line(&b, b.n + 1, bench_mix((uint64_t)b.n), right);
    }
    free(wakeup.latency);
    return bench_end(&b);
}
