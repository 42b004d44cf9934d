/* A deadlock through the call of a guest (a thread outside that is in a loop of a pool) is found, and the text names the
 * call and what it waits for: a semaphore, also after tasks that it has spawned have ended; another pool whose task waits
 * for what the call holds; a run within; workers that all wait for another pool, while the task that would wake them is
 * queued. The process goes on if such a task can be run, and while another thread could still help.
 * ctest: static sleeps
 * ctest: matrix few join=suspend idle=park,spin threads=2 */
#include "stuck.h"
#include <stdatomic.h>
#include <stdlib.h>

APART void nothing(void *closure, struct scheduler *s)
{
}

/* --- what the guest's call does -------------------------------------------------------- */

APART void waits(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    waits_for_ever(ctx, s);
}

APART void spawns_and_waits(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(nothing, NULL, s), 0);
    CHECK_EQ(sched_spawn(nothing, NULL, s), 0);
    waits(lo, hi, ctx, s);
}

APART void spawns_what_posts(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(posts, NULL, s), 0);
    waits(lo, hi, ctx, s);
}

APART void holds_and_runs(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    CHECK_EQ(sched_mutex_lock(&held, s), 0);
    CHECK_EQ(sched_pool_run(b, wants, ctx), 0);
    check_say("the pool's task has ended\n");
}

APART void runs_within(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    CHECK_EQ(sched_init(2, 4, waits_for_ever, ctx), 0);
    check_say("the run has ended\n");
}

/* --- the processes --------------------------------------------------------------------- */

static void (*call)(size_t, size_t, void *, struct scheduler *);

static void as_guest(void *arg)
{
    pools(2);
    CHECK_EQ(sched_for(0, 1, 1, call, NULL, sched_pool_scheduler(a)), 0);
}

static atomic_int runs_b;

APART void runs_other(void *closure, struct scheduler *s)
{
    runs_b = 1;
    CHECK_EQ(sched_pool_run(b, waits_for_ever, closure), 0);
}

/* Each of a's workers waits for b; the guest's task is queued in a. */
static void beside_one_worker(void *arg)
{
    struct timespec shortly = {0, 100000000};
    setenv("SCHED_THREADS", "1", 1);
    pools(1);
    CHECK_EQ(sched_pool_submit(a, runs_other, NULL), 0);
    while (!runs_b)
        pause_us(1000);
    nanosleep(&shortly, NULL);
    CHECK_EQ(sched_for(0, 1, 1, spawns_what_posts, NULL, sched_pool_scheduler(a)), 0);
}

/* The thread posts while the guest sleeps, and the tasks that the guest has spawned have ended. */
static void beside_a_thread(void *arg)
{
    pthread_t t;
    CHECK_EQ(pthread_create(&t, NULL, posts_late, NULL), 0);
    as_guest(arg);
    CHECK_EQ(pthread_join(t, NULL), 0);
}

static void check_call(void (*body)(size_t, size_t, void *, struct scheduler *), const char *title, const char *text)
{
    call = body;
    in_child(as_guest, NULL);
    CHECK_CHILD_ABORTED("deadlock: ");
    CHECK_CHILD_SAID(title);
    CHECK_CHILD_SAID("    guest 2: runs task ");
    CHECK_CHILD_SAID(text);
}

int main(void)
{
#ifdef __SANITIZE_THREAD__
    skip("the sanitizer has a thread of its own, which might wake a task");
#endif
    if (kind_is("serial"))
        skip("a pool of this kind has no guests");
    check_call(waits, "deadlock: a task waits for ever", "task 1, the call of a guest, waits for the semaphore 0x");
    check_call(spawns_and_waits, "deadlock: a task waits for ever", ", the call of a guest, waits for the semaphore 0x");
    check_call(runs_within, "deadlock: 2 tasks wait for ever", ", the call of a guest, waits for the end of run ");
    check_call(holds_and_runs, "deadlock: 2 tasks wait for ever", ", the call of a guest, waits until run ");
    CHECK_CHILD_SAID(" (wants) waits for the mutex 0x");
    CHECK_CHILD_SAID("  a circle: ");
    in_child(beside_one_worker, NULL);
    CHECK_CHILD_ABORTED("deadlock: 3 tasks wait for ever");
    CHECK_CHILD_SAID(", the call of a guest, waits for the semaphore 0x");
    call = spawns_what_posts;
    in_child(as_guest, NULL);
    CHECK_CHILD_EXITED(0);
    call = spawns_and_waits;
    in_child(beside_a_thread, NULL);
    CHECK_CHILD_EXITED(0);
    return 0;
}
