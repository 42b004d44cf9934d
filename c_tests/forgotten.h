/* forgotten.h: tasks that forget a join, in small frames. The next frames on their stack cover the descriptors. */
#ifndef FORGOTTEN_H
#define FORGOTTEN_H

#include "child.h"
#include <sched_tasks.h>

struct fib {
    int n;
    long result;
};

static void fib(void *closure, struct scheduler *s)
{
    struct fib *f = (struct fib *)closure;
    if (f->n < 2) {
        f->result = f->n;
        return;
    }
    struct fib a = {f->n - 1, 0}, b = {f->n - 2, 0};
    sched_task t;
    sched_fork(&t, fib, &a, s);
    fib(&b, s);
    sched_join(&t, s);
    f->result = a.result + b.result;
}

static void forgets(void *closure, struct scheduler *s)
{
    sched_task t;
    sched_fork(&t, fib, closure, s);
}

static void forgets_three(void *closure, struct scheduler *s)
{
    sched_task t[3];
    for (int i = 0; i < 3; i++)
        sched_fork(&t[i], fib, closure, s);
}

static void forgets_deep(void *closure, struct scheduler *s)
{
    struct fib *f = (struct fib *)closure;
    volatile char frame[3000];
    frame[f->n] = 1;
    forgets(closure, s);
    CHECK_EQ(frame[f->n], 1);
}

/* Spawns a child that forgets a join. */
static void parent(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(forgets, closure, s), 0);
}

/* Waits for a task that forgets a join and runs on top of this one. */
static void waits(void *closure, struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    CHECK_EQ(sched_group_spawn(&g, forgets, closure, s), 0);
    sched_group_wait(&g, s);
}

static void run(void *root)
{
    struct fib f = {10, 0};
    alarm(20);
    sched_init(1, 10, *(taskfunc *)root, &f);
}

static void run_without_stacks(void *root)
{
    struct rlimit limit = {(rlim_t)8 << 30, (rlim_t)8 << 30};
    setenv("SCHED_STACK", "512G", 1);
    CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    run(root);
}

static void run_helping(void *root)
{
    setenv("SCHED_JOIN", "help", 1);
    run(root);
}

/* If a fork calls the task at once, the task has ended before the return, and nothing is wrong. */
static void check_forgotten(void)
{
    const struct {
        taskfunc root;
        void (*run)(void *);
    } cases[] = {
        {forgets, run},
        {forgets, run_without_stacks},
        {forgets_three, run},
        {forgets_three, run_without_stacks},
        {forgets_deep, run},
        {forgets_deep, run_without_stacks},
        {parent, run},
        {parent, run_without_stacks},
        {waits, run_helping},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        taskfunc root = cases[i].root;
        in_child(cases[i].run, &root);
        if (spawn_calls() && cases[i].run != run_without_stacks) {
            CHECK_CHILD_EXITED(0);
        } else {
            CHECK_CHILD_ABORTED("libsched: ");
            CHECK_CHILD_SAID("a sched_join is missing");
        }
    }
}

#endif
