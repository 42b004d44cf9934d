/* A task that unlocks a mutex and locks it again at once goes on, although others wait: the mutex is handed over now
 * and then, not at each unlock.
 * ctest: matrix idle=park threads=1 */
#include "sync.h"

enum { TASKS = 8, ROUNDS = 4000 / SMALLER };

static sched_mutex m = SCHED_MUTEX_INIT;
static int came;
static long last = -1, turns, sections;

static void enters(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_mutex_lock(&m, s), 0);
    CHECK_EQ(sched_mutex_unlock(&m), 0);
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_EQ(sched_mutex_lock(&m, s), 0);
        turns += last != (long)closure;
        last = (long)closure;
        sections++;
        CHECK_EQ(sched_mutex_unlock(&m), 0);
    }
}

static void comes(void *closure, struct scheduler *s)
{
    came++;
    enters(closure, s);
}

static void root(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_mutex_lock(&m, s), 0);
    spawn_all(TASKS, comes, s);
    while (came < TASKS)
        sched_task_yield(s);
    CHECK_EQ(sched_mutex_unlock(&m), 0); /* from now on all want it, all the time */
}

int main(void)
{
    run(1, root);
    CHECK_EQ(sections, TASKS * ROUNDS);
    CHECK(turns >= TASKS);
    /* A turn ends after 4096 sections, or after half a millisecond, in which thousands have room. */
    CHECK(turns < TASKS * ROUNDS / 8);
    return 0;
}
