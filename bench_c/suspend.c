/* suspend.c: two tasks with a semaphore each wait for each other in turn, n times together: a task posts the other's
 * semaphore, and then waits for its own. On one worker each turn is a suspension and a resumption. With more workers,
 * any free worker continues the other task: migrations says how many turns were on another thread than the turn before.
 *
 * For comparison, without a scheduler: -d pthread, two threads and POSIX semaphores; -d one, the same two threads on
 * one processor. */

#include "threads.h"
#include "bench.h"

#include <sched_tasks.h>
#include <semaphore.h>

enum { TASKS = 2 };

static sched_sem turn[TASKS];
/* Only the task whose turn it is touches this. */
static struct {
    long done, migrations;
    pthread_t last;
} ball;
static long each;

/* Not inlined, because a compiler may keep the address of thread-local data across a wait. */
__attribute__((noinline)) static void play(void)
{
    pthread_t self = pthread_self();
    ball.migrations += !pthread_equal(self, ball.last);
    ball.last = self;
    ball.done++;
}

static void waits(void *closure, struct scheduler *s)
{
    long i = (long)(intptr_t)closure;
    for (long k = 0; k < each; k++) {
        sched_sem_wait(&turn[i], s);
        play();
        sched_sem_post(&turn[1 - i]);
    }
}

static void first_task(void *closure, struct scheduler *s)
{
    (void)closure;
    for (long i = 0; i < TASKS; i++)
        bench_spawn(waits, (void *)(intptr_t)i, s);
    sched_sem_post(&turn[0]);
}

/* --- the kernel's means ------------------------------------------------------------ */

static sem_t bare[TASKS];

static void *thread(void *closure)
{
    long i = (long)(intptr_t)closure;
    for (long k = 0; k < each; k++) {
        while (sem_wait(&bare[i]) != 0)
            ;
        play();
        sem_post(&bare[1 - i]);
    }
    return NULL;
}

static int one; /* true: both threads on one processor */

static void threads(void *closure)
{
    (void)closure;
    for (long i = 0; i < TASKS; i++)
        if (sem_init(&bare[i], 0, i == 0) != 0)
            bench_die("sem_init");
    two_threads(thread, one);
}

static const struct bench_about about = {
    "suspend", "turns of two tasks that wait for each other", 1L << 20, 2, 1L << 40,
    "sched (default), pthread (two threads, no scheduler) or one (the same on one processor)",
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    if (b.data != NULL && strcmp(b.data, "sched") != 0) {
        b.serial = 1;
        one = strcmp(b.data, "one") == 0;
        if (!one && strcmp(b.data, "pthread") != 0)
            bench_refuse(&b, b.data, "sched, pthread or one is wanted");
    }
    each = b.n / TASKS;

    for (int r = 0; r < b.repetitions; r++) {
        ball.done = ball.migrations = 0;
        ball.last = pthread_self();
        for (int i = 0; i < TASKS; i++)
            if (sched_sem_init(&turn[i], 0) != 0)
                bench_die("sched_sem_init");

        bench_run(&b, first_task, threads, NULL);

        bench_field(&b, "ns_a_turn", 1e9 * b.wall / (double)(TASKS * each));
        bench_field(&b, "migrations", (double)ball.migrations);
        bench_line(&b, TASKS + 1, bench_mix((uint64_t)ball.done), ball.done == TASKS * each);
    }
    return bench_end(&b);
}
