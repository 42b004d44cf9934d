/* A thread of the program starts a run and ends; then another thread creates the next one. The C library gives the new
 * thread the memory of the last one, thread-local variables included. No race is reported there.
 * ctest: matrix idle=park threads=1 */
#include "sync.h"
#include <pthread.h>
#include <sched.h>

/* What orders the threads; race detectors do not see it. */
static atomic_int steps;

static void step_to(int step)
{
    atomic_exchange(&steps, step);
}

static void wait_for(int step)
{
    for (int now = step; !atomic_compare_exchange_strong(&steps, &now, step); now = step)
        sched_yield();
}

static void looks(void *closure, struct scheduler *s)
{
    CHECK(sched_worker_index(s) >= 0);
}

static void *starts(void *arg)
{
    run(1, looks);
    return arg;
}

static void create_and_join(void)
{
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, starts, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

static void *first(void *arg)
{
    create_and_join();
    step_to(1);
    wait_for(3); /* else this thread's memory would be the next one's */
    return arg;
}

/* Has the worker that the first thread had: the library orders what threads do with one worker. */
static void holds(void *closure, struct scheduler *s)
{
    step_to(2);
    wait_for(3);
}

static void *holder(void *arg)
{
    wait_for(1);
    run(1, holds);
    return arg;
}

static void *second(void *arg)
{
    wait_for(2);
    create_and_join();
    step_to(3);
    return arg;
}

int main(void)
{
    void *(*const all[])(void *) = {first, holder, second};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, all[i], NULL), 0);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    return 0;
}
