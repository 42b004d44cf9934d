/* With SCHED_JOIN=help, waiting tasks cost nothing, even if there are many more of them than workers. A worker does not
 * go back and forth between tasks that wait: if it has nothing else to do, it leaves them waiting, and it sleeps when
 * all tasks wait. In the end another task, or a thread that is no worker, ends the waits, and all tasks go on.
 * ctest: sleeps
 * ctest: matrix kind=cont,steal deque=split,chaselev idle=park threads=2 join=help
 * ctest: matrix kind=steal deque=ring idle=park threads=2 join=help
 * ctest: matrix kind=lifo,fifo deque=mutex idle=park threads=2 join=help */
#include "cpu.h"
#include <sched_tasks.h>
#include <stdatomic.h>

enum { WAITERS = 20 };

static sched_group group = SCHED_GROUP_INIT;
static sched_sem sem = SCHED_SEM_INIT(0);
static atomic_int came, ended;

static void child(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&came, 1);
    CHECK_EQ(sched_sem_wait(&sem, s), 0);
}

static void joins(void *closure, struct scheduler *s)
{
    sched_task t;
    sched_fork(&t, child, closure, s);
    sched_task_yield(s);
    sched_join(&t, s);
    atomic_fetch_add(&ended, 1);
}

static void waits(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&came, 1);
    CHECK_EQ(sched_group_wait(&group, s), 0);
    atomic_fetch_add(&ended, 1);
}

static void *post(void *arg)
{
    for (int i = 0; i < WAITERS; i++)
        CHECK_EQ(sched_sem_post(&sem), 0);
    return NULL;
}

static void root(void *closure, struct scheduler *s)
{
    pthread_t thread;
    came = ended = 0;
    CHECK_EQ(sched_group_spawn(&group, child, NULL, s), 0);
    for (int i = 1; i < WAITERS; i++) {
        CHECK_EQ(sched_spawn(joins, NULL, s), 0);
        CHECK_EQ(sched_spawn(waits, NULL, s), 0);
    }
    while (came < 2 * WAITERS - 1)
        sched_task_yield(s);
    pause_us(20000); /* they come to wait */
    check_idle();
    CHECK_EQ(ended, 0);
    if (closure) {
        CHECK_EQ(pthread_create(&thread, NULL, post, NULL), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
    } else {
        post(NULL);
    }
}

int main(void)
{
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(sched_init(2, 4, root, i ? &came : NULL), 0);
        CHECK_EQ(ended, 2 * (WAITERS - 1));
    }
    return 0;
}
