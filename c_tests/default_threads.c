/* sched_default_threads() follows the affinity mask: 1 on one processor, never more than
 * the mask; 0, -1 and auto in a run follow it, too.
 * ctest: static
 * ctest: matrix deque=mutex,split,chaselev idle=park threads=1 */
#include "child.h"
#include "crowd.h"

static void body(void *arg)
{
    cpu_set_t all, one;
    unsetenv("SCHED_THREADS");
    CHECK_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    int before = sched_default_threads();
    CHECK(before >= 1 && before <= CPU_COUNT(&all));

    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &all))
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        CHECK_EQ(sched_setaffinity(0, sizeof one, &one), 0);
        CHECK_EQ(sched_default_threads(), 1);
    }
    check_crowd(0, 1);
    check_crowd(-1, 1);
    setenv("SCHED_THREADS", "auto", 1);
    check_crowd(6, 1);
    unsetenv("SCHED_THREADS");

    CHECK_EQ(sched_setaffinity(0, sizeof all, &all), 0);
    CHECK_EQ(sched_default_threads(), before);
    check_crowd(0, kind_is("serial") ? 1 : before);
}

int main(void)
{
    in_child(body, NULL);
    CHECK_CHILD_EXITED(0);
    return 0;
}
