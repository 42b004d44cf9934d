/* Forks and joins in other places than a task's own: with the s of another worker of the run, from a
 * thread that is no worker, in a run within a forked task, and there into the outer run.
 * ctest: static debug
 * ctest: matrix refuse */
#include "check.h"
#include "fib.h"
#include <stdatomic.h>

static void check_fib(struct scheduler *s)
{
    long n = 10;
    fib(&n, s);
    CHECK_EQ(n, 55);
}

/* --- another worker's s --------------------------------------------------- */

static struct scheduler *_Atomic shown;

static void show(void *closure, struct scheduler *s)
{
    shown = s;
}

static void with_anothers(void *closure, struct scheduler *s)
{
    sched_task t;
    shown = NULL;
    sched_fork(&t, show, NULL, s);
    for (unsigned turns = 0; threads_of(4) > 1 && !shown;)
        spin(&turns);
    sched_join(&t, s);
    if (!kind_is("cont")) /* there the caller of sched_fork is who goes elsewhere */
        CHECK((shown != s) == (threads_of(4) > 1));
    check_fib(shown);
    sched_fork(&t, show, NULL, shown); /* forked with one, joined with the other */
    sched_join(&t, s);
    sched_fork(&t, show, NULL, s);
    sched_join(&t, shown);
}

/* --- no worker ------------------------------------------------------------ */

static atomic_int forked;

static void three(void *closure, struct scheduler *s)
{
    *(int *)closure = 3;
}

static void *stranger(void *run)
{
    sched_task t;
    int result = 0;
    sched_fork(&t, three, &result, run);
    forked = 1;
    sched_join(&t, run); /* perhaps when the run has ended */
    CHECK_EQ(result, 3);
    return NULL;
}

static void *deep_stranger(void *run)
{
    check_fib(run);
    return stranger(run);
}

static pthread_t thread;

static void host(void *closure, struct scheduler *s)
{
    forked = 0;
    CHECK_EQ(pthread_create(&thread, NULL, stranger, s), 0);
    while (!forked)
        pause_us(50);
}

/* With others to run what the stranger forks, the run can be held open until it is through. */
static void patient_host(void *closure, struct scheduler *s)
{
    if (threads_of(4) == 1)
        return;
    CHECK_EQ(pthread_create(&thread, NULL, deep_stranger, s), 0);
    pthread_join(thread, NULL);
}

/* --- a run within --------------------------------------------------------- */

static struct scheduler *outer;
static int inner_thread;

static void inner(void *closure, struct scheduler *s)
{
    check_fib(s);
    if (thread_id() != inner_thread)
        return; /* the outer run's worker is busy with this one */
    check_fib(outer);
    long a = 9, b = 8;
    sched_task ours, theirs;
    sched_fork(&ours, fib, &a, s);
    sched_fork(&theirs, fib, &b, outer);
    sched_join(&ours, s);
    sched_join(&theirs, outer);
    CHECK_EQ(a, 34);
    CHECK_EQ(b, 21);
}

static void starts(void *closure, struct scheduler *s)
{
    inner_thread = thread_id();
    CHECK_EQ(sched_init(2, 10, inner, closure), 0);
}

static void nests(void *closure, struct scheduler *s)
{
    sched_task t;
    outer = s;
    starts(closure, s);
    sched_fork(&t, starts, closure, s);
    for (int i = 0; i < 3; i++)
        check_fib(s);
    sched_join(&t, s);
}

int main(void)
{
    CHECK_EQ(sched_init(4, 10, with_anothers, NULL), 0);
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(sched_init(4, 10, host, NULL), 0);
        pthread_join(thread, NULL);
    }
    CHECK_EQ(sched_init(4, 10, patient_host, NULL), 0);
    CHECK_EQ(sched_init(4, 10, nests, NULL), 0);
    return 0;
}
