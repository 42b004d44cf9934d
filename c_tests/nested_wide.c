/* Sixty runs within each other, each of which may have 1,000 threads and has few tasks: the threads that no task needs are
 * not made, in no kind.
 * ctest: matrix deque=split,mutex idle=park */
#include "proc.h"
#include <sched_tasks.h>

enum { RUNS = 60, THREADS = 1000, TASKS = 10 };

static int ran, most;

static void leaf(void *closure, struct scheduler *s)
{
    __atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
}

static void within(void *level, struct scheduler *s)
{
    long left = (long)level;
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(sched_spawn(leaf, NULL, s), 0);
    if (left > 1)
        CHECK_EQ(sched_init(THREADS, 0, within, (void *)(left - 1)), 0);
    else
        most = thread_count();
}

int main(void)
{
    unsetenv("SCHED_THREADS");
    CHECK_EQ(sched_init(THREADS, 0, within, (void *)(long)RUNS), 0);
    CHECK_EQ(ran, RUNS * TASKS);
    CHECK(most <= RUNS * (TASKS + 1) + 1);
    return 0;
}
