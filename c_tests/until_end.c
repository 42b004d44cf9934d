/* A run ends, with an event and a group, while a thread outside has seen that they have not ended and reads the clock: the waits
 * with a deadline return 0, and not EINVAL. (This test puts itself before the C library's function, to hold the thread there.)
 * ctest: matrix few threads=1,2 */
#include "check.h"
#include <pthread.h>
#include <sched_tasks.h>
#include <stdatomic.h>

static _Thread_local int holds;
static atomic_int is_held, goes_on;

int clock_gettime(clockid_t clock, struct timespec *to)
{
    if (holds) {
        holds = 0;
        is_held = 1;
        while (!goes_on)
            pause_us(100);
    }
    return (int)syscall(SYS_clock_gettime, clock, to);
}

static sched_event event;
static sched_group group;
static struct scheduler *_Atomic run_of_root;
static int for_group;

static void *waits(void *arg)
{
    while (run_of_root == NULL)
        pause_us(100);
    holds = 1;
    if (for_group)
        CHECK_EQ(sched_group_wait_until(&group, SCHED_FOREVER, run_of_root), 0);
    else
        CHECK_EQ(sched_event_wait_until(&event, SCHED_FOREVER, run_of_root), 0);
    return arg;
}

static void member(void *closure, struct scheduler *s)
{
    while (!is_held)
        CHECK_EQ(sched_sleep(SCHED_MILLISECOND, s), 0);
}

static void root(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_group_spawn(&group, member, NULL, s), 0);
    run_of_root = s;
    member(NULL, s);
    CHECK_EQ(sched_event_end(&event), 0);
    CHECK_EQ(sched_group_wait(&group, s), 0);
}

int main(void)
{
    for (for_group = 0; for_group < 2; for_group++) {
        is_held = goes_on = 0;
        run_of_root = NULL;
        CHECK_EQ(sched_event_init(&event), 0);
        CHECK_EQ(sched_group_init(&group), 0);
        pthread_t thread = begin_thread(waits, NULL);
        CHECK_EQ(sched_init(2, 0, root, NULL), 0);
        goes_on = 1;
        CHECK_EQ(pthread_join(thread, NULL), 0);
    }
    return 0;
}
