/* SCHED_GROUP_INIT initializes all of a group, in each place where C allows an initializer. */
#include "check.h"
#include <sched_tasks.h>
#pragma GCC diagnostic error "-Wmissing-field-initializers"
#pragma GCC diagnostic error "-Wmissing-braces"

struct holder {
    int before;
    sched_group group;
    int after;
};

static sched_group of_file = SCHED_GROUP_INIT;
static struct holder held = {1, SCHED_GROUP_INIT, 2};
static sched_group many[2] = {SCHED_GROUP_INIT, SCHED_GROUP_INIT};

static int is_empty(const sched_group *g)
{
    static const sched_group zero;
    return memcmp(g, &zero, sizeof zero) == 0;
}

int main(void)
{
    sched_group local = SCHED_GROUP_INIT;
    sched_group assigned;
    assigned = (sched_group)SCHED_GROUP_INIT;
    CHECK(is_empty(&of_file) && is_empty(&held.group) && is_empty(&many[0]) && is_empty(&many[1]));
    CHECK(is_empty(&local) && is_empty(&assigned));
    CHECK_EQ(held.before + held.after, 3);
    return 0;
}
