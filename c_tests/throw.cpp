/* A C++ exception that leaves a task aborts the process with a message, even when the
 * caller of sched_init would catch it. One that is caught inside a task is the task's own.
 * ctest: static
 * ctest: matrix deque=mutex,split idle=park threads=1,4 */
#include "child.h"
#include "where.h"
#include <stdexcept>

static void throws(struct scheduler *)
{
    throw std::runtime_error("thrown by a task");
}

static void body(void *deed)
{
    try {
        sched_init(4, 4, seek_place, deed);
    } catch (...) {
        check_say("caught by the caller\n");
        _exit(3);
    }
    check_say("sched_init came back\n");
}

static int caught;

static void inside(void *, struct scheduler *)
{
    try {
        throw 5;
    } catch (int five) {
        __atomic_fetch_add(&caught, five, __ATOMIC_SEQ_CST);
    }
}

static void root(void *, struct scheduler *s)
{
    for (int i = 0; i < 20; i++)
        CHECK_EQ(sched_spawn(inside, nullptr, s), 0);
}

int main()
{
    CHECK_EQ(sched_init(4, 4, root, nullptr), 0);
    CHECK_EQ(caught, 100);
    for (int caller = threads_of(4) == 1; caller < 2; caller++) {
        struct deed deed = {throws, caller, nullptr};
        in_child(body, &deed);
        CHECK_CHILD_ABORTED("exception");
    }
    return 0;
}
