/* From some allocation on each fails, for good: a run, or a pool, cannot be made, and says so, or it does its work; tasks that
 * give way and join go on, whatever queues would need. Nothing hangs, nothing aborts. (No task here waits for one that
 * may lie below it: where there is no memory for stacks, others run on top of one that waits.)
 * ctest: matrix idle=park,nap threads=1,4 timeout=60
 * ctest: matrix kind=steal,fifo idle=park threads=1,4 join=help timeout=60 */
#include "alloc.h"
#include "child.h"
#include "proc.h"
#include <sched_tasks.h>
#include <sys/mman.h>

enum { TASKS = 20, TURNS = 50, MOST = 400 };

static atomic_int done, roots;

static void child_task(void *closure, struct scheduler *s)
{
    sched_task_yield(s);
}

static void work(void *closure, struct scheduler *s)
{
    sched_task t;
    sched_fork(&t, child_task, closure, s);
    for (int i = 0; i < TURNS; i++)
        sched_task_yield(s);
    sched_join(&t, s);
    done++;
}

/* With `fail` set: from here on. */
static void root(void *fail, struct scheduler *s)
{
    int accepted = 0, before = done;
    sched_task t;
    for (int i = 0; i < TASKS; i++)
        accepted += sched_spawn(work, NULL, s) == 0;
    if (fail)
        left = 0;
    sched_fork(&t, child_task, NULL, s);
    for (int i = 0; i < TURNS; i++)
        sched_task_yield(s);
    sched_join(&t, s);
    while (done < before + accepted)
        sched_task_yield(s);
    roots++;
}

/* The stacks of a run before are there, as is the memory for the threads; nothing more is to be had. */
static void in_a_run(void *arg)
{
    int fail = 1;
    CHECK_EQ(sched_init(4, 4, root, NULL), 0);
    CHECK_EQ(sched_init(4, 4, root, &fail), 0);
    CHECK_EQ(roots, 2);
}

static void init(void *allocations)
{
    left = *(long *)allocations;
    errno = 0;
    int result = sched_init(4, 4, root, NULL);
    int error = errno, was = failed;
    left = LONG_MAX;
    if (result != 0)
        CHECK_EQ(error, ENOMEM);
    CHECK_EQ(roots, result == 0);
    _exit(was ? 0 : 4);
}

static void pool(void *allocations)
{
    left = *(long *)allocations;
    struct sched_pool *made = sched_pool_create(NULL);
    int error = errno;
    if (made != NULL) {
        int result = sched_pool_run(made, root, NULL);
        CHECK_EQ(roots, result == 0);
        CHECK_EQ(sched_pool_destroy(made), 0);
    } else
        CHECK(error == ENOMEM || error == EAGAIN);
    int was = failed;
    left = LONG_MAX;
    _exit(was ? 0 : 4);
}

/* Until nothing fails. */
static void each(void (*body)(void *))
{
    for (long n = 0; n < MOST; n += 1 + n / 20) {
        in_child(body, &n);
        if (WIFEXITED(child.status) && WEXITSTATUS(child.status) == 4)
            return;
        CHECK_CHILD_EXITED(0);
    }
}

int main(void)
{
    in_child(in_a_run, NULL);
    CHECK_CHILD_EXITED(0);
    each(init);
    each(pool);
    return 0;
}
