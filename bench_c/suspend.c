/* suspend.c: two tasks that wait for each other in turn, n times together, by a semaphore each: the one posts, and
 * thereby lets the other go on, and waits itself. On one worker that is a suspension and a
 * resumption a turn. With more, whoever is free goes on with the other: migrations says how many turns
 * were on another thread than the one before. -d pthread: two
 * threads and POSIX semaphores, no scheduler. */

#include "bench.h"

#include <errno.h>
#include <pthread.h>
#include <sched_tasks.h>
#include <semaphore.h>

enum { TASKS = 2 };

static sched_sem turn[TASKS];
/* Only who has the turn touches it. */
static struct {
    long done, migrations;
    pthread_t last;
} ball;
static long each;

/* A function of its own: a compiler may keep the address of a thread's own data where a task waits. */
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

/* --- what the kernel gives --------------------------------------------------------- */

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

static void pthread_run(void *closure)
{
    (void)closure;
    pthread_t t[TASKS];
    for (long i = 0; i < TASKS; i++)
        if (sem_init(&bare[i], 0, i == 0) != 0)
            bench_die("sem_init");
    for (long i = 0; i < TASKS; i++) {
        errno = pthread_create(&t[i], NULL, thread, (void *)(intptr_t)i);
        if (errno != 0)
            bench_die("pthread_create");
    }
    for (int i = 0; i < TASKS; i++) {
        errno = pthread_join(t[i], NULL);
        if (errno != 0)
            bench_die("pthread_join");
    }
}

static const struct bench_about about = {
    "suspend", "turns of two tasks that wait for each other", 1L << 20, 2, 1L << 40,
    "sched (default) or pthread (two threads, no scheduler)",
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    if (b.data != NULL && strcmp(b.data, "pthread") == 0) {
        b.serial = 1;
    } else if (b.data != NULL && strcmp(b.data, "sched") != 0) {
        fprintf(stderr, "suspend: -d %s: sched or pthread is wanted\n", b.data);
        return 2;
    }
    each = b.n / TASKS;

    for (int r = 0; r < b.repetitions; r++) {
        ball.done = ball.migrations = 0;
        ball.last = pthread_self();
        for (int i = 0; i < TASKS; i++)
            if (sched_sem_init(&turn[i], 0) != 0)
                bench_die("sched_sem_init");

        bench_run(&b, first_task, pthread_run, NULL);

        bench_field(&b, "ns_a_turn", 1e9 * b.wall / (double)(TASKS * each));
        bench_field(&b, "migrations", (double)ball.migrations);
        bench_line(&b, TASKS + 1, bench_mix((uint64_t)ball.done), ball.done == TASKS * each);
    }
    return bench_end(&b);
}
