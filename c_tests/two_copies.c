/* Two copies of the library in one process: the host's, shared, and one in a plugin that contains libsched.a. A task of
 * the host's run calls the plugin, which starts a run of its own, whose task calls the host. There the host waits with
 * its own s: it yields, joins a task that another worker has taken, waits for a group, locks a mutex that another task
 * holds. The stack is the plugin's, and the host's copy must not leave it.
 * ctest: plugin linked
 * ctest: matrix with=threads deque=split idle=park threads=4
 * ctest: matrix with=deques deque=split idle=park threads=4 join=help
 * ctest: env=SCHED_KIND=serial args=alone */
#include "aside.h"
#include "library.h"
#include <stdatomic.h>

typedef void callback(void *);

#ifdef PLUGIN

struct call {
    callback *back;
    void *argument;
};

static atomic_int ended;

static void beside(void *closure, struct scheduler *s)
{
    sched_task_yield(s);
    ended++;
}

static void inside(void *closure, struct scheduler *s)
{
    struct call *call = closure;
    CHECK_TIMES(3, sched_spawn(beside, NULL, s));
    call->back(call->argument);
    sched_task_yield(s);
    call->back(call->argument);
}

void work(callback *back, void *argument);
void work(callback *back, void *argument)
{
    struct call call = {back, argument};
    ended = 0;
    CHECK_EQ(sched_init(2, 16, inside, &call), 0);
    CHECK_EQ(ended, 3);
}

#else

/* The plugin's functions take the plugin's copy, although both copies export the same names. (two_versions.sh does
 * without: there the versions of the symbols tell them apart.) */
#ifndef LOAD_FLAGS
#define LOAD_FLAGS (RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND)
#endif

enum { ROUNDS = 20 / SMALLER, TASKS = 8 };

static void (*work)(callback *, void *);
static int alone;
static atomic_int ran, taken, holds, added;
static sched_mutex mutex = SCHED_MUTEX_INIT;
static int locked;

static void add(void *closure, struct scheduler *s)
{
    sched_task_yield(s);
    ran++;
}

static void is_taken(void *closure, struct scheduler *s)
{
    taken = 1;
    pause_us(200);
    ran++;
}

static void holder(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_mutex_lock(&mutex, s), 0);
    holds = 1;
    pause_us(200);
    locked++;
    CHECK_EQ(sched_mutex_unlock(&mutex), 0);
}

/* In the plugin's run, with the host's s. */
static void waits(void *closure)
{
    struct scheduler *s = closure;
    pthread_t thread = pthread_self();
    sched_group g = SCHED_GROUP_INIT;
    sched_task t;

    CHECK_TIMES(TASKS, sched_group_spawn(&g, add, NULL, s));
    for (int i = 0; i < 3; i++)
        sched_task_yield(s);
    CHECK_EQ(sched_group_wait(&g, s), 0);

    taken = 0;
    sched_fork(&t, is_taken, NULL, s);
    while (!taken && !alone)
        sched_yield();
    sched_join(&t, s);

    holds = 0;
    CHECK_EQ(sched_spawn(holder, NULL, s), 0);
    while (!holds && !alone)
        sched_yield();
    CHECK_EQ(sched_mutex_lock(&mutex, s), 0);
    locked++;
    CHECK_EQ(sched_mutex_unlock(&mutex), 0);
    CHECK(pthread_equal(thread, pthread_self())); /* the plugin's stack has stayed in its thread */
    added++;
}

static void task(void *closure, struct scheduler *s)
{
    sched_task_yield(s);
    work(waits, s);
    sched_task_yield(s);
}

static void root(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(task, closure, s), 0);
}

int main(int argc, char **argv)
{
    find_function(load(CTEST_PLUGIN, LOAD_FLAGS), "work", &work);
    alone = argc > 1;
    for (int i = 0; i < ROUNDS; i++) {
        ran = added = locked = 0;
        CHECK_EQ(sched_init(4, 64, root, NULL), 0);
        CHECK_EQ(added, 2);
        CHECK_EQ(ran, 2 * (TASKS + 1));
        CHECK_EQ(locked, 4);
    }
    return 0;
}

#endif
