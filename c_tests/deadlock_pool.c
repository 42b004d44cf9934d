/* A deadlock is found wherever the threads of the process are: in a pool for which a thread waits, beside a pool at
 * rest, after earlier runs whose threads are kept, and with a thread that waits for a task.
 * ctest: sleeps
 * ctest: matrix few join=suspend idle=park,spin threads=2 */
#include "child.h"
#include "waits.h"

static sched_sem outside;

static void nothing(void *closure, struct scheduler *s)
{
}

static struct sched_pool *pool(void)
{
    struct sched_pool *p = sched_pool_create(NULL);
    CHECK(p != NULL);
    return p;
}

static void waiting_for_pool(void *arg)
{
    struct sched_pool *p = pool(), *other = pool();
    alarm(60);
    CHECK_EQ(sched_pool_run(other, nothing, NULL), 0);
    CHECK_EQ(sched_pool_submit(p, wait_for_ever, NULL), 0);
    sched_pool_wait(p);
}

static void destroying_pool(void *arg)
{
    struct sched_pool *p = pool();
    alarm(60);
    CHECK_EQ(sched_pool_submit(p, wait_for_ever, NULL), 0);
    sched_pool_destroy(p);
}

static void *waits_outside(void *arg)
{
    sched_sem_wait(&outside, NULL);
    return NULL;
}

static void beside_threads(void *arg)
{
    pthread_t t;
    alarm(60);
    setenv("SCHED_WARM", "300ms", 1);
    setenv("SCHED_DEADLOCK", "abort", 1);
    CHECK_EQ(sched_init(4, 10, nothing, NULL), 0);
    CHECK_EQ(pthread_create(&t, NULL, waits_outside, NULL), 0);
    sched_init(2, 10, wait_for_ever, NULL);
}

int main(void)
{
#ifdef __SANITIZE_THREAD__
    skip("the sanitizer has a thread of its own, which might wake a task");
#endif
    in_child(waiting_for_pool, NULL);
    CHECK_CHILD_ABORTED("deadlock: a task waits for ever");
    CHECK_CHILD_SAID("task 1 (wait_for_ever) waits for the semaphore");
    in_child(destroying_pool, NULL);
    CHECK_CHILD_ABORTED("deadlock: a task waits for ever");
    CHECK_CHILD_SAID("task 1 (wait_for_ever) waits for the semaphore");
    in_child(beside_threads, NULL);
    CHECK_CHILD_ABORTED("deadlock: 1 task waits, 1 thread waits outside all runs");
    CHECK_CHILD_SAID("task 1 (wait_for_ever) waits for the semaphore");
    return 0;
}
