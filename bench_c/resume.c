/* resume.c: how long a task that can continue waits until another worker continues it. That worker is awake and
 * searches (SCHED_IDLE=spin), so the time is that of a steal, without a wake-up.
 *
 * Two sides meet n times, each on a worker of its own. They wait for each other without touching the scheduler, so that
 * one worker cannot run both. A time is measured from one side's call until both sides have continued. The line has the
 * median (handover_ns) and the 90th percentile (p90_ns) of these times. -d says what the call is:
 *
 *   spawn  sched_spawn: the child goes on elsewhere, or in kind cont the spawner, a continuation
 *   wait   sched_sem_post: a task that was suspended in sched_sem_wait goes on elsewhere
 *   line   no scheduler: a thread stores a word that another one reads in a loop. This is what a cache line takes
 *          to the other processor; back_ns includes the answer's way back
 *
 * Every figure includes a reading of the clock on each side. */

#include "threads.h"
#include "bench.h"
#include "kernels.h"

#include <sched_tasks.h>
#include <stdatomic.h>

enum { CALLER, OTHER, SIDES };

/* One cache line for each side. */
static struct {
    _Alignas(64) atomic_long round; /* the last round that this side has come to */
    double at;                      /* and when */
} side[SIDES];
static double *handover, *back; /* seconds, one a round */
static long rounds;

/* Waits for long enough that the other worker searches again, and returns the time of the call. */
static double called(long round)
{
    bench_spin(1e-3 * wakeup_pause(round));
    return bench_now();
}

static void wait_for(atomic_long *word, long round)
{
    double start = bench_now();
    while (atomic_load_explicit(word, memory_order_acquire) < round)
        if (bench_now() - start > (double)WAKEUP_PATIENCE) {
            fprintf(stderr, "resume: in %d s no other worker went on\n", WAKEUP_PATIENCE);
            exit(1);
        }
}

static void meet(int i, long round)
{
    side[i].at = bench_now();
    atomic_store_explicit(&side[i].round, round, memory_order_release);
    wait_for(&side[1 - i].round, round);
}

/* Called by the caller's side at the end of a round. */
static void meet_and_record(long round, double asked)
{
    meet(CALLER, round);
    double late = side[OTHER].at > side[CALLER].at ? side[OTHER].at : side[CALLER].at;
    handover[round - 1] = late - asked;
    back[round - 1] = bench_now() - asked;
}

/* --- spawn ------------------------------------------------------------------------- */

static void child(void *closure, struct scheduler *s)
{
    (void)s;
    meet(OTHER, (long)(intptr_t)closure);
}

static void spawns(void *closure, struct scheduler *s)
{
    (void)closure;
    for (long round = 1; round <= rounds; round++) {
        double asked = called(round);
        bench_spawn(child, (void *)(intptr_t)round, s);
        meet_and_record(round, asked);
    }
}

/* --- wait -------------------------------------------------------------------------- */

static sched_sem ready;
static _Alignas(64) atomic_long waits; /* the round for which the task waits, or is about to wait */

static void waiter(void *closure, struct scheduler *s)
{
    (void)closure;
    for (long round = 1; round <= rounds; round++) {
        atomic_store_explicit(&waits, round, memory_order_release);
        sched_sem_wait(&ready, s);
        meet(OTHER, round);
    }
}

static void posts(void *closure, struct scheduler *s)
{
    (void)closure;
    bench_spawn(waiter, NULL, s);
    for (long round = 1; round <= rounds; round++) {
        wait_for(&waits, round);
        double asked = called(round);
        sched_sem_post(&ready);
        meet_and_record(round, asked);
    }
}

/* --- line -------------------------------------------------------------------------- */

static _Alignas(64) atomic_long word;

static void *thread(void *closure)
{
    for (long round = 1; round <= rounds; round++) {
        if ((intptr_t)closure == CALLER) {
            double asked = called(round);
            atomic_store_explicit(&word, round, memory_order_release);
            meet_and_record(round, asked);
        } else {
            while (atomic_load_explicit(&word, memory_order_acquire) < round)
                ;
            meet(OTHER, round);
        }
    }
    return NULL;
}

static void threads(void *closure)
{
    (void)closure;
    two_threads(thread, 0);
}

/* ----------------------------------------------------------------------------------- */

static const struct bench_about about = {
    "resume", "hand-overs", 2000, 1, 100000000,
    "spawn (default), wait (a suspended task) or line (two threads, no scheduler)",
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    taskfunc first = spawns;
    if (b.data != NULL && strcmp(b.data, "wait") == 0)
        first = posts;
    else if (b.data != NULL && strcmp(b.data, "line") == 0)
        b.serial = 1;
    else if (b.data != NULL && strcmp(b.data, "spawn") != 0)
        bench_refuse(&b, b.data, "spawn, wait or line is wanted");
    if (!b.serial && (bench_threads(&b) == 1 || strcmp(bench_kind(&b), "serial") == 0)) {
        fprintf(stderr, "resume: there must be a second thread to go on: -t 2\n");
        return 2;
    }
    rounds = b.n;
    handover = bench_alloc((size_t)rounds, sizeof *handover);
    back = bench_alloc((size_t)rounds, sizeof *back);

    for (int r = 0; r < b.repetitions; r++) {
        for (int i = 0; i < SIDES; i++)
            atomic_store(&side[i].round, 0);
        atomic_store(&waits, 0);
        atomic_store(&word, 0);
        if (sched_sem_init(&ready, 0) != 0)
            bench_die("sched_sem_init");

        bench_run(&b, first, threads, NULL);

        bench_sort(handover, rounds);
        bench_sort(back, rounds);
        bench_field(&b, "handover_ns", 1e9 * bench_quantile(handover, rounds, 0.5));
        bench_field(&b, "p90_ns", 1e9 * bench_quantile(handover, rounds, 0.9));
        if (b.serial)
            bench_field(&b, "back_ns", 1e9 * bench_quantile(back, rounds, 0.5));
        int right = side[CALLER].round == rounds && side[OTHER].round == rounds;
        bench_line(&b, first == posts ? 2 : rounds + 1, bench_mix((uint64_t)rounds), right);
    }
    free(handover);
    free(back);
    return bench_end(&b);
}
