/* One task that spawns short ones, under one queue for all and with more workers than processors, wakes few of those
 * that sleep, though the queue runs empty again and again.
 * ctest: matrix kind=lifo,fifo idle=park threads=8 */
#include "few_wakes.h"

/* 1 wake-up for 7 to 20 tasks was seen before pushes relied on a worker that was woken. Now at most 1 for 120 with the
 * lock `sem`, for 700 with the others. */
enum { TASKS = 100000, WAKES = TASKS / 50 };

static void empty(void *closure, struct scheduler *s)
{
}

static void spawner(void *closure, struct scheduler *s)
{
    for (int i = 1; i < TASKS; i++)
        CHECK_EQ(sched_spawn(empty, NULL, s), 0);
}

int main(void)
{
    long wakes = least_wakes(spawner, NULL, TASKS);
    if (wakes >= WAKES)
        CHECK_EQ(wakes, WAKES);
    return 0;
}
