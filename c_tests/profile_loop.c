/* SCHED_PROFILE counts what a loop's iterations wait for as part of the function that calls sched_for, beside what that
 * function has done before the loop: no part of the longest path is told of the function that the iterations fork.
 * ctest: matrix few deque=split,mutex idle=park threads=1,2 timeout=60 */
#include "child.h"
#include "stats_line.h"
#include <sched_tasks.h>

enum { UNITS = 16, UNIT_US = 500, BEFORE_US = 4000 };

static void compute(int us)
{
    double t0 = now();
    while (now() - t0 < 1e-6 * us)
        ;
}

void part(void *closure, struct scheduler *s)
{
    compute(UNIT_US);
}

static void unit(size_t from, size_t to, void *closure, struct scheduler *s)
{
    for (; from < to; from++) {
        sched_task task;
        sched_fork(&task, part, closure, s);
        sched_join(&task, s);
    }
}

void first_task(void *closure, struct scheduler *s)
{
    compute(BEFORE_US);
    CHECK_EQ(sched_for(0, UNITS, 1, unit, closure, s), 0);
}

static void run(void *format)
{
    setenv("SCHED_PROFILE", format, 1);
    CHECK_EQ(sched_init(2, 16, first_task, NULL), 0);
}

int main(void)
{
    CHECK_IN_CHILD(run, "json");
    const char *path = strstr(child.said, "\"path\":[{\"name\":\"first_task\",");
    CHECK(path != NULL);
    CHECK(stat_number(path, "ns") >= 1000L * (BEFORE_US + UNIT_US));
    CHECK(strstr(path, "{\"name\":\"part\"") == NULL);
    return 0;
}
