/* More workers than processors are of use to tasks that sleep: 64 that sleep for 100 ms each, on
 * 64 workers, are done long before the 6.4 s that they take one after the other.
 * ctest: matrix kind=lifo,fifo,steal,cont deque=split,mutex,chaselev idle=park,nap threads=64
 * ctest: matrix kind=steal,cont deque=split idle=backoff,spin threads=64 */
#include "check.h"
#include <stdatomic.h>

enum { TASKS = 64 };

static atomic_int ran;

static void sleeper(void *closure, struct scheduler *s)
{
    (void)closure;
    (void)s;
    pause_us(100000);
    atomic_fetch_add(&ran, 1);
}

static void root(void *closure, struct scheduler *s)
{
    (void)closure;
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
    for (int way = 0; way < 2; way++) {
        double began = now();
        ran = 0;
        CHECK_EQ(sched_init(TASKS, 4, way ? chain : root, (void *)(long)TASKS), 0);
        CHECK_EQ(ran, TASKS);
        double took = now() - began;
        if (took >= 3) {
            char text[80];
            snprintf(text, sizeof text, "it took %.2f s (%s)\n", took, way ? "chain" : "all at once");
            check_say(text);
            _exit(1);
        }
    }
    return 0;
}
