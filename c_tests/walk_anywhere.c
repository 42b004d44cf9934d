/* A handler of a signal may walk the stack from any instruction of the library, as a profiler's
 * does: here from every single one of those that a thread executes while its tasks spawn, fork,
 * join, yield, wait and continue, on their stacks and between them. (The processor's trap flag
 * raises SIGTRAP after each instruction.)
 * ctest: matrix deque=split,chaselev,mutex idle=park threads=1 timeout=120
 * ctest: matrix kind=steal,lifo deque=split,mutex idle=park threads=1 join=help timeout=120 */
#include "check.h"
#include <execinfo.h>
#include <sched_tasks.h>

#ifndef __x86_64__
int main(void)
{
    skip("this processor is not stepped here");
}
#else

enum { FRAMES = 40 };

static int walks, deepest, ran;
static sched_sem units = SCHED_SEM_INIT(0);
static sched_mutex mutex = SCHED_MUTEX_INIT;

static void on_step(int signal)
{
    void *frames[FRAMES];
    int before = errno, n = backtrace(frames, FRAMES);
    CHECK(n > 0);
    __atomic_add_fetch(&walks, 1, __ATOMIC_RELAXED);
    if (n > __atomic_load_n(&deepest, __ATOMIC_RELAXED))
        __atomic_store_n(&deepest, n, __ATOMIC_RELAXED);
    errno = before;
}

/* The trap flag of the thread. (128 bytes below the stack pointer may be in use.) */
static void step(void)
{
    __asm__ volatile("leaq -128(%%rsp), %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\tleaq 128(%%rsp), %%rsp" ::: "memory", "cc");
}

static void run_freely(void)
{
    __asm__ volatile("leaq -128(%%rsp), %%rsp\n\tpushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\tleaq 128(%%rsp), %%rsp" ::: "memory", "cc");
}

static void count(void *closure, struct scheduler *s)
{
    __atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
}

static void wait_for_unit(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_sem_wait(&units, s), 0);
    CHECK_EQ(sched_mutex_lock(&mutex, s), 0);
    sched_task_yield(s);
    CHECK_EQ(sched_mutex_unlock(&mutex), 0);
    count(closure, s);
}

static void use_all(struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    sched_task a, b;
    CHECK_EQ(sched_group_spawn(&g, wait_for_unit, NULL, s), 0);
    CHECK_EQ(sched_group_spawn(&g, wait_for_unit, NULL, s), 0);
    CHECK_EQ(sched_spawn(count, NULL, s), 0);
    sched_fork(&a, count, NULL, s);
    sched_fork(&b, wait_for_unit, NULL, s);
    sched_task_yield(s);
    CHECK_TIMES(3, sched_sem_post(&units));
    sched_join(&b, s);
    sched_join(&a, s);
    CHECK_EQ(sched_group_wait(&g, s), 0);
}

static void task(void *closure, struct scheduler *s)
{
    use_all(s); /* the first time takes long, and makes stacks */
    step();
    use_all(s);
    run_freely();
}

int main(void)
{
    void *frames[FRAMES];
    struct sigaction action = {.sa_handler = on_step};
    backtrace(frames, FRAMES); /* loads the libraries that it needs */
    CHECK_EQ(sigaction(SIGTRAP, &action, NULL), 0);
    CHECK_EQ(sched_init(1, 16, task, NULL), 0);
    CHECK_EQ(ran, 10);
    CHECK(walks > 1000 && deepest > 4);
    return 0;
}
#endif
