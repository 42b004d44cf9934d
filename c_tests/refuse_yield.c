/* SCHED_OVERFLOW=refuse, and more tasks than a queue may hold that give way: they take no room there from those that
 * are spawned, so each that tries again after each of its turns spawns at last.
 * ctest: matrix kind=lifo,fifo deque=mutex idle=park,nap threads=1,2,4 env=SCHED_OVERFLOW=refuse
 * ctest: matrix kind=steal deque=ring,queue idle=park threads=1,2,4 env=SCHED_OVERFLOW=refuse
 * ctest: matrix kind=lifo,fifo deque=spin idle=spin threads=2 env=SCHED_OVERFLOW=refuse env=SCHED_JOIN=help */
#include "sync.h"

enum { TASKS = 10, QLEN = 2 };

static atomic_int came, ran;

static void spawn(taskfunc f, struct scheduler *s)
{
    set_errno(0);
    while (sched_spawn(f, NULL, s) != 0) {
        CHECK_EQ(get_errno(), EAGAIN);
        sched_task_yield(s);
    }
}

static void leaf(void *closure, struct scheduler *s)
{
    ran++;
}

static void task(void *closure, struct scheduler *s)
{
    came++;
    while (came < TASKS)
        sched_task_yield(s);
    for (int i = 0; i < 3; i++)
        spawn(leaf, s);
}

static void root(void *closure, struct scheduler *s)
{
    for (int i = 0; i < TASKS; i++)
        spawn(task, s);
}

int main(void)
{
    CHECK_EQ(sched_init(2, QLEN, root, NULL), 0);
    CHECK_EQ(ran, 3 * TASKS);
    return 0;
}
