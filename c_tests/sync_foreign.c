/* Threads that are no workers use mutex, condition, semaphore and barrier with tasks: they sleep.
 * ctest: matrix idle=park,nap
 * ctest: matrix idle=park threads=2 join=help */
#include "sync.h"

enum { THREADS = 3, TASKS = 5, ROUNDS = 30, BOTH = THREADS + TASKS };

static sched_mutex m = SCHED_MUTEX_INIT;
static sched_cond turned = SCHED_COND_INIT;
static sched_barrier all = SCHED_BARRIER_INIT(BOTH);
static sched_sem ping = SCHED_SEM_INIT(0), pong = SCHED_SEM_INIT(0);
static long count, chosen;
static struct scheduler *run_of;

static void both(struct scheduler *s)
{
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_EQ(sched_mutex_lock(&m, s), 0);
        long mine = ++count;
        if (mine % BOTH != 0)
            while (count < (mine / BOTH + 1) * BOTH)
                CHECK_EQ(sched_cond_wait(&turned, &m, s), 0);
        else
            CHECK_EQ(sched_cond_broadcast(&turned), 0);
        CHECK_EQ(sched_mutex_unlock(&m), 0);
        int rc = sched_barrier_wait(&all, s);
        CHECK(rc >= 0);
        if (rc == 1)
            chosen++;
    }
}

static void *thread(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_EQ(sched_sem_wait(&ping, run_of), 0);
        CHECK_EQ(sched_sem_post(&pong), 0);
    }
    both(run_of);
    return NULL;
}

static void task(void *closure, struct scheduler *s)
{
    both(s);
}

static void root(void *closure, struct scheduler *s)
{
    pthread_t *threads = closure;
    run_of = s;
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, thread, NULL), 0);
    for (int i = 0; i < THREADS * ROUNDS; i++) {
        CHECK_EQ(sched_sem_post(&ping), 0);
        CHECK_EQ(sched_sem_wait(&pong, s), 0); /* no task else: the run goes on for this one */
    }
    spawn_all(TASKS, task, s);
}

int main(void)
{
    pthread_t threads[THREADS];
    CHECK_EQ(sched_init(4, 10, root, threads), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    CHECK_EQ(count, BOTH * ROUNDS);
    CHECK_EQ(chosen, ROUNDS);
    return 0;
}
