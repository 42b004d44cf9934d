/* Those who wait for a mutex, a semaphore or a condition get it in the order in which they came.
 * ctest: matrix idle=park threads=1
 * ctest: matrix idle=park threads=1 join=help */
#include "sync.h"

enum { N = 50 };

static sched_mutex m = SCHED_MUTEX_INIT;
static sched_sem sem = SCHED_SEM_INIT(0);
static sched_cond c = SCHED_COND_INIT;
static int came[N], got[N], arrivals, turns;

static void arrive(long i) { came[arrivals++] = (int)i; }

static void got_it(long i) { got[turns++] = (int)i; }

static void check_order(void)
{
    CHECK_EQ(arrivals, N);
    CHECK_EQ(turns, N);
    for (int i = 0; i < N; i++)
        CHECK_EQ(got[i], came[i]);
    arrivals = turns = 0;
}

static void locks(void *closure, struct scheduler *s)
{
    arrive((long)closure);
    CHECK_EQ(sched_mutex_lock(&m, s), 0);
    got_it((long)closure);
    if ((long)closure % 3 == 0)
        sched_task_yield(s);
    CHECK_EQ(sched_mutex_unlock(&m), 0);
}

static void waits(void *closure, struct scheduler *s)
{
    arrive((long)closure);
    CHECK_EQ(sched_sem_wait(&sem, s), 0);
    got_it((long)closure);
    CHECK_EQ(sched_sem_post(&sem), 0);
}

static void awaits(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_mutex_lock(&m, s), 0);
    arrive((long)closure);
    CHECK_EQ(sched_cond_wait(&c, &m, s), 0);
    got_it((long)closure);
    CHECK_EQ(sched_mutex_unlock(&m), 0);
}

static void wait_for(int *number, int n, struct scheduler *s)
{
    while (*number < n)
        sched_task_yield(s);
}

static void root(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_mutex_lock(&m, s), 0);
    spawn_all(N, locks, s);
    wait_for(&arrivals, N, s);
    CHECK_EQ(sched_mutex_unlock(&m), 0);
    wait_for(&turns, N, s);
    check_order();

    spawn_all(N, waits, s);
    wait_for(&arrivals, N, s);
    CHECK_EQ(sched_sem_post(&sem), 0);
    wait_for(&turns, N, s);
    check_order();
    while (sched_sem_trywait(&sem) != 0)
        sched_task_yield(s);

    for (int how = 0; how < 2; how++) {
        spawn_all(N, awaits, s);
        wait_for(&arrivals, N, s);
        CHECK_EQ(sched_mutex_lock(&m, s), 0);
        for (int i = 0; how == 0 && i < N; i++)
            CHECK_EQ(sched_cond_signal(&c), 0);
        if (how == 1)
            CHECK_EQ(sched_cond_broadcast(&c), 0);
        sched_task_yield(s);
        CHECK_EQ(turns, 0); /* the mutex is held */
        CHECK_EQ(sched_mutex_unlock(&m), 0);
        wait_for(&turns, N, s);
        check_order();
    }
}

int main(void)
{
    run(1, root);
    return 0;
}
