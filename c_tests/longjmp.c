/* longjmp to a setjmp of the same task, over suspension points, wherever the task goes on: its variables are there.
 * ctest: matrix */
#include "check.h"
#include <sched_tasks.h>
#include <setjmp.h>
#include <stdatomic.h>

enum { TASKS = 20, ROUNDS = 20 };

static atomic_int ended, children;

static void child(void *closure, struct scheduler *s)
{
    sched_task_yield(s);
    children++;
}

__attribute__((noinline)) static void inner(jmp_buf again, struct scheduler *s)
{
    sched_task t;
    CHECK_EQ(sched_spawn(child, NULL, s), 0);
    sched_fork(&t, child, NULL, s);
    sched_task_yield(s);
    sched_join(&t, s);
    longjmp(again, 1);
}

__attribute__((noinline)) static void middle(jmp_buf again, struct scheduler *s)
{
    volatile char room[200] = {1};
    inner(again, s);
    room[0]++;
}

static void jumps(void *closure, struct scheduler *s)
{
    jmp_buf again;
    volatile int rounds = 0;
    volatile long mine = (long)closure;
    (void)setjmp(again);
    CHECK_EQ(mine, (long)closure);
    if (rounds++ < ROUNDS)
        middle(again, s);
    CHECK_EQ(rounds, ROUNDS + 1);
    ended++;
}

static void root(void *closure, struct scheduler *s)
{
    for (long i = 0; i < TASKS; i++)
        CHECK_EQ(sched_spawn(jumps, (void *)i, s), 0);
}

int main(void)
{
    CHECK_EQ(sched_init(4, 10, root, NULL), 0);
    CHECK_EQ(ended, TASKS);
    CHECK_EQ(children, 2 * TASKS * ROUNDS);
    return 0;
}
