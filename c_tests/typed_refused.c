/* sched_typed.h: where the default pool cannot be made, a call with NULL and all that it forks run in the caller.
 * ctest: static debug */
#include "child.h"
#include "typed_fib.h"

SCHED_TASK(int, has_self, int, unused)
{
    return SCHED_SELF != NULL;
}

static void refused(void *arg)
{
    setenv("SCHED_KIND", "wrong", 1);
    CHECK_EQ(fib(15, NULL), 610);
    CHECK(!has_self(0, NULL));
    unsetenv("SCHED_KIND");
    CHECK_EQ(fib(15, NULL), 610);
    CHECK(has_self(0, NULL));
}

int main(void)
{
    in_child(refused, NULL);
    CHECK_CHILD_PASSED();
    return 0;
}
