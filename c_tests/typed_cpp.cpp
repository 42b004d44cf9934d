/* sched_typed.h in C++: objects with constructors are arguments and results, and an exception must not leave a task.
 * ctest: static debug
 * ctest: matrix deque=mutex,split idle=park threads=1,4 */
#include "child.h"
#include <sched_typed.h>
#include <stdexcept>
#include <string>

struct range {
    unsigned from, to;
};

SCHED_TASK(std::string, digits, range, r)
{
    if (r.to - r.from == 1)
        return std::to_string(r.from);
    unsigned middle = r.from + (r.to - r.from) / 2;
    digits_task a;
    SCHED_FORK(digits, &a, range{r.from, middle});
    std::string back = SCHED_CALL(digits, range{middle, r.to});
    return SCHED_JOIN(digits, &a) + back;
}

static void fail()
{
    throw std::runtime_error("thrown by a task");
}

SCHED_VOID_TASK(throws, unsigned, depth)
{
    if (depth == 0)
        fail();
    throws_task a;
    SCHED_FORK(throws, &a, depth - 1);
    SCHED_JOIN(throws, &a);
}

static void root(void *throwing, struct scheduler *s)
{
    try {
        if (throwing)
            throws(3, s);
        std::string text = digits({0, 1000}, s), expected;
        for (int i = 0; i < 1000; i++)
            expected += std::to_string(i);
        CHECK(text == expected);
    } catch (...) {
        check_say("caught by the task\n");
        _exit(3);
    }
}

static void body(void *throwing)
{
    sched_init(4, 16, root, throwing);
}

int main()
{
    static char throwing;
    body(nullptr);
    in_child(body, &throwing);
    CHECK_CHILD_ABORTED("terminat"); /* as std::terminate says it */
    return 0;
}
