/* A process ends as it does without the library, by exit, _exit, quick_exit, abort, a fault or a deadly signal: in a
 * task, on the thread of the run's caller or another one, and in a thread that is no worker, while workers compute,
 * yield, wait and sleep. Nothing hangs, and the library says nothing.
 * ctest: static
 * ctest: matrix idle=park threads=4 timeout=60
 * ctest: matrix kind=steal,fifo deque=split,mutex idle=spin threads=2 timeout=60 */
#include "child.h"
#include "leave.h"
#include "where.h"
#include <sched_tasks.h>

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
    for (int i = 0; i < WAITING; i++)
        CHECK_EQ(sched_spawn(wait_in_vain, NULL, s), 0);
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
    pthread_t id;
    keep_busy(s);
    CHECK_EQ(pthread_create(&id, NULL, end_from_outside, NULL), 0);
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

int main(void)
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
    return 0;
}
