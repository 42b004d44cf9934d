/* Idle workers that park cost next to nothing: when each has had a task, and then the only one
 * left sleeps for two seconds, the process uses less than 0.5 % of a processor.
 * ctest: sleeps
 * ctest: matrix kind=steal,cont deque=split,chaselev,mutex idle=park threads=8
 * ctest: matrix kind=steal,cont deque=split idle=park threads=2,64
 * ctest: matrix kind=lifo,fifo deque=mutex idle=park threads=8 */
#include "cpu.h"
#include <stdatomic.h>

static atomic_int arrived;
static int workers;

/* Ends when every worker has one: a thread is only made when there is a task for it. */
static void guest(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&arrived, 1);
    while (arrived < workers)
        pause_us(200);
}

static void root(void *closure, struct scheduler *s)
{
    for (int i = 1; i < workers; i++)
        CHECK_EQ(sched_spawn(guest, NULL, s), 0);
    guest(closure, s);
    pause_us(100000); /* they look around and go to sleep */
    check_idle();
}

int main(void)
{
    workers = threads_of(4);
    CHECK_EQ(sched_init(4, 4, root, NULL), 0);
    return 0;
}
