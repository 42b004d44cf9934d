/* A task that blocks until another task of the run has run does not stop the run, while there is a
 * worker that waits for its end: that runs the other, and is woken for it if it sleeps already.
 * ctest: debug
 * ctest: matrix kind=steal,lifo,fifo,cont threads=2,4,16 */
#include "check.h"
#include <sched_tasks.h>
#include <stdatomic.h>

enum { ROUNDS = 3 };
enum { FORK, GROUP };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int opened;
static atomic_int guests, leave, begun, done;

static void guest(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&guests, 1);
    while (!leave)
        pause_us(100);
}

static void open_it(void *closure, struct scheduler *s)
{
    pthread_mutex_lock(&mutex);
    opened++;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
}

static void wait_for_it(int times)
{
    pthread_mutex_lock(&mutex);
    while (opened < times)
        pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
}

/* Blocks for a task that was spawned beside it, one that it spawns itself when its waiter has gone to
 * sleep, and one that comes from outside then. */
static void child(void *closure, struct scheduler *s)
{
    begun = 1;
    wait_for_it(1);
    pause_us(3000);
    CHECK_EQ(sched_spawn(open_it, NULL, s), 0);
    wait_for_it(2);
    done = 1; /* to the stranger */
    wait_for_it(3);
    for (int i = 0; i < 20; i++) { /* awake or falling asleep */
        pause_us(i * 10);
        CHECK_EQ(sched_spawn(open_it, NULL, s), 0);
        wait_for_it(4 + i);
    }
}

static void *stranger(void *s)
{
    while (!done)
        pause_us(100);
    pause_us(3000);
    CHECK_EQ(sched_spawn(open_it, NULL, s), 0);
    return NULL;
}

/* All but this worker and the child's are kept busy, so only the waiter can open. */
static void root(void *closure, struct scheduler *s)
{
    int workers = threads_of(4);
    pthread_t thread;
    sched_group g = SCHED_GROUP_INIT;
    sched_task t;
    opened = 0;
    guests = leave = begun = done = 0;
    for (int i = 0; i < workers - 2; i++)
        CHECK_EQ(sched_spawn(guest, NULL, s), 0);
    while (guests < workers - 2)
        pause_us(50);
    if ((long)closure == FORK)
        sched_fork(&t, child, NULL, s);
    else
        CHECK_EQ(sched_group_spawn(&g, child, NULL, s), 0);
    while (!begun)
        pause_us(50);
    CHECK_EQ(pthread_create(&thread, NULL, stranger, s), 0);
    CHECK_EQ(sched_spawn(open_it, NULL, s), 0);
    if ((long)closure == FORK)
        sched_join(&t, s);
    else
        CHECK_EQ(sched_group_wait(&g, s), 0);
    CHECK_EQ(opened, 23);
    leave = 1;
    pthread_join(thread, NULL);
}

int main(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        CHECK_EQ(sched_init(4, 10, root, (void *)FORK), 0);
        CHECK_EQ(sched_init(4, 10, root, (void *)GROUP), 0);
    }
    return 0;
}
