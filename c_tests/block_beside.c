/* A task whose section has ended continues although its workers have tasks of their own for ever: tasks that compute and
 * spawn themselves again.
 * ctest: matrix kind=lifo,fifo,steal threads=1,2 */
#include "block.h"

enum { COMPUTING = 4, ROUNDS = 20, MOST = 2000 };

static atomic_int stop, computed, at_the_end;

static void computes(void *closure, struct scheduler *s)
{
    for (volatile int i = 0; i < 5000; i++)
        continue;
    /* The section has ended long ago, and nobody has continued its task. */
    if (at_the_end)
        CHECK(atomic_fetch_add(&computed, 1) < MOST);
    if (!stop)
        CHECK_EQ(sched_spawn(computes, closure, s), 0);
}

/* Counts the tasks that run between the end of the section and the task's next step. The thread may lose its processor
 * before it has ended the section; so some rounds may count many. */
static void blocks(void *closure, struct scheduler *s)
{
    spawn_all(COMPUTING, computes, s);
    for (int i = 0; i < ROUNDS; i++) {
        begin(s);
        pause_us(300);
        computed = 0;
        at_the_end = 1;
        end(s);
        at_the_end = 0;
    }
    stop = 1;
}

int main(void)
{
    run(2, blocks);
    CHECK(stop);
    return 0;
}
