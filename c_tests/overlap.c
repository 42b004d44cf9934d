/* More workers than processors are of use to tasks that sleep: 64 tasks on 64 workers all sleep at the same time, whether
 * one task spawns them or each spawns the next.
 * ctest: matrix kind=lifo,fifo,steal,cont deque=split,mutex,chaselev idle=park,nap threads=64
 * ctest: matrix kind=steal,cont deque=split idle=backoff,spin threads=64 */
#include "check.h"
#include <stdatomic.h>

enum { TASKS = 64 };

static atomic_int asleep, gave_up, ran;

/* Sleeps until all others do. If one has slept for too long, none waits any more. */
static void sleeper(void *closure, struct scheduler *s)
{
    int all, none = 0;
    atomic_fetch_add(&asleep, 1);
    for (struct patience p = patience_of(20); (all = asleep) < TASKS && !gave_up; pause_us(5000))
        if (!is_patient(&p))
            atomic_compare_exchange_strong(&gave_up, &none, all);
    atomic_fetch_add(&ran, 1);
}

static void root(void *closure, struct scheduler *s)
{
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(sched_spawn(sleeper, NULL, s), 0);
}

/* Each spawns the next, and sleeps. */
static void chain(void *closure, struct scheduler *s)
{
    long left = (long)closure;
    if (left > 1)
        CHECK_EQ(sched_spawn(chain, (void *)(left - 1), s), 0);
    sleeper(NULL, s);
}

int main(void)
{
    static const taskfunc ways[] = {root, chain};
    for (int way = 0; way < 2; way++) {
        asleep = ran = 0;
        CHECK_EQ(sched_init(TASKS, 4, ways[way], (void *)(long)TASKS), 0);
        CHECK_EQ(ran, TASKS);
        if (gave_up)
            CHECK_EQ(gave_up, TASKS); /* as many slept at once */
    }
    return 0;
}
