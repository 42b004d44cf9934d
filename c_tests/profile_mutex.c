/* SCHED_PROFILE tells for how long tasks have waited for mutexes, and advises on it.
 * ctest: matrix few deque=split,mutex idle=park threads=1,2 timeout=60
 * ctest: matrix few idle=park threads=2 join=help */
#include "child.h"
#include "stats_line.h"
#include <sched_tasks.h>

enum { TASKS = 20, HELD_US = 20000 };

static sched_mutex mutex;
static int come;

void lock_briefly(void *closure, struct scheduler *s)
{
    __atomic_add_fetch(&come, 1, __ATOMIC_RELAXED);
    CHECK_EQ(sched_mutex_lock(&mutex, s), 0);
    CHECK_EQ(sched_mutex_unlock(&mutex), 0);
}

static void hold_long(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_mutex_lock(&mutex, s), 0);
    CHECK_TIMES(TASKS, sched_spawn(lock_briefly, NULL, s));
    while (__atomic_load_n(&come, __ATOMIC_RELAXED) < TASKS)
        sched_task_yield(s);
    double t0 = now();
    while (now() - t0 < 1e-6 * HELD_US)
        ;
    CHECK_EQ(sched_mutex_unlock(&mutex), 0);
}

static void run(void *format)
{
    CHECK_EQ(sched_mutex_init(&mutex), 0);
    setenv("SCHED_PROFILE", format, 1);
    CHECK_EQ(sched_init(2, 16, hold_long, NULL), 0);
}

int main(void)
{
    CHECK_IN_CHILD(run, "json");
    /* Some of the tasks that have come may not have begun to wait when the mutex was unlocked. */
    CHECK(stat_number(child.said, "mutex_waits_ns") >= 1000LL * HELD_US * TASKS / 2);
    CHECK_IN_CHILD(run, "1");
    int is_alone = strstr(child.said, "threads=1 ") != NULL;
    CHECK_EQ(strstr(child.said, "those of lock_briefly most of all") == NULL, is_alone);
    return 0;
}
