/* SCHED_WATCHDOG: the text names what each worker runs: the innermost task, and the outermost one if tasks lie on top of
 * each other; the task in a blocking section; and the task that another joins while a worker runs it. It does so where the
 * compiler puts spawns and forks into the program (sched_inline.h), too.
 * ctest: static debug sleeps
 * ctest: matrix idle=park steal=half overflow=grow threads=1,4 */
#include "shown.h"
#include <sched_inline.h>

#define APART static __attribute__((noinline))

static int is_cont;

/* Calls nothing meanwhile, so that there is no return address into it. */
APART void computes(void *closure, struct scheduler *s)
{
    has_begun = 1;
    while (!may_end)
        continue;
}

APART void spawns(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(computes, closure, s), 0);
}

static void a_spawned_task(void *arg)
{
    shows(2, spawns, ": runs a task (computes)", NULL);
}

static void fork_and_join(taskfunc f, void *closure, struct scheduler *s)
{
    sched_task t;
    sched_fork(&t, f, closure, s);
    sched_join(&t, s);
}

APART void forks(void *closure, struct scheduler *s)
{
    fork_and_join(computes, closure, s);
    atomic_fetch_add(&has_begun, 1); /* so that the join is not the function's last act */
}

APART void forks_twice(void *closure, struct scheduler *s)
{
    fork_and_join(forks, closure, s);
    atomic_fetch_add(&has_begun, 1);
}

static void tasks_in_joins(void *arg)
{
    /* In kind cont each task has a stack of its own. */
    shows(1, forks_twice,
          is_cont ? ": runs a task (computes)" : ": runs a task (computes) on top of another (forks_twice)",
          NULL);
}

APART void blocks(void *closure, struct scheduler *s)
{
    struct timespec shortly = {0, 1000000};
    CHECK_EQ(sched_block_begin(s), 0);
    has_begun = 1;
    while (!may_end)
        nanosleep(&shortly, NULL);
    CHECK_EQ(sched_block_end(s), 0);
}

static void a_blocking_section(void *arg)
{
    shows(2, blocks, " (blocks) is in a blocking section", NULL);
}

APART void joins_running(void *closure, struct scheduler *s)
{
    sched_task t;
    sched_fork(&t, computes, closure, s);
    while (!has_begun) /* until another worker has taken the one or the other */
        continue;
    sched_join(&t, s);
    atomic_fetch_add(&has_begun, 1);
}

static void a_join_of_a_running_task(void *arg)
{
    shows(2, joins_running, " (joins_running) joins a task (computes), which worker ", NULL);
}

int main(void)
{
    const char *kind = getenv("SCHED_KIND"), *threads = getenv("SCHED_THREADS");
    is_cont = kind != NULL && strcmp(kind, "cont") == 0;
    void (*const scenes[])(void *) = {a_spawned_task, tasks_in_joins, a_blocking_section};
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        in_child(scenes[i], NULL);
        CHECK_CHILD_EXITED(0);
    }
    /* With one thread a task does not run while another joins it. */
    if (kind != NULL && threads != NULL && strcmp(threads, "1") != 0 && strcmp(kind, "serial") != 0) {
        in_child(a_join_of_a_running_task, NULL);
        CHECK_CHILD_EXITED(0);
    }
    return 0;
}
