/* Ways out of a blocking section: exit, _exit, quick_exit; fork with a run in the child, where the parent's s
 * is refused; pthread_exit and cancellation, which end the process with a message, as elsewhere; an
 * overflow of the stack says so.
 * ctest: static debug
 * ctest: matrix deque=mutex,split,chaselev idle=park threads=1,2,4
 * ctest: matrix deque=mutex,split idle=park threads=2 env=SCHED_WARM=0 */
#include "block.h"
#include "leaving.h"

static void busy(void *closure, struct scheduler *s)
{
    for (int i = 0; i < 20; i++) {
        sched_task_yield(s);
        block(10, s);
    }
}

static void get_ready(struct scheduler *s)
{
    spawn_all(5, busy, s);
    begin(s);
    pause_us(500);
}

static void go_on(struct scheduler *s)
{
    end(s);
}

static void try_parents(struct scheduler *s)
{
    CHECK_ERRNO(sched_block_end(s), EINVAL);
    CHECK_ERRNO(sched_block_begin(s), EINVAL);
}

static void inner(void *closure, struct scheduler *s)
{
    block(100, s);
    *(int *)closure = 1;
}

static __attribute__((noinline)) int deep(volatile char *above, long levels)
{
    volatile char room[4096];
    room[0] = *above;
    return levels == 0 ? 0 : deep(room, levels - 1) + room[0];
}

static void overflows(void *closure, struct scheduler *s)
{
    volatile char here = 0;
    get_ready(s);
    deep(&here, LONG_MAX);
}

int main(void)
{
    check_leaving(5);
    run_in_child(overflows);
    CHECK_CHILD_SAID("overflowed its stack");
    return 0;
}
