/* A deadlock through a task that waits for a whole run is found, and the text names the task, the run, and the circle: a
 * task runs another pool's task, or a run within, that waits for what the task holds; it waits in a blocking section; a run
 * within waits for something that never comes; all workers wait for other runs. While another thread could still help, the
 * process goes on.
 * ctest: static sleeps
 * ctest: matrix few join=suspend idle=park,spin threads=1,4 */
#include "stuck.h"

APART void holds_and_runs(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_mutex_lock(&held, s), 0);
    CHECK_EQ(sched_pool_run(b, wants, NULL), 0);
    check_say("the pool's task has ended\n");
}

static void mutex_of_caller(void *arg)
{
    pools(2);
    CHECK_EQ(sched_pool_run(a, holds_and_runs, NULL), 0);
}

APART void holds_and_inits(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_mutex_lock(&held, s), 0);
    CHECK_EQ(sched_init(2, 4, waits_for_ever, NULL), 0);
    check_say("the run has ended\n");
}

static void run_within(void *arg)
{
    pools(2);
    CHECK_EQ(sched_pool_run(a, holds_and_inits, NULL), 0);
}

static void run_within_run(void *arg)
{
    alarm(60);
    sched_init(2, 4, holds_and_inits, NULL);
}

APART void in_section(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_mutex_lock(&held, s), 0);
    CHECK_EQ(sched_block_begin(s), 0);
    CHECK_EQ(sched_pool_run(b, wants, NULL), 0);
    check_say("the pool's task has ended\n");
    CHECK_EQ(sched_block_end(s), 0);
}

static void blocking_section(void *arg)
{
    pools(2);
    CHECK_EQ(sched_pool_run(a, in_section, NULL), 0);
}

/* Each of a's workers waits for b; the task that would wake b's is queued in a. */
APART void runs_other(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(posts, NULL, s), 0);
    CHECK_EQ(sched_pool_run(b, waits_for_ever, closure), 0);
}

static void all_wait(void *arg)
{
    setenv("SCHED_THREADS", "1", 1);
    if (kind_is("cont")) /* there the spawn calls the task */
        unsetenv("SCHED_KIND");
    pools(2);
    CHECK_EQ(sched_pool_run(a, runs_other, NULL), 0);
}

/* With two workers the queued task is run. */
static void one_does_not(void *arg)
{
    setenv("SCHED_THREADS", "2", 1);
    if (kind_is("serial"))
        unsetenv("SCHED_KIND");
    pools(2);
    CHECK_EQ(sched_pool_run(a, runs_other, NULL), 0);
}

static void beside_a_thread(void *arg)
{
    pthread_t t;
    pools(2);
    CHECK_EQ(pthread_create(&t, NULL, posts_late, NULL), 0);
    CHECK_EQ(sched_pool_run(a, holds_and_inits, NULL), 0);
    CHECK_EQ(pthread_join(t, NULL), 0);
}

static void check_circle(void (*body)(void *))
{
    in_child(body, NULL);
    CHECK_CHILD_ABORTED("deadlock: 2 tasks wait for ever");
    CHECK_CHILD_SAID(" has no task; task ");
    CHECK_CHILD_SAID(" (wants) waits for the mutex 0x");
    CHECK_CHILD_SAID("  a circle: ");
    CHECK_CHILD_SAID(" waits for the run of task ");
}

int main(void)
{
    void (*const within[])(void *) = {run_within, run_within_run};
    void (*const fine[])(void *) = {one_does_not, beside_a_thread};
#ifdef __SANITIZE_THREAD__
    skip("the sanitizer has a thread of its own, which might wake a task");
#endif
    check_circle(mutex_of_caller);
    check_circle(blocking_section);
    for (size_t i = 0; i < sizeof within / sizeof *within; i++) {
        in_child(within[i], NULL);
        CHECK_CHILD_ABORTED("deadlock: 2 tasks wait for ever");
        CHECK_CHILD_SAID(" waits for the end of run ");
        CHECK_CHILD_SAID(" is left\n");
    }
    in_child(all_wait, NULL);
    CHECK_CHILD_ABORTED("deadlock: 2 tasks wait for ever");
    CHECK_CHILD_SAID(" has no task; task ");
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        in_child(fine[i], NULL);
        CHECK_CHILD_EXITED(0);
    }
    return 0;
}
