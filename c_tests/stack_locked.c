/* Where the process has locked what it will map, a stack takes the memory that is touched, as elsewhere, and tasks that wait
 * do not come near to the memory's limit.
 * ctest: static
 * ctest: env=SCHED_STACK=1M
 * ctest: env=SCHED_STACK=1M env=SCHED_KIND=cont */
#include "proc.h"
#include <sched_tasks.h>
#include <sys/mman.h>

enum { TASKS = 200 };

static sched_sem gate = SCHED_SEM_INIT(0);
static int waiting, passed;
static long taken;

static void waits(void *closure, struct scheduler *s)
{
    waiting++;
    CHECK_EQ(sched_sem_wait(&gate, s), 0);
    passed++;
}

/* One worker: no thread of the C library's, whose stack is resident as a whole. */
static void root(void *before, struct scheduler *s)
{
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(sched_spawn(waits, NULL, s), 0);
    while (waiting < TASKS)
        sched_task_yield(s);
    taken = status_kb("VmRSS") - *(long *)before;
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(sched_sem_post(&gate), 0);
}

int main(void)
{
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        skip("memory cannot be locked here");
    void *much = mmap(NULL, (size_t)1 << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (much == MAP_FAILED)
        skip("this user may lock little memory");
    munmap(much, (size_t)1 << 30);
    for (int run = 0; run < 2; run++) {
        long before = status_kb("VmRSS");
        waiting = passed = 0;
        CHECK_EQ(sched_init(1, 0, root, &before), 0);
        CHECK_EQ(passed, TASKS);
        if (taken > 40 * 1024) {
            printf("%d stacks took %ld KiB\n", TASKS, taken);
            return 1;
        }
    }
    return 0;
}
