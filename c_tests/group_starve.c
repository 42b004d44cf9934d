/* Each worker runs a task that spawns into a group and waits for the group, in a loop, until another task has run. This
 * other task does run: in the first run a thread from outside has spawned it, in the second run it has yielded.
 * ctest: debug
 * ctest: matrix few kind=steal deque=split,chaselev,mutex,ring threads=1,2 idle=park join=suspend */
#include "check.h"
#include <sched_tasks.h>
#include <stdatomic.h>

static atomic_int is_enough, has_begun;

static void nothing(void *closure, struct scheduler *s)
{
}

static void goes_on(void *closure, struct scheduler *s)
{
    while (!is_enough) {
        sched_group g = SCHED_GROUP_INIT;
        CHECK_EQ(sched_group_spawn(&g, nothing, NULL, s), 0);
        CHECK_EQ(sched_group_wait(&g, s), 0);
    }
}

static void ends_it(void *closure, struct scheduler *s)
{
    is_enough = 1;
}

static void yields(void *closure, struct scheduler *s)
{
    has_begun = 1;
    for (int i = 0; i < 3; i++)
        sched_task_yield(s);
    is_enough = 1;
}

static void *stranger(void *s)
{
    CHECK_EQ(sched_spawn(ends_it, NULL, s), 0);
    return NULL;
}

static void loops(struct scheduler *s)
{
    for (int i = 1; i < threads_of(4); i++)
        CHECK_EQ(sched_spawn(goes_on, NULL, s), 0);
    goes_on(NULL, s);
}

static void from_outside(void *closure, struct scheduler *s)
{
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, stranger, s), 0);
    loops(s);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

static void beside_one_that_yields(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(yields, NULL, s), 0);
    while (!has_begun)
        sched_task_yield(s);
    loops(s);
}

int main(void)
{
    CHECK_EQ(sched_init(4, 10, from_outside, NULL), 0);
    is_enough = 0;
    CHECK_EQ(sched_init(4, 10, beside_one_that_yields, NULL), 0);
    return 0;
}
