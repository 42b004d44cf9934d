/* SCHED_THREADS=N has N threads whatever the program asks, auto the default count, and
 * 0 or -1 in the program mean the default.
 * ctest: sleeps
 * ctest: matrix deque=mutex,split,chaselev idle=park threads=1 */
#include "child.h"
#include "crowd.h"

struct asks {
    const char *variable; /* NULL: unset */
    int nthreads;
    int wanted; /* 0: the default count */
};

static void try(void *arg)
{
    const struct asks *asks = arg;
    unsetenv("SCHED_THREADS");
    if (asks->variable)
        setenv("SCHED_THREADS", asks->variable, 1);
    int wanted = asks->wanted ? asks->wanted : sched_default_threads();
    check_crowd(asks->nthreads, kind_is("serial") ? 1 : wanted);
    CHECK(threads_become(1));
}

int main(void)
{
    static struct asks all[] = {
        {NULL, 3, 3},   {NULL, 1, 1},   {NULL, 0, 0},   {NULL, -1, 0},  {NULL, -7, 0}, {NULL, 16, 16},
        {"3", 1, 3},    {"3", 16, 3},   {"1", 16, 1},   {"5", 0, 5},    {"5", -1, 5},  {"auto", 7, 0},
        {"auto", 1, 0}, {"auto", 0, 0},
    };
    CHECK(sched_default_threads() >= 1);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        in_child(try, &all[i]);
        CHECK_CHILD_EXITED(0);
    }
    return 0;
}
