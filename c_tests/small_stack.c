/* A thread with a stack of 32 KiB may call sched_init(0, ...) and sched_default_threads.
 * ctest: static
 * ctest:
 * ctest: env=SCHED_STATS=1
 * ctest: env=SCHED_STATS=json
 * ctest: env=SCHED_HELP=1
 * ctest: env=SCHED_KIND=fifo
 * ctest: env=SCHED_KIND=serial */
#include "child.h"

enum { STACK = 32 * 1024 };

static int ran;

static void task(void *closure, struct scheduler *s)
{
    ran = 1;
}

static void *init(void *arg)
{
    CHECK_EQ(sched_init(0, 0, task, NULL), 0);
    CHECK(ran);
    return arg;
}

static void *count(void *arg)
{
    CHECK(sched_default_threads() >= 1);
    return arg;
}

static void in_thread(void *body)
{
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    if (pthread_attr_setstacksize(&attr, STACK) != 0)
        skip("stacks are larger here");
    CHECK_EQ(pthread_create(&thread, &attr, *(void *(**)(void *))body, NULL), 0);
    pthread_join(thread, NULL);
}

/* A process each: what the system allows is read at the first call, and kept for a while. */
int main(void)
{
    static void *(*bodies[])(void *) = {init, count};
    for (int i = 0; i < 2; i++) {
        in_child(in_thread, &bodies[i]);
        CHECK_CHILD_PASSED();
    }
    return 0;
}
