/* A task from outside has its turn while a worker waits, even if the tasks that the worker runs meanwhile do not stop
 * by themselves: here they go on until the task from outside, for which the worker waits, has run. The same holds if
 * such tasks come from outside together with that task; a worker may take all of them at once.
 * ctest: debug
 * ctest: matrix kind=serial,steal,cont threads=1,2
 * ctest: matrix kind=steal threads=1 idle=park global=all join=help
 * ctest: matrix kind=steal threads=1 idle=park overflow=half global=all join=help */
#include "check.h"
#include <sched_tasks.h>
#include <stdatomic.h>

static atomic_int ran, sent;
static sched_group g;

static void leaf(void *closure, struct scheduler *s)
{
    ran = 1;
}

static void goes_on(void *closure, struct scheduler *s)
{
    if (!ran)
        CHECK_EQ(sched_spawn(goes_on, closure, s), 0);
}

static void nothing(void *closure, struct scheduler *s)
{
}

static void *stranger(void *s)
{
    CHECK_EQ(sched_group_spawn(&g, leaf, NULL, s), 0);
    sent = 1;
    return NULL;
}

/* The first of them is run at once. */
static void *sends_several(void *s)
{
    CHECK_EQ(sched_spawn(nothing, NULL, s), 0);
    CHECK_EQ(sched_group_spawn(&g, leaf, NULL, s), 0);
    for (int i = 0; i < threads_of(4); i++)
        CHECK_EQ(sched_spawn(goes_on, NULL, s), 0);
    sent = 1;
    return NULL;
}

static void root(void *several, struct scheduler *s)
{
    pthread_t thread;
    ran = sent = 0;
    CHECK_EQ(pthread_create(&thread, NULL, several ? sends_several : stranger, s), 0);
    while (!sent)
        pause_us(50);
    for (int i = 0; !several && i < threads_of(4); i++)
        CHECK_EQ(sched_spawn(goes_on, NULL, s), 0);
    CHECK_EQ(sched_group_wait(&g, s), 0);
    CHECK_EQ(ran, 1);
    pthread_join(thread, NULL);
}

int main(void)
{
    CHECK_EQ(sched_init(4, 10, root, NULL), 0);
    CHECK_EQ(sched_init(4, 10, root, &g), 0);
    return 0;
}
