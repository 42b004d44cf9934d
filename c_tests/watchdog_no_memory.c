/* SCHED_WATCHDOG and SCHED_STATS=live in a process that has no more memory: at SIGQUIT the watchdog says so, and the run
 * goes on.
 * ctest: env=SCHED_WATCHDOG=20ms env=SCHED_STATS=live timeout=60 */
#include "alloc.h"
#include "child.h"
#include <sched_tasks.h>

static sched_sem never = SCHED_SEM_INIT(0);

static void *post(void *arg)
{
    pause_us(100000);
    CHECK_EQ(kill(getpid(), SIGQUIT), 0);
    pause_us(200000);
    left = LONG_MAX;
    CHECK_EQ(sched_sem_post(&never), 0);
    return NULL;
}

static void root(void *closure, struct scheduler *s)
{
    pthread_t id;
    CHECK_EQ(pthread_create(&id, NULL, post, NULL), 0);
    left = 0;
    CHECK_EQ(sched_sem_wait(&never, s), 0);
    pthread_join(id, NULL);
}

static void body(void *arg)
{
    CHECK_EQ(sched_init(2, 4, root, NULL), 0);
}

int main(void)
{
    struct patience p = patience_of(30);
    do
        in_child(body, NULL); /* until the thread of the watchdog has looked in time */
    while (WIFEXITED(child.status) && !strstr(child.said, "no memory to say more") && is_patient(&p));
    CHECK_CHILD_EXITED(0);
    CHECK_CHILD_SAID("libsched: SIGQUIT");
    CHECK_CHILD_SAID("(there is no memory to say more)");
    return 0;
}
