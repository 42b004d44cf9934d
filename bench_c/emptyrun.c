/* emptyrun.c: the cost of a run that does nothing: n calls of sched_init in a row, each with an
 * empty task.
 *
 * One task alone needs no second thread, and gets none. With -d pair the first task spawns another task and waits until
 * it has started, on another thread: so each run brings two threads together, as a parallel region does. With
 * -d pthread a pthread_create and its pthread_join take the place of each run, as in a program that has one thing to do
 * in the background. */

#include "bench.h"

#include <pthread.h>
#include <stdatomic.h>

static long count; /* of runs; each task adds 1 */

static void empty(void *closure, struct scheduler *s)
{
    (void)closure;
    (void)s;
    count++; /* one run at a time, and each ends before the next begins */
}

static atomic_int started;

static void second(void *closure, struct scheduler *s)
{
    (void)closure;
    (void)s;
    started = 1;
}

static void pair(void *closure, struct scheduler *s)
{
    (void)closure;
    started = 0;
    bench_spawn(second, NULL, s);
    while (!started)
        ;
    count++;
}

static void *thread(void *closure)
{
    (void)closure;
    count++;
    return NULL;
}

static void create_and_join(void)
{
    pthread_t t;
    errno = pthread_create(&t, NULL, thread, NULL);
    if (errno == 0)
        errno = pthread_join(t, NULL);
    if (errno != 0)
        bench_die("pthread_create");
}

/* volatile: the compiler must not know which function the serial version calls. */
static taskfunc volatile call = empty;

static const struct bench_about about = {
    "emptyrun", "runs", 1000, 1, 100000000, "sched (sched_init, default), pair or pthread",
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    int pthread = b.data != NULL && strcmp(b.data, "pthread") == 0;
    int pairs = b.data != NULL && strcmp(b.data, "pair") == 0;
    if (b.data != NULL && !pthread && !pairs && strcmp(b.data, "sched") != 0)
        bench_refuse(&b, b.data, "sched, pair or pthread is wanted");
    if (pairs && (b.serial || bench_threads(&b) < 2)) {
        fprintf(stderr, "emptyrun: -d pair needs 2 threads\n");
        return 2;
    }
    for (int r = 0; r < b.repetitions; r++) {
        count = 0;

        bench_clock_start(&b);
        for (long run = 0; run < b.n; run++) {
            if (pthread)
                create_and_join();
            else if (b.serial)
                call(NULL, NULL);
            else
                bench_init(&b, pairs ? pair : empty, NULL);
        }
        bench_clock_stop(&b);

        b.serial = b.serial || pthread; /* no scheduler, the line says */
        bench_field(&b, "us_per_run", b.wall * 1e6 / (double)b.n);
        bench_line(&b, pairs ? 2 * b.n : b.n, bench_mix((uint64_t)count), count == b.n);
    }
    return bench_end(&b);
}
