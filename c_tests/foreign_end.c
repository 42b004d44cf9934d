/* A foreign spawn that races with the end of the run is either accepted and run before
 * sched_init returns, or refused with EINVAL; never lost.
 * ctest: matrix */
#include "check.h"
#include <stdatomic.h>

enum { ROUNDS = 25 };

static struct scheduler *_Atomic run;
static atomic_long accepted, ran;
static long seen_both;

static void task(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&ran, 1);
}

static void *stranger(void *arg)
{
    struct scheduler *s;
    while (!(s = run))
        sched_yield();
    for (long i = 0; i < 100000; i++) {
        errno = 0;
        int rc = sched_spawn(task, NULL, s);
        if (rc != 0) {
            CHECK_EQ(rc, -1);
            CHECK_EQ(errno, EINVAL);
            return NULL;
        }
        atomic_fetch_add(&accepted, 1);
        /* Once some are in: leave the workers time to find nothing, so that the end can come. */
        if (i % 8 == 7)
            pause_us(50);
    }
    check_say("the run never ended\n");
    _exit(1);
}

static void root(void *closure, struct scheduler *s)
{
    run = s;
    pause_us((long)closure * 20);
}

int main(void)
{
    for (long round = 0; round < ROUNDS; round++) {
        pthread_t thread;
        run = NULL;
        ran = accepted = 0;
        CHECK_EQ(pthread_create(&thread, NULL, stranger, NULL), 0);
        CHECK_EQ(sched_init(4, 4, root, (void *)(round % 8)), 0);
        long at_return = ran;
        pthread_join(thread, NULL);
        CHECK_EQ(ran, accepted);
        CHECK_EQ(at_return, accepted);
        seen_both += accepted > 0;
    }
    return 0;
}
