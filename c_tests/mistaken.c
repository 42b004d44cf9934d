/* mistaken: mistakes that end the process with a message. */
#include "case.h"
#include "child.h"
#include "leave.h"
#include "where.h"
#include "forgotten.h"
#include <sched_tasks.h>
#include <stdatomic.h>

/* fatal: A process ends as it does without the library, by exit, _exit, quick_exit, abort, a fault
 * or a deadly signal: in a task, on the thread of the run's caller or another one, and in a thread
 * that is not a worker, while workers compute, yield, wait and sleep. Nothing hangs, and the
 * library says nothing.
 * ctest: static
 * ctest: matrix idle=park threads=4 timeout=60
 * ctest: matrix kind=steal,fifo deque=split,mutex idle=spin threads=2 timeout=60 */
enum { WAITING = 20 };

static volatile int nowhere_is_read;

static void by_exit(void) { exit(40); }
static void by_underscore(void) { _exit(40); }
static void by_quick_exit(void) { quick_exit(40); }
static void by_null(void) { nowhere_is_read = **(int *volatile *)&(int *){NULL}; }
static void by_trap(void) { __builtin_trap(); }
static void by_term(void) { kill(getpid(), SIGTERM); }
static void by_kill(void) { kill(getpid(), SIGKILL); }
static void by_own_signal(void) { pthread_kill(pthread_self(), SIGBUS); }

static const struct ending {
    void (*act)(void);
    int status; /* as of waitpid */
} endings[] = {
    {by_exit, 40 << 8}, {by_underscore, 40 << 8}, {by_quick_exit, 40 << 8}, {abort, SIGABRT}, {by_null, SIGSEGV},
    {by_trap, SIGILL}, {by_term, SIGTERM}, {by_kill, SIGKILL}, {by_own_signal, SIGBUS},
};

static const struct ending *ending;
static int waiting, computing;
static sched_sem never = SCHED_SEM_INIT(0);

static void end_process(struct scheduler *s)
{
    ending->act();
    for (;;) /* a signal to the process may take a moment */
        pause_us(1000);
}

static void wait_in_vain(void *closure, struct scheduler *s)
{
    __atomic_add_fetch(&waiting, 1, __ATOMIC_SEQ_CST);
    CHECK_EQ(sched_sem_wait(&never, s), 0);
}

static void keep_busy(struct scheduler *s)
{
    CHECK_TIMES(WAITING, sched_spawn(wait_in_vain, NULL, s));
}

/* Ends the process in a task of that thread. */
static void in_task(void *deed, struct scheduler *s)
{
    keep_busy(s);
    seek_place(deed, s);
}

/* Ends it in a thread beside the run, one of whose tasks gives way for ever. */
static void *end_from_outside(void *arg)
{
    while (__atomic_load_n(&computing, __ATOMIC_SEQ_CST) == 0)
        pause_us(100);
    end_process(NULL);
    return arg;
}

static void beside_thread(void *unused, struct scheduler *s)
{
    keep_busy(s);
    begin_thread(end_from_outside, NULL);
    if (threads_of(4) > 1)
        CHECK_EQ(sched_spawn(compute, &computing, s), 0);
    else
        computing = 1;
    for (;;)
        sched_task_yield(s);
}

static void body(void *place)
{
    struct deed deed = {end_process, strcmp(place, "caller") == 0, NULL};
    alarm(30);
    if (strcmp(place, "outside") == 0)
        sched_init(4, 64, beside_thread, NULL);
    else
        sched_init(4, 64, in_task, &deed);
    check_say("sched_init came back");
}

CASE(fatal)
{
    static const char *const places[] = {"caller", "other", "outside"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        for (int place = 0; place < 3; place++) {
            if (place == 1 && threads_of(4) == 1)
                continue;
            ending = &endings[i];
            in_child(body, (void *)(uintptr_t)places[place]);
            check_child(__FILE__, __LINE__, (child.status & ~0x80) == ending->status && child.said[0] == 0,
                        "end so, in silence");
        }
}

/* forgotten: A task that has returned and did not join what it forked, in frames as small as a
 * compiler makes them: with one worker the process ends with a message.
 * ctest: static
 * ctest: matrix idle=park threads=1 */
CASE(forgotten)
{
    check_forgotten();
}

/* mistakes: A mistake ends the process with a message that says what happened, and in which
 * function of the program.
 * ctest: static debug
 * ctest: matrix few idle=park threads=1,4 join=suspend */
static atomic_int guests, began, mistakes_leave;
static sched_group g = SCHED_GROUP_INIT;
static sched_mutex m = SCHED_MUTEX_INIT;
static sched_cond c = SCHED_COND_INIT;
static atomic_int calls; /* so that no call is the last of its function */

static void guest(void *closure, struct scheduler *s)
{
    nothing(closure, s);
    atomic_fetch_add(&guests, 1);
    for (;;)
        pause_us(1000);
}

/* Keeps all other workers busy. */
static void invite(struct scheduler *s)
{
    int others = threads_of(4) - 1;
    CHECK_TIMES(others, sched_spawn(guest, NULL, s));
    while (guests < others)
        pause_us(50);
}

/* --- descriptors ------------------------------------------------------------ */

static void joins_twice(void *closure, struct scheduler *s)
{
    sched_task t;
    sched_fork(&t, nothing, closure, s);
    sched_join(&t, s);
    sched_join(&t, s);
    calls++;
}

static void begins(void *closure, struct scheduler *s)
{
    nothing(closure, s);
    began = 1;
}

/* The task was another worker's. */
static void joins_twice_late(void *closure, struct scheduler *s)
{
    sched_task t;
    sched_fork(&t, begins, closure, s);
    while (!began)
        pause_us(50);
    sched_join(&t, s);
    sched_join(&t, s);
    calls++;
}

/* One descriptor for all. */
static void forks_twice(void *closure, struct scheduler *s)
{
    sched_task t;
    for (int i = 0; i < 2; i++)
        sched_fork(&t, nothing, closure, s);
    for (int i = 0; i < 2; i++)
        sched_join(&t, s);
    calls++;
}

static void never_forks(void *closure, struct scheduler *s)
{
    static sched_task t;
    nothing(closure, s);
    sched_join(&t, s);
    calls++;
}

static void copies(void *closure, struct scheduler *s)
{
    sched_task t, copy;
    sched_fork(&t, nothing, closure, s);
    copy = t;
    sched_join(&copy, s);
    calls++;
}

/* A child made by fork has none of the workers. */
static void joins_in_child(void *closure, struct scheduler *s)
{
    sched_task t;
    sched_fork(&t, nothing, closure, s);
    pid_t pid = fork();
    if (pid == 0)
        sched_join(&t, s);
    else
        wait_for(pid);
    calls++;
    abort();
}

static void mistakes_forgets(void *closure, struct scheduler *s)
{
    sched_task t;
    invite(s);
    sched_fork(&t, nothing, closure, s);
    calls++;
}

static void mistakes_waits(void *closure, struct scheduler *s)
{
    nothing(closure, s);
    began = 1;
    while (!mistakes_leave)
        pause_us(50);
}

__attribute__((noinline)) static void forgets_begun(struct scheduler *s)
{
    sched_task t;
    sched_fork(&t, mistakes_waits, NULL, s);
    while (!began)
        pause_us(50);
    calls++;
}

__attribute__((noinline)) static void scribble(void)
{
    volatile char frame[16384];
    for (size_t i = 0; i < sizeof frame; i++)
        frame[i] = 17;
}

/* The descriptor is overwritten while its task runs. */
static void overwrites(void *closure, struct scheduler *s)
{
    nothing(closure, s);
    forgets_begun(s);
    scribble();
    mistakes_leave = 1;
    for (;;)
        pause_us(1000);
}

/* --- groups, mutexes, pools ------------------------------------------------- */

static void waits_for_itself(void *closure, struct scheduler *s)
{
    nothing(closure, s);
    sched_group_wait(&g, s);
    calls++;
}

static void groups(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_group_spawn(&g, waits_for_itself, closure, s), 0);
    sched_group_wait(&g, s);
}

static void spawns(void *closure, struct scheduler *s)
{
    sched_group other;
    memset(&other, 0xaa, sizeof other);
    CHECK_EQ(sched_group_spawn(&other, nothing, closure, s), 0);
    calls++;
}

static void group_waits(void *closure, struct scheduler *s)
{
    sched_group other;
    nothing(closure, s);
    memset(&other, 0xaa, sizeof other);
    sched_group_wait(&other, s);
    calls++;
}

static void is_cancelled(void *closure, struct scheduler *s)
{
    sched_group other = SCHED_GROUP_INIT;
    nothing(closure, s);
    memset((char *)&other + sizeof other / 2, 0xaa, sizeof other / 2);
    sched_group_cancelled(&other);
    calls++;
}

/* The group is gone when its task ends. */
static void loses_group(int byte, struct scheduler *s)
{
    CHECK_EQ(sched_group_spawn(&g, mistakes_waits, NULL, s), 0);
    memset(&g, byte, sizeof g);
    mistakes_leave = 1;
}

static void zeroes_group(void *closure, struct scheduler *s)
{
    nothing(closure, s);
    loses_group(0, s);
}

static void overwrites_group(void *closure, struct scheduler *s)
{
    nothing(closure, s);
    loses_group(17, s);
}

static void locks_twice(void *closure, struct scheduler *s)
{
    nothing(closure, s);
    sched_mutex_lock(&m, s);
    sched_task_yield(s);
    sched_mutex_lock(&m, s);
    calls++;
}

static void unlocks(void *closure, struct scheduler *s)
{
    nothing(closure, s);
    sched_mutex_unlock(&m);
    calls++;
}

static void waits_unlocked(void *closure, struct scheduler *s)
{
    nothing(closure, s);
    sched_cond_wait(&c, &m, s);
    calls++;
}

static void holds_for(taskfunc other, struct scheduler *s)
{
    CHECK_EQ(sched_mutex_lock(&m, s), 0);
    CHECK_EQ(sched_group_spawn(&g, other, NULL, s), 0);
    sched_group_wait(&g, s);
}

static void another_unlocks(void *closure, struct scheduler *s)
{
    nothing(closure, s);
    holds_for(unlocks, s);
}

static void another_waits(void *closure, struct scheduler *s)
{
    nothing(closure, s);
    holds_for(waits_unlocked, s);
}

static void no_size(void *closure, struct scheduler *s)
{
    struct sched_options options = {.nthreads = 2};
    nothing(closure, s);
    set_errno(0);
    CHECK(sched_pool_create(&options) == NULL);
    CHECK_EQ(get_errno(), EINVAL);
    abort();
}

static void mistakes_run(void *root)
{
    alarm(20);
    sched_init(4, 10, *(taskfunc *)root, NULL);
}

CASE(mistakes)
{
    const struct {
        taskfunc root;
        const char *says, *where; /* NULL: nothing is said */
        int here;                 /* only so */
    } cases[] = {
        {joins_twice, "joined already", "(in joins_twice)", 1},
        {joins_twice_late, "joined already", "(in joins_twice_late)", threads_of(4) > 1},
        {forks_twice, "", "", 1} /* by any thread that comes to it */,
        {never_forks, "forked", "(in never_forks)", 1},
        {copies, "its descriptor was copied", ")", threads_of(4) == 1 && !spawn_calls()},
        {joins_in_child, "made this one by fork(2)", "(in joins_in_child)", threads_of(4) == 1 && !spawn_calls()},
        {mistakes_forgets, "did not join", "a sched_join is missing", !spawn_calls()},
        {overwrites, "was overwritten", "", threads_of(4) > 1},
        {groups, "sched_group_wait: a task of the group waits", "(in waits_for_itself)", 1},
        {spawns, "sched_group_spawn: the group was not initialised", "(in spawns)", 1},
        {group_waits, "sched_group_wait: the group was not initialised", "(in group_waits)", 1},
        {is_cancelled, "sched_group: the group was not initialised", "(in is_cancelled)", 1},
        {zeroes_group, "the memory of its group was used", "0x0;", !spawn_calls()},
        {overwrites_group, "was used for something else", "0x1111", !spawn_calls()},
        {locks_twice, "sched_mutex_lock: the caller", "(in locks_twice)", 1},
        {another_unlocks, "sched_mutex_unlock: another", "(in unlocks)", 1},
        {another_waits, "sched_cond_wait: another", "(in waits_unlocked)", 1},
        {no_size, "sched_pool_create: options.size is 0", "(in no_size)", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        taskfunc root = cases[i].root;
        if (!cases[i].here)
            continue;
        in_child(mistakes_run, &root);
        CHECK_CHILD_ABORTED("libsched: ");
        CHECK_CHILD_SAID(cases[i].says);
        CHECK_CHILD_SAID(cases[i].where);
    }
}
