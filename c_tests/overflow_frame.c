/* A task whose frame is larger than its stack ends the process with the message for an overflow, if the frame ends in the
 * guard, whose size is 256 KB, or its pages are probed from above, as -fstack-clash-protection makes a compiler do.
 * ctest: static
 * ctest: matrix deque=split idle=park threads=1,4 */
#include "child.h"
#include <alloca.h>
#include <sched_tasks.h>

enum { OTHERS = 20, STACK = 16 << 20, PAGE = 4096 };

static sched_sem never;
static int others, probes;

static void waits(void *closure, struct scheduler *s)
{
    __atomic_add_fetch(&others, 1, __ATOMIC_RELAXED);
    sched_sem_wait(&never, s);
}

/* Writes to the lowest byte of a frame; first to each of its pages, if it probes them. */
static __attribute__((noinline)) void uses_frame(size_t size, struct scheduler *s)
{
    volatile char *frame = alloca(size);
    for (size_t at = size; probes && at >= PAGE; at -= PAGE)
        frame[at - PAGE] = 1;
    frame[0] = 1;
    sched_task_yield(s);
    frame[size - 1] = frame[0];
}

static void has_frame(void *size, struct scheduler *s)
{
    while (__atomic_load_n(&others, __ATOMIC_RELAXED) < OTHERS)
        sched_task_yield(s);
    uses_frame(*(size_t *)size, s);
    check_say("it went on\n");
    _exit(0);
}

static void root(void *size, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(has_frame, size, s), 0);
    for (int i = 0; i < OTHERS; i++)
        CHECK_EQ(sched_spawn(waits, NULL, s), 0);
    sched_sem_wait(&never, s);
}

static void run(void *size)
{
    sched_sem_init(&never, 0);
    setenv("SCHED_STACK", "16M", 1);
    sched_init(4, 64, root, size);
}

static void check(size_t size)
{
    others = 0;
    in_child(run, &size);
    CHECK_CHILD_SAID("overflowed its");
    check_child(__FILE__, __LINE__, WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGSEGV, "be killed");
}

int main(void)
{
    if (kind_is("serial"))
        skip("there tasks have the stack of the thread, whose size is not SCHED_STACK");
    for (size_t more = 64 << 10; more <= 192 << 10; more += 64 << 10)
        check(STACK + more);
    probes = 1;
    for (size_t size = STACK + (1 << 20); size <= 5 * STACK; size += STACK)
        check(size);
    return 0;
}
