/* A value that is refused is named on stderr once in the life of the process, however often a run is begun: tasks by NULL
 * run at once where the default pool cannot be made, and each fork tries to make it. Another value is named anew.
 * ctest: static
 * ctest: */
#include "child.h"

#include <sched_tasks.h>

enum { TIMES = 100 };

static int ran;

static void count(void *closure, struct scheduler *s)
{
    CHECK(s == NULL);
    ran++;
}

static void never(void *closure, struct scheduler *s)
{
    check_say("it ran\n");
    _exit(5);
}

static void try(void *values)
{
    for (const char *const *value = values; *value != NULL; value++) {
        setenv("SCHED_DEQUE", *value, 1);
        for (int i = 0; i < TIMES; i++) {
            CHECK_ERRNO(sched_init(2, 4, never, NULL), EINVAL);
            sched_task task;
            sched_fork(&task, count, NULL, NULL);
            sched_join(&task, NULL);
        }
    }
    CHECK_EQ(ran % TIMES, 0);
    CHECK(ran > 0);
}

static void say(const char *kind, const char *const *values, int lines)
{
    setenv("SCHED_KIND", kind, 1);
    in_child(try, (void *)(uintptr_t)values);
    CHECK_CHILD_EXITED(0);
    check_child(__FILE__, __LINE__, count_lines(child.said) == lines, "say a line for each value");
    for (const char *const *value = values; *value != NULL; value++)
        CHECK_CHILD_SAID(*value);
}

int main(void)
{
    static const char *const unknown[] = {"nonsense", NULL}, *const two[] = {"nonsense", "absurd", "nonsense", NULL};
    static const char *const unfit[] = {"chaselev", "ring", NULL};
    say("steal", unknown, 1);
    say("steal", two, 2);
    say("lifo", unfit, 2);
    return 0;
}
