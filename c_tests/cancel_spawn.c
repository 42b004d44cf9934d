/* A thread that is no worker may call sched_spawn with a request to cancel it pending: the
 * task is accepted and run, and the run ends.
 * ctest: matrix deque=mutex,split,chaselev,sem idle=park,nap threads=1,4 */
#include "check.h"
#include <stdatomic.h>

enum { ROUNDS = 5 };

static struct scheduler *_Atomic run;
static atomic_int ran, spawned, gone;

static void task(void *closure, struct scheduler *s)
{
    ran++;
}

static void *stranger(void *arg)
{
    while (!run)
        sched_yield(); /* no cancellation point */
    CHECK_EQ(pthread_cancel(pthread_self()), 0);
    CHECK_EQ(sched_spawn(task, arg, run), 0);
    spawned++;
    pthread_testcancel();
    check_say("the request was lost\n");
    return NULL;
}

static void root(void *closure, struct scheduler *s)
{
    run = s;
    while (!gone)
        pause_us(50);
}

static void *other(void *arg)
{
    pthread_t thread;
    void *end;
    CHECK_EQ(pthread_create(&thread, NULL, stranger, arg), 0);
    CHECK_EQ(pthread_join(thread, &end), 0);
    CHECK(end == PTHREAD_CANCELED);
    gone = 1;
    return arg;
}

int main(void)
{
    for (int round = 1; round <= ROUNDS; round++) {
        pthread_t thread;
        run = NULL;
        gone = 0;
        CHECK_EQ(pthread_create(&thread, NULL, other, NULL), 0);
        CHECK_EQ(sched_init(4, 4, root, NULL), 0);
        CHECK_EQ(spawned, round);
        CHECK_EQ(ran, round);
        pthread_join(thread, NULL);
    }
    return 0;
}
