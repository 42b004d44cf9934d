/* Free stacks are a forked child's, too: ten generations of processes, each of which has runs with many waiting tasks and
 * then forks, take no more address space than two; likewise if each forks beside a pool with such runs, or in a task.
 * ctest: matrix kind=steal,lifo,cont deque=mutex,split idle=park threads=1,4 */
#include "child.h"
#include "pool.h"
#include "proc.h"
#include <stdatomic.h>

enum { WAITING = 120, GENERATIONS = 10, BESIDE = 1, IN_TASK = 2 };

static atomic_int arrived;
static struct sched_pool *pool;

static void waits(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&arrived, 1);
    while (arrived < WAITING)
        sched_task_yield(s);
}

static void root(void *closure, struct scheduler *s)
{
    for (int i = 0; i < WAITING; i++)
        CHECK_EQ(sched_spawn(waits, closure, s), 0);
}

static void generation(int left, int how, long first);

static void fork_child(int left, int how, long first)
{
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(30);
        generation(left - 1, how, first);
        _exit(7);
    }
    CHECK_EQ(wait_for(pid), 7 << 8);
}

struct next {
    int left, how;
    long first;
};

static void fork_in_task(void *closure, struct scheduler *s)
{
    struct next *next = closure;
    fork_child(next->left, next->how, next->first);
}

static void generation(int left, int how, long first)
{
    arrived = 0;
    if (how == BESIDE) {
        pool = pool_of(4);
        CHECK_EQ(sched_pool_run(pool, root, NULL), 0);
    } else {
        CHECK_EQ(sched_init(4, 4, root, NULL), 0);
    }
    CHECK_EQ(arrived, WAITING);
    long size = status_kb("VmSize");
    if (left == GENERATIONS - 1)
        first = size;
    /* For each generation half of what a run takes: threads of the parents leave stacks behind, and tasks that fork. */
    long more = 8L * 1024 * WAITING / 2 * (GENERATIONS - 1 - left);
    if (first && size > first + more)
        CHECK_EQ(size, first + more);
    struct next next = {left, how, first};
    if (left > 0 && how == IN_TASK)
        CHECK_EQ(sched_init(1, 4, fork_in_task, &next), 0);
    else if (left > 0)
        fork_child(left, how, first);
    if (how == BESIDE)
        CHECK_EQ(sched_pool_destroy(pool), 0);
}

static void body(void *how)
{
    one_heap();
    setenv("SCHED_STACK", "8M", 1);
    generation(GENERATIONS, *(int *)how, 0);
}

int main(void)
{
    for (int how = 0; how <= IN_TASK; how++) {
        in_child(body, &how);
        CHECK_CHILD_EXITED(0);
    }
    return 0;
}
