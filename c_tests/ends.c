/* ends: the end of the process, and of threads, beside runs. */
#include "case.h"
#include "child.h"
#include "leave.h"
#include "where.h"
#include "warm.h"
#include "proc.h"
#include "aside.h"
#include "leaving.h"
#include <stdatomic.h>
#include <sys/mman.h>

/* exit: A task that calls exit, _exit or quick_exit ends the process at once, from the caller's
 * thread and from another; the handlers run once.
 * ctest: static
 * ctest: matrix with=threads deque=mutex idle=park,spin threads=4 */
static void handler(void)
{
    check_say("<handler>");
}

static void quick_handler(void)
{
    check_say("<quick>");
}

static void exit_body(void *deed)
{
    atexit(handler);
    at_quick_exit(quick_handler);
    sched_init(4, 4, seek_place, deed);
    check_say("sched_init came back");
}

CASE(exit)
{
    for (int round = 0; round < 3; round++)
        for (int caller = 0; caller < 2; caller++)
            for (way = 0; way < WAYS_OUT; way++) {
                struct deed deed = {leave, caller, NULL};
                in_child(exit_body, &deed);
                CHECK_CHILD_EXITED(40 + way);
                CHECK_EQ(count_said("<handler>"), way == 0);
                CHECK_EQ(count_said("<quick>"), way == 2);
                CHECK_EQ(count_said("came back"), 0);
            }
}

/* exit_cancelled: A thread with a pending cancellation calls exit while threads rest: the process
 * ends.
 * ctest: static
 * ctest: matrix kind=steal,lifo,cont deque=mutex,split idle=park threads=4 */
static void exit_cancelled_leaf(void *closure, struct scheduler *s)
{
    pause_us(500);
}

static void exit_cancelled_root(void *closure, struct scheduler *s)
{
    CHECK_TIMES(10, sched_spawn(exit_cancelled_leaf, NULL, s));
}

static void *leaver(void *arg)
{
    CHECK_EQ(sched_init(4, 4, exit_cancelled_root, NULL), 0);
    pthread_cancel(pthread_self());
    exit(7);
}

static void exit_cancelled_body(void *arg)
{
    run_thread(leaver, NULL);
    _exit(1); /* exit was cancelled */
}

CASE(exit_cancelled)
{
    in_child(exit_cancelled_body, NULL);
    CHECK_CHILD_EXITED(7);
}

/* exit_lock: The caller of exit may hold an object that the destructor of a thread-local variable
 * waits for: the process ends all the same, though threads with such variables rest. After the
 * library's handler of exit they do not end, however long the other handlers take, so no destructor
 * runs beside those; a run in such a handler leaves none either.
 * ctest: static
 * ctest: matrix kind=lifo,steal,cont idle=park deque=mutex,split threads=2,4 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static atomic_int destroyed, exiting;

/* The threads' time must not be up before the library's handler of exit. */
enum { WARM_MS = 100, ATTEMPTS = 20 };
static double began, reached;

static void destroy(void *value)
{
    pthread_mutex_lock(&lock);
    atomic_fetch_add(&destroyed, 1);
    pthread_mutex_unlock(&lock);
    if (exiting)
        check_say("<destroyed>");
}

static void set_key(struct party *party, int i)
{
    if (thread_id() != (int)getpid())
        CHECK_EQ(pthread_setspecific(key, party), 0);
}

static void exit_lock_run(void)
{
    struct party party = {.guests = threads_of(4), .look = set_key};
    give_party(&party);
}

/* Called after the library's handler. */
static void late(void)
{
    if (reached == 0)
        reached = now();
    exiting = 1;
    pause_us(2500 * WARM_MS); /* the threads' time would be up */
    check_say(reached - began < 0.8e-3 * WARM_MS ? "<late>" : "<too late>");
}

static void late_run(void)
{
    reached = now();
    exit_lock_run();
}

static void holds(void *runs_late)
{
    alarm(20); /* a deadlock ends the child */
    CHECK_EQ(pthread_key_create(&key, destroy), 0);
    setenv("SCHED_WARM", "1min", 1);
    if (runs_late)
        atexit(late_run);
    exit_lock_run();
    CHECK_EQ(pthread_mutex_lock(&lock), 0);
    exit(7);
}

static void lasts(void *runs_late)
{
    alarm(20);
    CHECK_EQ(pthread_key_create(&key, destroy), 0);
    atexit(late);
    if (runs_late)
        atexit(late_run);
    setenv("SCHED_WARM", "100ms", 1);
    began = now();
    exit_lock_run();
    exit(7);
}

/* A thread that waits in a destructor keeps no other from a run, and no exit. */
static void exit_lock_waits(void *arg)
{
    alarm(20);
    CHECK_EQ(pthread_key_create(&key, destroy), 0);
    setenv("SCHED_WARM", "1ms", 1);
    CHECK_EQ(pthread_mutex_lock(&lock), 0);
    for (int i = 0; i < 5; i++) {
        exit_lock_run();
        pause_us(3000);
    }
    exit(7);
}

CASE(exit_lock)
{
    static int yes;
    void (*bodies[])(void *) = {holds, lasts, exit_lock_waits};
    for (int i = 0; i < 6; i++) {
        int attempt = 1;
        do
            in_child(bodies[i % 3], i / 3 ? &yes : NULL);
        while (strstr(child.said, "<too late>") != NULL && attempt++ < ATTEMPTS);
        CHECK(!WIFSIGNALED(child.status)); /* SIGALRM: it hung */
        CHECK_CHILD_EXITED(7);
        CHECK(strstr(child.said, "<destroyed>") == NULL);
        if (i % 3 == 1)
            CHECK_CHILD_SAID("<late>");
    }
}

/* cancelled: A request to cancel the thread that is inside sched_init waits, if no task has a
 * cancellation point, until sched_init has returned: all tasks have run and the workers are gone.
 * Later runs work, with statistics, too.
 * ctest: sleeps
 * ctest: matrix deque=mutex,split,chaselev,sem idle=park,nap threads=1,4
 * ctest: matrix deque=mutex,split,chaselev idle=park threads=1,4 env=SCHED_STATS=1 */
enum { CANCELLED_ROUNDS = 10, TASKS = 40, STACK = 1 << 20 };

static atomic_int started, requested, cancelled_ran, result;

static void cancelled_leaf(void *closure, struct scheduler *s)
{
    for (double end = now() + 20e-6; now() < end;)
        ;
    cancelled_ran++;
}

/* Everything that the run still has to do comes after the request. */
static void cancelled_root(void *closure, struct scheduler *s)
{
    unsigned turns = 0;
    started = 1;
    while (!requested)
        spin(&turns);
    for (double end = now() + 1e-3; now() < end;) /* the others have gone to sleep */
        ;
    CHECK_TIMES(TASKS, sched_spawn(cancelled_leaf, closure, s));
}

static void *caller(void *arg)
{
    result = sched_init(4, 4, cancelled_root, arg);
    pthread_testcancel();
    check_say("the request was lost\n");
    return NULL;
}

CASE(cancelled)
{
    for (int round = 0; round < CANCELLED_ROUNDS; round++) {
        pthread_attr_t attr;
        pthread_t thread;
        const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
        void *end, *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, flags, -1, 0);
        CHECK(stack != MAP_FAILED);
        started = requested = cancelled_ran = 0;
        result = -2;
        pthread_attr_init(&attr);
        CHECK_EQ(pthread_attr_setstack(&attr, stack, STACK), 0);
        CHECK_EQ(pthread_create(&thread, &attr, caller, NULL), 0);
        while (!started)
            pause_us(50);
        CHECK_EQ(pthread_cancel(thread), 0);
        requested = 1;
        CHECK_EQ(pthread_join(thread, &end), 0);
        CHECK(end == PTHREAD_CANCELED);
        CHECK_EQ(result, 0);
        CHECK_EQ(cancelled_ran, TASKS);
        CHECK_EQ(munmap(stack, STACK), 0); /* where the run's own variables were */
        CHECK(threads_become(1));
    }
}

/* cancel_spawn: A thread that is not a worker may call sched_spawn with a request to cancel it
 * pending: the task is accepted and run, and the run ends.
 * ctest: matrix deque=mutex,split,chaselev,sem idle=park,nap threads=1,4 */
enum { CANCEL_SPAWN_ROUNDS = 5 };

static struct scheduler *_Atomic cancel_spawn_run;
static atomic_int cancel_spawn_ran, spawned, gone;

COUNTING_TASK(task, cancel_spawn_ran)

static void *stranger(void *arg)
{
    while (!cancel_spawn_run)
        sched_yield(); /* no cancellation point */
    CHECK_EQ(pthread_cancel(pthread_self()), 0);
    CHECK_EQ(sched_spawn(task, arg, cancel_spawn_run), 0);
    spawned++;
    pthread_testcancel();
    check_say("the request was lost\n");
    return NULL;
}

static void cancel_spawn_root(void *closure, struct scheduler *s)
{
    cancel_spawn_run = s;
    while (!gone)
        pause_us(50);
}

static void *other(void *arg)
{
    void *end;
    pthread_t thread = begin_thread(stranger, arg);
    CHECK_EQ(pthread_join(thread, &end), 0);
    CHECK(end == PTHREAD_CANCELED);
    gone = 1;
    return arg;
}

CASE(cancel_spawn)
{
    for (int round = 1; round <= CANCEL_SPAWN_ROUNDS; round++) {
        cancel_spawn_run = NULL;
        gone = 0;
        pthread_t thread = begin_thread(other, NULL);
        CHECK_EQ(sched_init(4, 4, cancel_spawn_root, NULL), 0);
        CHECK_EQ(spawned, round);
        CHECK_EQ(cancel_spawn_ran, round);
        pthread_join(thread, NULL);
    }
}

/* thread_detaches: A task that detaches its thread, one that the library made: threads that are
 * kept do not mind; with SCHED_WARM=0 it aborts the process with a message, since nobody can wait
 * for that thread.
 * ctest: static
 * ctest: matrix deque=mutex,split,chaselev with=threads idle=park,nap threads=2,4 */
static void detach(struct scheduler *s)
{
    int error = pthread_detach(pthread_self());
    CHECK(error == 0 || error == EINVAL); /* detached already */
}

static void kept(void *deed)
{
    for (int i = 0; i < 3; i++) {
        *((struct deed *)deed)->done = 0;
        CHECK_EQ(sched_init(4, 4, seek_place, deed), 0);
    }
    exit(0);
}

static void thread_detaches_body(void *deed)
{
    setenv("SCHED_WARM", "0", 1);
    sched_init(4, 4, seek_place, deed);
    check_say("sched_init came back");
}

CASE(thread_detaches)
{
    static volatile int done;
    struct deed detaches = {detach, 0, &done};
    CHECK_IN_CHILD(kept, &detaches);
    in_child(thread_detaches_body, &detaches);
    CHECK_CHILD_ABORTED("detach");
}

/* thread_ends: A task that ends its thread, by pthread_exit or because it is cancelled, aborts the
 * process with a message that says so, on the caller's thread and on another.
 * ctest: static
 * ctest: matrix deque=mutex idle=park threads=1,4 */
static void by_exit(struct scheduler *s)
{
    pthread_exit(NULL);
}

static void by_cancel(struct scheduler *s)
{
    pthread_cancel(pthread_self());
    for (;;)
        pthread_testcancel();
}

static void thread_ends_body(void *deed)
{
    sched_init(4, 4, seek_place, deed);
    check_say("sched_init came back");
}

CASE(thread_ends)
{
    for (int caller = threads_of(4) == 1; caller < 2; caller++) {
        struct deed exits = {by_exit, caller, NULL}, cancelled = {by_cancel, caller, NULL};
        in_child(thread_ends_body, &exits);
        CHECK_CHILD_ABORTED("pthread_exit");
        in_child(thread_ends_body, &cancelled);
        CHECK_CHILD_ABORTED("cancel");
    }
}

/* suspend_leave: A task that has waited, and continues in another thread perhaps, ends the process
 * like any other task: by exit, _exit, quick_exit, and fork with a run in the child. A message ends
 * the process if the task ends its thread, or returns in the child.
 * ctest: static debug
 * ctest: matrix deque=mutex,split,chaselev idle=park threads=1,2,4
 * ctest: matrix deque=mutex,split idle=park threads=1,4 join=help */
static void suspend_leave_waits(void *closure, struct scheduler *s)
{
    for (int i = 0; i < 100; i++)
        sched_task_yield(s);
}

static void get_ready(struct scheduler *s)
{
    CHECK_TIMES(10, sched_spawn(suspend_leave_waits, NULL, s));
    change_thread(s);
    sched_task_yield(s);
}

static void go_on(struct scheduler *s)
{
    sched_task_yield(s);
    change_thread(s);
}

static void try_parents(struct scheduler *s)
{
    CHECK_ERRNO(sched_spawn(suspend_leave_waits, NULL, s), EINVAL);
    sched_task_yield(s);
}

static void inner(void *closure, struct scheduler *s)
{
    change_thread(s);
    sched_task_yield(s);
    *(int *)closure = 1;
}

static void child_of(void *closure, struct scheduler *s)
{
    change_thread(s);
    if (fork() == 0)
        return; /* to a task that waits in the parent */
    _exit(0);
}

static void waits_for_child(void *closure, struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    CHECK_EQ(sched_group_spawn(&g, child_of, NULL, s), 0);
    sched_group_wait(&g, s);
    check_say("went on in the child\n");
}

CASE(suspend_leave)
{
    check_leaving(3);
    run_in_child(waits_for_child);
    CHECK_CHILD_SAID("returned in a child");
    CHECK(strstr(child.said, "went on in the child") == NULL);
}

/* ended: sched_init returns only when every task has ended, so that the caller may free the
 * closures and read the results at once.
 * ctest: matrix */
enum { CHAIN = 40, WIDTH = 3 };

struct work {
    long values[WIDTH][CHAIN];
};

struct link {
    struct work *work;
    int row, at;
};

static struct link links[WIDTH][CHAIN];

/* Each link spawns the next before its own, slow, end. */
static void link_task(void *closure, struct scheduler *s)
{
    struct link *link = closure;
    if (link->at + 1 < CHAIN) {
        struct link *next = &links[link->row][link->at + 1];
        *next = (struct link){link->work, link->row, link->at + 1};
        CHECK_EQ(sched_spawn(link_task, next, s), 0);
    }
    pause_us(20);
    link->work->values[link->row][link->at] = 1000 * link->row + link->at + 1;
}

static void ended_root(void *closure, struct scheduler *s)
{
    for (int row = 0; row < WIDTH; row++) {
        links[row][0] = (struct link){closure, row, 0};
        CHECK_EQ(sched_spawn(link_task, &links[row][0], s), 0);
    }
}

CASE(ended)
{
    struct work *work = calloc(1, sizeof *work);
    CHECK(work != NULL);
    CHECK_EQ(sched_init(4, 8, ended_root, work), 0);
    for (int row = 0; row < WIDTH; row++)
        for (int at = 0; at < CHAIN; at++)
            CHECK_EQ(work->values[row][at], 1000 * row + at + 1);
    memset(work, 0xff, sizeof *work);
    free(work);
}
