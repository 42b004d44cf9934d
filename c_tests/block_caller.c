/* sched_init returns on its caller's thread, when all tasks have ended, also where that thread has left its
 * worker, at any moment of the run; each task is counted once.
 * ctest: static debug
 * ctest: matrix deque=mutex,split,ring
 * ctest: matrix deque=mutex,split idle=park join=help */
#include "block.h"

enum { RUNS = 6, TASKS = 30 };

static atomic_int ended, caller, caller_came, caller_blocked;
static int holders; /* that last has spawned */

static void leaf(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    if (i % 3 == 0)
        block(i % 7 * 20, s);
    atomic_fetch_add(&ended, 1);
}

/* The caller's thread is in the section, and all else is over long before. */
static void block_caller(struct scheduler *s)
{
    int spawns_first = !kind_is("cont"); /* where a task that is spawned runs at once, and the thread leaves it */
    if (spawns_first)
        spawn_all(TASKS, leaf, s);
    begin(s);
    CHECK_EQ(thread_id(), caller);
    atomic_fetch_add(&caller_blocked, 1);
    if (!spawns_first)
        spawn_all(TASKS, leaf, s);
    pause_us(2000);
    end(s);
}

/* Holds its worker until a task has come to the caller's thread. The task there blocks. */
static void hold(void *closure, struct scheduler *s)
{
    unsigned turns = 0;
    while (!caller_came) {
        if (thread_id() == caller) {
            caller_came = 1;
            block_caller(s);
            return;
        }
        spin(&turns);
    }
}

/* Any worker may be the first to take this task. If it is not the caller's, then there is a task for each worker that
 * holds it, until the caller's has one, too. (In kind cont this task may come to the caller's thread on the way.) */
static void last(void *closure, struct scheduler *s)
{
    int n = threads_of(2);
    holders = 0;
    caller_came = 0;
    while (holders < n && thread_id() != caller && !caller_came) {
        holders++;
        CHECK_EQ(sched_spawn(hold, NULL, s), 0);
    }
    hold(closure, s);
}

/* The caller's thread retires, and the run goes on. */
static void first(void *closure, struct scheduler *s)
{
    block(0, s);
    spawn_all(TASKS, leaf, s);
    pause_us(300);
}

/* Again and again: it is seldom the caller's then. */
static void always(void *closure, struct scheduler *s)
{
    for (long i = 0; i < TASKS; i++) {
        CHECK_EQ(sched_spawn(leaf, (void *)i, s), 0);
        block(i % 5 * 10, s);
    }
}

APART void run_here(taskfunc f, void *closure)
{
    int here = thread_id();
    caller = here;
    CHECK_EQ(sched_init(2, 4, f, closure), 0);
    CHECK_EQ(thread_id(), here);
}

static void inner_run(void *closure, struct scheduler *s)
{
    taskfunc *f = closure;
    run_here(*f, NULL);
    block(100, s);
    run_here(*f, NULL);
}

static void counted_run(taskfunc f, void *closure, int tasks, int leaves)
{
    struct sched_stats stats;
    int before = ended;
    run_here(f, closure);
    CHECK_EQ(ended, before + leaves);
    CHECK_EQ(sched_last_stats(&stats, sizeof stats), 0);
    CHECK_EQ(stats.tasks, tasks + (f == last ? holders : 0));
}

int main(void)
{
    taskfunc all[] = {last, first, always};
    for (int i = 0; i < RUNS; i++)
        for (int k = 0; k < 3; k++) {
            counted_run(all[k], NULL, 1 + TASKS, TASKS);
            counted_run(inner_run, &all[k], 1, 2 * TASKS);
        }
    CHECK_EQ(caller_blocked, 3 * RUNS);
    return 0;
}
