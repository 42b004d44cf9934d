/* A program's own pthread_atfork handlers may take a lock that a thread holds while it
 * calls sched_init, and may call sched_init themselves, registered before the library's
 * first use or after it.
 * ctest: matrix deque=mutex,split,chaselev idle=park threads=1,4 */
#include "child.h"
#include <stdatomic.h>

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static atomic_int holding, forking, ran;

static void task(void *closure, struct scheduler *s)
{
    ran++;
}

static void run(void)
{
    int before = ran;
    CHECK_EQ(sched_init(4, 4, task, NULL), 0);
    CHECK(ran > before);
}

static void lock_it(void)
{
    forking = 1;
    CHECK_EQ(pthread_mutex_lock(&held), 0);
}

static void unlock_it(void)
{
    CHECK_EQ(pthread_mutex_unlock(&held), 0);
}

/* Its run comes while the fork waits for the lock, all handlers before that one done. */
static void *holder(void *arg)
{
    CHECK_EQ(pthread_mutex_lock(&held), 0);
    holding = 1;
    while (!forking)
        pause_us(50);
    pause_us(2000);
    run();
    CHECK_EQ(pthread_mutex_unlock(&held), 0);
    return arg;
}

static void fork_once(void)
{
    int status;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(20);
        run();
        _exit(0);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
}

static void with_lock(void *used_before)
{
    pthread_t thread;
    alarm(20); /* a deadlock ends the child */
    if (used_before)
        run();
    pthread_atfork(lock_it, unlock_it, unlock_it);
    run();
    CHECK_EQ(pthread_create(&thread, NULL, holder, NULL), 0);
    while (!holding)
        pause_us(50);
    fork_once();
    pthread_join(thread, NULL);
    run();
}

static void with_run(void *used_before)
{
    alarm(20);
    if (used_before)
        run();
    pthread_atfork(run, run, run);
    run();
    fork_once();
    run();
}

int main(void)
{
    static int before;
    void (*bodies[])(void *) = {with_lock, with_run};
    for (int i = 0; i < 4; i++) {
        in_child(bodies[i / 2], i % 2 ? &before : NULL);
        CHECK_CHILD_EXITED(0);
    }
    return 0;
}
