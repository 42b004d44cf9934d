/* A task from outside has its turn while a worker waits, however long the tasks go on that the worker
 * runs meanwhile: here they go on until that one has run, and the worker waits for it.
 * ctest: debug
 * ctest: matrix kind=serial,steal,cont threads=1,2 */
#include "check.h"
#include <sched_tasks.h>
#include <stdatomic.h>

static atomic_int ran, sent;
static sched_group g;

static void leaf(void *closure, struct scheduler *s)
{
    (void)closure;
    (void)s;
    ran = 1;
}

static void *stranger(void *s)
{
    CHECK_EQ(sched_group_spawn(&g, leaf, NULL, s), 0);
    sent = 1;
    return NULL;
}

static void goes_on(void *closure, struct scheduler *s)
{
    if (!ran)
        CHECK_EQ(sched_spawn(goes_on, closure, s), 0);
}

static void root(void *closure, struct scheduler *s)
{
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, stranger, s), 0);
    while (!sent)
        pause_us(50);
    for (int i = 0; i < threads_of(4); i++)
        CHECK_EQ(sched_spawn(goes_on, closure, s), 0);
    CHECK_EQ(sched_group_wait(&g, s), 0);
    CHECK_EQ(ran, 1);
    pthread_join(thread, NULL);
}

int main(void)
{
    CHECK_EQ(sched_init(4, 10, root, NULL), 0);
    return 0;
}
