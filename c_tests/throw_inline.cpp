/* sched_inline.h, compiled into a C++ program: the rule of throw_through.cpp holds for what it compiles there, too.
 * ctest: static debug
 * ctest: matrix deque=mutex,split idle=park threads=1,4 */
#include "child.h"
#include <sched_inline.h>
#include <stdexcept>

static void task(void *, struct scheduler *)
{
    throw std::runtime_error("thrown by a task");
}

static void root(void *, struct scheduler *s)
{
    try {
        sched_task t;
        sched_fork(&t, task, nullptr, s);
        sched_join(&t, s);
    } catch (...) {
        check_say("caught by the task\n");
        _exit(3);
    }
}

static void body(void *)
{
    sched_init(4, 16, root, nullptr);
}

int main()
{
    in_child(body, nullptr);
    CHECK_CHILD_ABORTED("libsched: an exception left a task of sched_fork;");
    return 0;
}
