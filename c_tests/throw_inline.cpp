/* sched_inline.h, compiled into a C++ program: the rule of throw_through.cpp holds for what it compiles there, too.
 * ctest: static debug
 * ctest: matrix deque=mutex,split idle=park threads=1,4 */
#include "child.h"
#include <sched_inline.h>
#include "retaken.h"

static void task(void *, struct scheduler *)
{
    throw std::runtime_error("thrown by a task");
}

static void join(struct scheduler *s)
{
    sched_task t;
    sched_fork(&t, task, nullptr, s);
    sched_join(&t, s);
}

static void root(void *retaken, struct scheduler *s)
{
    try {
        retaken ? join_retaken(s) : join(s);
    } catch (...) {
        check_say("caught by the task\n");
        _exit(3);
    }
}

static void body(void *retaken)
{
    sched_init(4, 16, root, retaken);
}

int main()
{
    static char retaken;
    for (thrower = -1; thrower < FORKS; thrower++) {
        in_child(body, thrower >= 0 ? &retaken : nullptr);
        CHECK_CHILD_ABORTED("libsched: an exception left a task of sched_fork;");
    }
    return 0;
}
