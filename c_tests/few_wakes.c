/* A chain of short tasks, on more workers than processors, wakes few of those that sleep
 * beside it, though there is a new task each time: far fewer wake-ups than tasks.
 * ctest: matrix kind=steal idle=park threads=8 */
#include "few_wakes.h"

/* At most some 130 wake-ups a run were seen; 9000 before searchers learned patience, though only hundreds where other
 * programs had the processors. */
enum { TASKS = 20000, WAKES = TASKS / 40 };

static void chain(void *closure, struct scheduler *s)
{
    long left = (long)closure;
    for (double end = now() + 2e-6; now() < end;)
        ;
    if (left > 1)
        CHECK_EQ(sched_spawn(chain, (void *)(left - 1), s), 0);
}

int main(void)
{
    long wakes = least_wakes(chain, (void *)(long)TASKS, TASKS);
    if (wakes >= WAKES)
        CHECK_EQ(wakes, WAKES);
    return 0;
}
