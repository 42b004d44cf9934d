/* Sections in which nothing blocks: most end on the thread that began them, because no other thread has come by then.
 * (The threads have the policy SCHED_BATCH, so that one that is called does not take the caller's processor at once. One
 * of several attempts must show it: others use the machine, too.) If the task does block in a section after many such,
 * its worker gets another thread all the same, also if that thread was called long before. A child made by fork in a
 * section knows nothing of a thread that was on its way to the parent's worker.
 * ctest: static debug
 * ctest: matrix deque=mutex,split,ring threads=1,2,4
 * ctest: matrix deque=mutex,split idle=park threads=1,4 env=SCHED_JOIN=help
 * ctest: matrix deque=mutex,split idle=park threads=2 env=SCHED_WARM=0 */
#include "block.h"
#include <sys/wait.h>

enum { SECTIONS = 2000, TASKS = 40, RUNS = 80, ATTEMPTS = 40 };

static atomic_int flag, stayed, ended;

static void sets(void *closure, struct scheduler *s)
{
    flag = 1;
}

/* Where there is one worker, it needs another thread for the task that sets the flag. */
APART void waits(struct scheduler *s)
{
    flag = 0;
    CHECK_EQ(sched_spawn(sets, NULL, s), 0);
    begin(s);
    while (!flag && !kind_is("serial"))
        pause_us(20);
    end(s);
}

APART void section(long turns, struct scheduler *s)
{
    int here = thread_id();
    begin(s);
    for (volatile long i = 0; i < turns; i++)
        continue;
    end(s);
    stayed += thread_id() == here;
}

static void empty(void *closure, struct scheduler *s)
{
    for (int i = 0; i < 20; i++) {
        for (int n = 0; n < SECTIONS / 20; n++)
            section(0, s);
        waits(s);
    }
}

/* Of all lengths up to what a thread takes to come, beside each other. */
static void some(void *closure, struct scheduler *s)
{
    uint64_t x = (uintptr_t)closure + 1;
    for (int i = 0; i < 50; i++) {
        section((long)(next_random(&x) % 8 * next_random(&x) % 8 * 500), s);
        if (next_random(&x) % 4 == 0)
            sched_task_yield(s);
    }
    atomic_fetch_add(&ended, 1);
}

static void all(void *closure, struct scheduler *s)
{
    for (intptr_t i = 0; i < TASKS; i++)
        CHECK_EQ(sched_spawn(some, (void *)i, s), 0);
}

static void one(void *closure, struct scheduler *s)
{
    waits(s);
}

static void forks(void *closure, struct scheduler *s)
{
    for (int i = 0; i < 100; i++)
        section(0, s);
    begin(s); /* somebody is on the way, and not here yet */
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        for (int i = 0; i < RUNS; i++)
            CHECK_EQ(sched_init(1, 4, one, NULL), 0);
        _exit(0);
    }
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    end(s);
}

int main(void)
{
    struct sched_param none = {.sched_priority = 0};
    CHECK_EQ(sched_setscheduler(0, SCHED_BATCH, &none), 0);
    for (int i = 0; i < ATTEMPTS && stayed <= SECTIONS / 2; i++) {
        pause_us(i * 10000); /* what others do may be over then */
        stayed = 0;
        run(2, empty);
    }
    CHECK(stayed > SECTIONS / 2);
    run(2, all);
    CHECK_EQ(ended, TASKS);
    run(1, forks);
    return 0;
}
