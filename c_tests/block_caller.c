/* sched_init returns on its caller's thread, when all tasks have ended, also where that thread has left its
 * worker, at any moment of the run; each task is counted once.
 * ctest: static debug
 * ctest: matrix deque=mutex,split,ring
 * ctest: matrix deque=mutex,split idle=park join=help */
#include "block.h"

enum { RUNS = 6, TASKS = 30 };

static atomic_int ended, caller_blocked;

static void leaf(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    if (i % 3 == 0)
        block(i % 7 * 20, s);
    atomic_fetch_add(&ended, 1);
}

/* The caller's thread is in the section, and all else is over long before. */
static void last(void *closure, struct scheduler *s)
{
    (void)closure;
    spawn_all(TASKS, leaf, s);
    begin(s);
    if (on_caller())
        atomic_fetch_add(&caller_blocked, 1);
    pause_us(2000);
    end(s);
}

/* The caller's thread retires, and the run goes on. */
static void first(void *closure, struct scheduler *s)
{
    (void)closure;
    block(0, s);
    spawn_all(TASKS, leaf, s);
    pause_us(300);
}

/* Again and again: it is seldom the caller's then. */
static void always(void *closure, struct scheduler *s)
{
    (void)closure;
    for (long i = 0; i < TASKS; i++) {
        CHECK_EQ(sched_spawn(leaf, (void *)i, s), 0);
        block(i % 5 * 10, s);
    }
}

static void inner_run(void *closure, struct scheduler *s)
{
    taskfunc *f = closure;
    int here = thread_id();
    CHECK_EQ(sched_init(2, 4, *f, NULL), 0);
    CHECK_EQ(thread_id(), here);
    block(100, s);
    CHECK_EQ(sched_init(2, 4, *f, NULL), 0);
}

static void counted_run(taskfunc f, void *closure, int tasks, int leaves)
{
    struct sched_stats stats;
    int before = ended, here = thread_id();
    CHECK_EQ(sched_init(2, 4, f, closure), 0);
    CHECK_EQ(thread_id(), here);
    CHECK_EQ(ended, before + leaves);
    CHECK_EQ(sched_last_stats(&stats, sizeof stats), 0);
    CHECK_EQ(stats.tasks, tasks);
}

int main(void)
{
    taskfunc all[] = {last, first, always};
    /* More runs, if another thread was always quicker to take the first task. */
    for (int i = 0; i < RUNS || (caller_blocked == 0 && i < 20 * RUNS && !kind_is("cont")); i++)
        for (int k = 0; k < 3; k++) {
            counted_run(all[k], NULL, 1 + TASKS, TASKS);
            counted_run(inner_run, &all[k], 1, 2 * TASKS);
        }
    CHECK(caller_blocked > 0 || kind_is("cont")); /* where it is a child that blocks first */
    return 0;
}
