/* Tasks that begin and end sections for ever keep nobody waiting: a task in the worker's own queue, and one that another
 * thread has spawned, have their turns.
 * ctest: matrix kind=lifo,fifo,steal,cont threads=1,2
 * ctest: matrix kind=steal deque=mutex,ring idle=park threads=1 global=all */
#include "block.h"

enum { TASKS = 8, MOST = 20000000 };

static atomic_int within, goes, own, outside, ended;

static void sets(void *closure, struct scheduler *s)
{
    *(atomic_int *)closure = 1;
}

static void *spawns(void *s)
{
    CHECK_EQ(sched_spawn(sets, &outside, s), 0);
    return NULL;
}

static void loops(void *closure, struct scheduler *s)
{
    begin(s);
    atomic_fetch_add(&within, 1);
    while (!goes)
        pause_us(100);
    end(s);
    for (int i = 0; !own || !outside; i++) {
        CHECK(i < MOST);
        begin(s);
        end(s);
    }
    atomic_fetch_add(&ended, 1);
}

static void root(void *closure, struct scheduler *s)
{
    pthread_t other;
    spawn_all(TASKS, loops, s);
    while (within < TASKS)
        sched_task_yield(s);
    CHECK_EQ(sched_spawn(sets, &own, s), 0);
    CHECK_EQ(pthread_create(&other, NULL, spawns, s), 0);
    CHECK_EQ(pthread_join(other, NULL), 0);
    goes = 1;
}

int main(void)
{
    run(2, root);
    CHECK_EQ(ended, TASKS);
    return 0;
}
