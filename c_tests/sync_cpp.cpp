/* Mutex, condition, semaphore and barrier in C++, initialised by their macros.
 * ctest: static
 * ctest: matrix few idle=park threads=2 */
#include "check.h"
#include <sched_tasks.h>

struct shared {
    sched_mutex m = SCHED_MUTEX_INIT;
    sched_cond c = SCHED_COND_INIT;
    sched_sem sem = SCHED_SEM_INIT(0);
    sched_barrier b = SCHED_BARRIER_INIT(2);
    int count = 0;
};

static void task(void *closure, struct scheduler *s)
{
    shared *p = static_cast<shared *>(closure);
    CHECK_EQ(sched_mutex_lock(&p->m, s), 0);
    p->count++;
    CHECK_EQ(sched_cond_signal(&p->c), 0);
    CHECK_EQ(sched_mutex_unlock(&p->m), 0);
    CHECK(sched_barrier_wait(&p->b, s) >= 0);
    CHECK_EQ(sched_sem_post(&p->sem), 0);
}

static void root(void *, struct scheduler *s)
{
    shared here;
    int n = 1;
    sched_sem other = SCHED_SEM_INIT(n);
    CHECK_EQ(sched_sem_wait(&other, s), 0);
    CHECK_EQ(sched_spawn(task, &here, s), 0);
    CHECK_EQ(sched_mutex_lock(&here.m, s), 0);
    while (here.count == 0)
        CHECK_EQ(sched_cond_wait(&here.c, &here.m, s), 0);
    CHECK_EQ(sched_mutex_unlock(&here.m), 0);
    CHECK(sched_barrier_wait(&here.b, s) >= 0);
    CHECK_EQ(sched_sem_wait(&here.sem, s), 0);
}

int main()
{
    CHECK_EQ(sched_init(2, 10, root, nullptr), 0);
    return 0;
}
