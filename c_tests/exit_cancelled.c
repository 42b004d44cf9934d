/* A thread with a pending cancellation calls exit while threads rest: the process ends.
 * ctest: static
 * ctest: matrix kind=steal,lifo,cont deque=mutex,split idle=park threads=4 */
#include "child.h"

static void leaf(void *closure, struct scheduler *s)
{
    pause_us(500);
}

static void root(void *closure, struct scheduler *s)
{
    for (int i = 0; i < 10; i++)
        CHECK_EQ(sched_spawn(leaf, NULL, s), 0);
}

static void *leaver(void *arg)
{
    CHECK_EQ(sched_init(4, 4, root, NULL), 0);
    pthread_cancel(pthread_self());
    exit(7);
}

static void body(void *arg)
{
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, leaver, NULL), 0);
    pthread_join(thread, NULL);
    _exit(1); /* exit was cancelled */
}

int main(void)
{
    in_child(body, NULL);
    CHECK_CHILD_EXITED(7);
    return 0;
}
