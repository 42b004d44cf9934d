/* A request to cancel the thread that is inside sched_init waits, if no task has a
 * cancellation point, until sched_init has returned: all tasks have run and the workers are
 * gone. Later runs work, with statistics, too.
 * ctest: sleeps
 * ctest: matrix deque=mutex,split,chaselev,sem idle=park,nap threads=1,4
 * ctest: matrix deque=mutex,split,chaselev idle=park threads=1,4 env=SCHED_STATS=1 */
#include "proc.h"
#include <stdatomic.h>
#include <sys/mman.h>

enum { ROUNDS = 10, TASKS = 40, STACK = 1 << 20 };

static atomic_int started, requested, ran, result;

static void leaf(void *closure, struct scheduler *s)
{
    for (double end = now() + 20e-6; now() < end;)
        ;
    ran++;
}

/* Everything that the run still has to do comes after the request. */
static void root(void *closure, struct scheduler *s)
{
    unsigned turns = 0;
    started = 1;
    while (!requested)
        spin(&turns);
    for (double end = now() + 1e-3; now() < end;) /* the others have gone to sleep */
        ;
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(sched_spawn(leaf, closure, s), 0);
}

static void *caller(void *arg)
{
    result = sched_init(4, 4, root, arg);
    pthread_testcancel();
    check_say("the request was lost\n");
    return NULL;
}

int main(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        pthread_attr_t attr;
        pthread_t thread;
        const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
        void *end, *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, flags, -1, 0);
        CHECK(stack != MAP_FAILED);
        started = requested = ran = 0;
        result = -2;
        pthread_attr_init(&attr);
        CHECK_EQ(pthread_attr_setstack(&attr, stack, STACK), 0);
        CHECK_EQ(pthread_create(&thread, &attr, caller, NULL), 0);
        while (!started)
            pause_us(50);
        CHECK_EQ(pthread_cancel(thread), 0);
        requested = 1;
        CHECK_EQ(pthread_join(thread, &end), 0);
        CHECK(end == PTHREAD_CANCELED);
        CHECK_EQ(result, 0);
        CHECK_EQ(ran, TASKS);
        CHECK_EQ(munmap(stack, STACK), 0); /* where the run's own variables were */
        CHECK(threads_become(1));
    }
    return 0;
}
