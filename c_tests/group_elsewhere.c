/* A group waited for by a thread that is no worker, by two at a time, by a task of another run; spawned
 * into from outside and with another worker's s.
 * ctest: debug
 * ctest: matrix */
#include "marks.h"
#include <sched_tasks.h>

enum { N = 100, SLOW = 8 };

static sched_group g;
static struct scheduler *run;
static atomic_int spawned, through, slow_done;

static void leaf(void *closure, struct scheduler *s)
{
    mark((long)closure);
}

static void slow(void *closure, struct scheduler *s)
{
    pause_us(300);
    atomic_fetch_add(&slow_done, 1);
}

static void spawn(long from, long to, struct scheduler *s)
{
    for (long i = from; i < to; i++)
        CHECK_EQ(sched_group_spawn(&g, leaf, (void *)i, s), 0);
}

/* --- from outside --------------------------------------------------------- */

/* Perhaps the run ends before the wait does. */
static void *stranger(void *arg)
{
    spawn(0, N, run);
    spawned = 1;
    CHECK_EQ(sched_group_wait(&g, run), 0);
    for (long i = 0; i < N; i++)
        CHECK_EQ(marks[i], 1);
    return NULL;
}

static pthread_t thread;

static void host(void *closure, struct scheduler *s)
{
    run = s;
    spawned = 0;
    CHECK_EQ(pthread_create(&thread, NULL, stranger, NULL), 0);
    while (!spawned)
        pause_us(50);
}

/* --- two at a time -------------------------------------------------------- */

static void *waits(void *arg)
{
    CHECK_EQ(sched_group_wait(&g, run), 0);
    CHECK_EQ(slow_done, SLOW);
    return NULL;
}

static void waits_too(void *closure, struct scheduler *s)
{
    waits(closure);
    atomic_fetch_add(&through, 1);
}

/* This task, two more (on other workers, or on top of this one) and two threads. */
static void crowd(void *closure, struct scheduler *s)
{
    pthread_t threads[2];
    sched_task tasks[2];
    run = s;
    slow_done = through = 0;
    for (int i = 0; i < SLOW; i++)
        CHECK_EQ(sched_group_spawn(&g, slow, NULL, s), 0);
    for (int i = 0; i < 2; i++) {
        sched_fork(&tasks[i], waits_too, closure, s);
        CHECK_EQ(pthread_create(&threads[i], NULL, waits, NULL), 0);
    }
    waits(closure);
    for (int i = 0; i < 2; i++) {
        sched_join(&tasks[i], s);
        pthread_join(threads[i], NULL);
    }
    CHECK_EQ(through, 2);
}

/* --- another run ---------------------------------------------------------- */

/* As a worker of this run it helps this run; the group's tasks are the outer run's. */
static void inner(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_group_wait(&g, s), 0);
    CHECK_EQ(slow_done, SLOW);
}

static void nests(void *closure, struct scheduler *s)
{
    if (threads_of(4) == 1)
        return; /* nobody to run the outer run's */
    slow_done = 0;
    for (int i = 0; i < SLOW; i++)
        CHECK_EQ(sched_group_spawn(&g, slow, NULL, s), 0);
    CHECK_EQ(sched_init(2, 4, inner, closure), 0);
    CHECK_EQ(sched_group_wait(&g, s), 0);
}

/* --- another worker's s --------------------------------------------------- */

static void with_anothers(void *closure, struct scheduler *s)
{
    spawn(0, 10, run);
    spawn(10, 20, s);
}

static void handed(void *closure, struct scheduler *s)
{
    sched_group own = SCHED_GROUP_INIT;
    run = s;
    CHECK_EQ(sched_group_spawn(&own, with_anothers, closure, s), 0);
    CHECK_EQ(sched_group_wait(&own, s), 0);
    CHECK_EQ(sched_group_wait(&g, s), 0);
    check_marks(20);
}

int main(void)
{
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(sched_init(4, 10, host, NULL), 0);
        pthread_join(thread, NULL);
        check_marks(N);
        CHECK_EQ(sched_init(4, 10, crowd, NULL), 0);
        CHECK_EQ(sched_init(4, 10, nests, NULL), 0);
        CHECK_EQ(sched_init(4, 10, handed, NULL), 0);
    }
    return 0;
}
