/* leaving.h: a task ends its process in each possible way, from a state into which the test puts it. The test defines
 * the functions that are declared first. */
#ifndef LEAVING_H
#define LEAVING_H

#include "child.h"
#include "leave.h"

static void get_ready(struct scheduler *s); /* puts the task into that state, with other tasks busy */
static void go_on(struct scheduler *s);     /* called in that state, after a fork */
static void try_parents(struct scheduler *s); /* tries the parent's s in a forked child */
static void inner(void *closure, struct scheduler *s); /* the first task of a run: sets its closure, an int */

static void leaves(void *closure, struct scheduler *s)
{
    get_ready(s);
    leave(s);
}

static void ends(void *closure, struct scheduler *s)
{
    get_ready(s);
    pthread_exit(NULL);
}

static void is_cancelled(void *closure, struct scheduler *s)
{
    get_ready(s);
    pthread_cancel(pthread_self());
    for (;;)
        pthread_testcancel();
}

static void forks(void *closure, struct scheduler *s)
{
    int ran = 0;
    get_ready(s);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(20);
        try_parents(s);
        for (int i = 0; i < 3; i++) {
            ran = 0;
            CHECK_EQ(sched_init(2, 4, inner, &ran), 0);
            CHECK(ran);
        }
        _exit(0);
    }
    CHECK_EQ(wait_for(pid), 0);
    go_on(s);
    *(int *)closure = 1;
}

enum { THREADS = 4 };

static void start(void *task)
{
    sched_init(THREADS, 4, *(taskfunc *)task, NULL);
    check_say("sched_init came back\n");
}

/* Runs a task that ends its process, in a process of its own. */
static void run_in_child(taskfunc task)
{
    in_child(start, &task);
}

static void check_leaving(int forkings)
{
    for (way = 0; way < WAYS_OUT; way++) {
        run_in_child(leaves);
        check_child(__FILE__, __LINE__,
                    WIFEXITED(child.status) && WEXITSTATUS(child.status) == 40 + way, "exit");
    }
    run_in_child(ends);
    CHECK_CHILD_ABORTED("pthread_exit");
    run_in_child(is_cancelled);
    CHECK_CHILD_ABORTED("cancel");
    for (int i = 0; i < forkings; i++) {
        int done = 0;
        CHECK_EQ(sched_init(THREADS, 4, forks, &done), 0);
        CHECK(done);
    }
}

#endif
