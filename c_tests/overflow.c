/* A task that overflows its stack ends the process with a message that tells the size and the variable, in the
 * loop's own stack and after it has waited. A SIGSEGV of another cause, or sent by somebody, ends the process
 * without it; a program's own handler has both.
 * ctest: static
 * ctest: matrix deque=mutex,split idle=park threads=1,4 */
#include "aside.h"
#include "child.h"

static int waits_first;
static volatile int depth;

static __attribute__((noinline)) int go_down(int more)
{
    volatile char room[512];
    room[0] = (char)more;
    depth++;
    return more == 0 ? room[0] : go_down(more - 1) + room[0];
}

static void overflows(void *closure, struct scheduler *s)
{
    if (waits_first) {
        change_thread(s);
        sched_task_yield(s);
    }
    *(int *)closure = go_down(INT_MAX);
}

static void faults(void *closure, struct scheduler *s)
{
    sched_task_yield(s);
    **(volatile int **)closure = 1;
}

static void sends(void *closure, struct scheduler *s)
{
    sched_task_yield(s);
    raise(SIGSEGV);
    check_say("it went on\n");
    _exit(0);
}

static void run_overflow(void *size)
{
    int result;
    if (size)
        setenv("SCHED_STACK", size, 1);
    sched_init(4, 4, overflows, &result);
}

static void run_fault(void *arg)
{
    int *nowhere = NULL;
    sched_init(2, 4, faults, &nowhere);
}

static void run_sent(void *arg)
{
    sched_init(2, 4, sends, arg);
}

/* Sent to a program whose runs have ended. */
static void sent_later(void *arg)
{
    int result = 0;
    CHECK_EQ(sched_init(1, 4, aside_other, &result), 0);
    raise(SIGSEGV);
    check_say("it went on\n");
    _exit(*(int *)arg);
}

static void own_handler(int signal)
{
    _exit(9);
}

static void run_handled(void *arg)
{
    struct sigaction own = {.sa_handler = own_handler};
    CHECK_EQ(sigaction(SIGSEGV, &own, NULL), 0);
    run_fault(arg);
}

static void bad_size(void *size)
{
    int begun = 0;
    setenv("SCHED_STACK", size, 1);
    CHECK_ERRNO(sched_init(2, 4, aside_other, &begun), EINVAL);
    CHECK(!begun);
}

#define CHECK_CHILD_SEGV()                                                                   \
    check_child(__FILE__, __LINE__,                                                          \
                WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGSEGV, "end by SIGSEGV")

int main(void)
{
    char *sizes[] = {"64K", "1M"}, *kib[] = {"KiB", "KiB"};
    char *bad[] = {"0", "-1", "x", "64X", " ", "1", "4K", "1.5M", "99999999999999999999", "17179869184G"};
    int zero = 0;
    for (waits_first = 0; waits_first < 2; waits_first++) {
        in_child(run_overflow, NULL);
        CHECK_CHILD_SEGV();
        CHECK_CHILD_SAID("overflow");
        CHECK_CHILD_SAID("SCHED_STACK");
        for (int i = 0; i < 2; i++) {
            in_child(run_overflow, sizes[i]);
            CHECK_CHILD_SEGV();
            CHECK_CHILD_SAID("SCHED_STACK");
            CHECK_CHILD_SAID(kib[i]);
        }
    }
    void (*others[])(void *) = {run_fault, run_sent, sent_later};
    for (int i = 0; i < 3; i++) {
        in_child(others[i], &zero);
        CHECK_CHILD_SEGV();
        CHECK(strstr(child.said, "overflow") == NULL && strstr(child.said, "went on") == NULL);
    }
    in_child(run_handled, NULL);
    CHECK_CHILD_EXITED(9);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        in_child(bad_size, bad[i]);
        CHECK_CHILD_EXITED(0);
        CHECK_CHILD_SAID("SCHED_STACK");
    }
    return 0;
}
