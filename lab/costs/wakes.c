/* wakes.c: the time from a spawn to the start of the task on another worker. */

#include "costs.h"

enum { WAKES = 100, PAUSE = 300000, SHORT_PAUSE = 2000, REST = 1000000 }; /* ns, except WAKES */

static int pause_before = PAUSE;

static double first_mark[WAKES], second_mark[WAKES];
static _Alignas(128) atomic_long marks;
static double asked;

/* One of the two, the spawned task or the rest of its spawner, goes on at once on this worker. It waits until the
 * other one goes on, on the other worker. */
static void mark(long i)
{
    double now = now_ns();
    if (atomic_fetch_add(&marks, 1) == 2 * i)
        first_mark[i] = now - asked;
    else
        second_mark[i] = now - asked;
    while (marks < 2 * (i + 1))
        ;
}

static void marked(void *closure, struct scheduler *s)
{
    (void)s;
    mark((long)(intptr_t)closure);
}

/* Measures the i-th wake-up of the other worker. */
static void wake(long i, struct scheduler *s)
{
    marks = 2 * i;
    asked = now_ns();
    if (sched_spawn(marked, (void *)(intptr_t)i, s) != 0)
        bench_die("sched_spawn");
    mark(i);
}

static void wake_all(void *closure, struct scheduler *s)
{
    (void)closure;
    for (long i = 0; i < WAKES; i++) {
        wait_ns(pause_before);
        wake(i, s);
    }
}

static void wake_first(void *closure, struct scheduler *s)
{
    wake((long)(intptr_t)closure, s);
}

/* A thread that has rested since the last run takes longer to wake than one that slept within a run. */
void measure_wakes(void)
{
    run(2, wake_all);
    print("wake", typical(second_mark, WAKES));
    print("waker", typical(first_mark, WAKES));
    for (long i = 0; i < WAKES; i++) {
        wait_ns(REST);
        if (sched_init(2, 0, wake_first, (void *)(intptr_t)i) != 0)
            bench_die("sched_init");
    }
    print("first wake", typical(second_mark, WAKES));
    print("first waker", typical(first_mark, WAKES));
}

/* As `wake`, for a thief that has just begun to search. */
void measure_late(void)
{
    pause_before = SHORT_PAUSE;
    run(2, wake_all);
    print("late", typical(second_mark, WAKES));
}
