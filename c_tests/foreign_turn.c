/* A task from a thread that is no worker has its turn, even while the run's own tasks keep
 * every queue busy. (Not in a lifo, where the youngest goes first by definition.)
 * ctest: matrix kind=steal,fifo,serial,cont idle=park,spin threads=1,2,4 */
#include "check.h"
#include <stdatomic.h>

static struct scheduler *_Atomic run;
static atomic_int turn;

static void foreign(void *closure, struct scheduler *s)
{
    turn = 1;
}

/* Goes on, by a task after another, until the foreign one has run. */
static void chain(void *closure, struct scheduler *s)
{
    run = s;
    if (!turn)
        CHECK_EQ(sched_spawn(chain, closure, s), 0);
}

static void root(void *closure, struct scheduler *s)
{
    for (int i = 0; i < threads_of(4) + 1; i++)
        CHECK_EQ(sched_spawn(chain, closure, s), 0);
}

static void *stranger(void *arg)
{
    while (!run)
        sched_yield();
    pause_us(1000);
    CHECK_EQ(sched_spawn(foreign, arg, run), 0);
    return arg;
}

int main(void)
{
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, stranger, NULL), 0);
    CHECK_EQ(sched_init(4, 4, root, NULL), 0);
    CHECK(turn);
    pthread_join(thread, NULL);
    return 0;
}
