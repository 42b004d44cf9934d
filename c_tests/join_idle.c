/* Who waits for a child that sleeps, or for a group, costs next to nothing meanwhile, be it a worker or
 * a thread that is none.
 * ctest: sleeps
 * ctest: matrix kind=steal,cont deque=split,chaselev,mutex idle=park threads=2,8
 * ctest: matrix kind=lifo,fifo deque=mutex,spin idle=park threads=2,8 */
#include "cpu.h"
#include <sched_tasks.h>
#include <stdatomic.h>

static atomic_int begun;
static pthread_t thread;

/* The first tenth of a second is for looking around and going to sleep. */
static void sleeper(void *closure, struct scheduler *s)
{
    begun = 1;
    pause_us(100000);
    check_use(900000, 0.01);
}

static void forks(void *closure, struct scheduler *s)
{
    sched_task t;
    sched_fork(&t, sleeper, closure, s);
    for (unsigned turns = 0; !begun;)
        spin(&turns);
    sched_join(&t, s);
}

static void groups(void *closure, struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    CHECK_EQ(sched_group_spawn(&g, sleeper, closure, s), 0);
    for (unsigned turns = 0; !begun;)
        spin(&turns);
    CHECK_EQ(sched_group_wait(&g, s), 0);
}

static void *stranger(void *s)
{
    sched_task t;
    sched_fork(&t, sleeper, NULL, s);
    sched_join(&t, s);
    return NULL;
}

static void hosts(void *closure, struct scheduler *s)
{
    CHECK_EQ(pthread_create(&thread, NULL, stranger, s), 0);
    pthread_join(thread, NULL);
}

int main(void)
{
    static taskfunc roots[] = {forks, groups, hosts};
    for (int i = 0; i < 3; i++) {
        begun = 0;
        CHECK_EQ(sched_init(4, 4, roots[i], NULL), 0);
    }
    return 0;
}
