/* timers.c: with -d pairs (the default) each of the run's threads starts and cancels n timers, one after the other,
 * while PENDING others are pending. ns_a_pair is the time of one start and one cancellation, on each thread.
 *
 * With -d sleep one task sleeps n times, for a millisecond each, on an idle process; with -d busy it does so beside
 * tasks that compute for 10 ms each, one for each thread, and spawn themselves again. late_us is the median of the time
 * from the deadline until the task continues; p90_us, p99_us.
 *
 * For comparison, without a scheduler: -d timerfd, pairs of timerfd_settime, which starts and cancels a timer of the
 * kernel; -d futex, a thread that sleeps in a futex with the same deadlines. */

#define _GNU_SOURCE
#include "bench.h"
#include "kernels.h"

#include <linux/futex.h>
#include <sched_tasks.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { PENDING = 100000 };

static long each, threads;
static sched_timer *pending;
static double *late;
static atomic_int stop;
static atomic_long ran;
/* The tasks of the last repetition. */
static atomic_long tasks;
static atomic_int arrived;

static void never(void *closure, struct scheduler *s)
{
    (void)closure, (void)s;
    atomic_fetch_add(&ran, 1);
}

/* A random time in the 16 s that begin in an hour, so that the deadlines come in no order. */
static sched_time some_time(uint64_t *random)
{
    *random = bench_mix(*random + 1);
    return sched_now() + 3600 * SCHED_SECOND + (sched_time)(*random >> 30);
}

static void pairs(void *closure, struct scheduler *s)
{
    uint64_t random = (uint64_t)(uintptr_t)closure;
    sched_timer timer = SCHED_TIMER_INIT;

    /* All workers begin together. */
    atomic_fetch_add(&arrived, 1);
    while (atomic_load(&arrived) < threads)
        sched_task_yield(s);
    for (long i = 0; i < each; i++)
        if (sched_timer_start(&timer, some_time(&random), never, NULL, s) != 0 || sched_timer_cancel(&timer) != 0)
            bench_die("a timer");
}

static void all_pairs(void *closure, struct scheduler *s)
{
    struct bench *b = closure;
    uint64_t random = 1;
    for (long i = 0; i < PENDING; i++)
        if (sched_timer_start(&pending[i], some_time(&random), never, NULL, s) != 0)
            bench_die("sched_timer_start");
    bench_clock_start(b);
    sched_group g = SCHED_GROUP_INIT;
    for (long i = 1; i < threads; i++)
        if (sched_group_spawn(&g, pairs, (void *)(uintptr_t)i, s) != 0)
            bench_die("sched_group_spawn");
    pairs(NULL, s);
    sched_group_wait(&g, s);
    bench_clock_stop(b);
    for (long i = 0; i < PENDING; i++)
        if (sched_timer_cancel(&pending[i]) != 0)
            bench_die("sched_timer_cancel");
}

static void kernels_pairs(void *closure)
{
    (void)closure;
    uint64_t random = 1;
    int fd = timerfd_create(CLOCK_MONOTONIC, 0);
    for (long i = 0; i < each; i++) {
        sched_time at = some_time(&random);
        struct itimerspec set = { .it_value = { at / SCHED_SECOND, at % SCHED_SECOND } }, none = { 0 };
        if (timerfd_settime(fd, TFD_TIMER_ABSTIME, &set, NULL) != 0 || timerfd_settime(fd, 0, &none, NULL) != 0)
            bench_die("timerfd_settime");
    }
    close(fd);
}

static void sleeps(void *closure, struct scheduler *s)
{
    (void)closure;
    for (long i = 0; i < each; i++) {
        sched_time deadline = sched_now() + SCHED_MILLISECOND;
        if (sched_sleep_until(deadline, s) != 0)
            bench_die("sched_sleep_until");
        late[i] = (double)(sched_now() - deadline);
    }
    atomic_store(&stop, 1);
}

static void computes(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&tasks, 1);
    bench_spin(0.01);
    if (!atomic_load(&stop))
        bench_spawn(computes, closure, s);
}

static void beside(void *closure, struct scheduler *s)
{
    for (long i = 0; i < threads; i++)
        bench_spawn(computes, NULL, s);
    sleeps(closure, s);
}

static void kernels_sleeps(void *closure)
{
    (void)closure;
    for (long i = 0; i < each; i++) {
        sched_time deadline = sched_now() + SCHED_MILLISECOND, left;
        while ((left = deadline - sched_now()) > 0) {
            int word = 0;
            struct timespec limit = { left / SCHED_SECOND, left % SCHED_SECOND };
            syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &limit);
        }
        late[i] = (double)(sched_now() - deadline);
    }
}

static const struct bench_about about = {
    "timers", "pairs on each thread, or sleeps", 1L << 18, 1, 1L << 40,
    "pairs (default), sleep, busy; without a scheduler: timerfd, futex",
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    const char *what = b.data == NULL ? "pairs" : b.data;
    int is_pairs = strcmp(what, "pairs") == 0 || strcmp(what, "timerfd") == 0;
    int is_bare = strcmp(what, "timerfd") == 0 || strcmp(what, "futex") == 0;
    if (!is_pairs && !is_bare && strcmp(what, "sleep") != 0 && strcmp(what, "busy") != 0)
        bench_refuse(&b, what, "%s is wanted", about.data);
    b.serial = b.serial || is_bare;
    threads = bench_threads(&b);
    each = b.n;
    pending = calloc(PENDING, sizeof *pending);
    late = calloc((size_t)each, sizeof *late);
    if (pending == NULL || late == NULL)
        bench_die("calloc");

    for (int r = 0; r < b.repetitions; r++) {
        atomic_store(&stop, 0);
        atomic_store(&arrived, 0);
        atomic_store(&tasks, is_pairs && !b.serial ? threads : 1);
        if (is_pairs && !b.serial)
            bench_init(&b, all_pairs, &b);
        else
            bench_run(&b, strcmp(what, "busy") == 0 ? beside : sleeps, is_pairs ? kernels_pairs : kernels_sleeps, NULL);
        if (is_pairs) {
            bench_field(&b, "ns_a_pair", 1e9 * b.wall / (double)each);
        } else {
            bench_sort(late, each);
            bench_field(&b, "late_us", bench_quantile(late, each, 0.5) / 1e3);
            bench_field(&b, "p90_us", bench_quantile(late, each, 0.9) / 1e3);
            bench_field(&b, "p99_us", bench_quantile(late, each, 0.99) / 1e3);
        }
        bench_line(&b, atomic_load(&tasks), bench_mix((uint64_t)each), atomic_load(&ran) == 0);
    }
    free(pending);
    free(late);
    return bench_end(&b);
}
