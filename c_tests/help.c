/* SCHED_HELP=1 prints every variable that does something, with the values in force, and the run goes on.
 * ctest: static
 * ctest: matrix deque=mutex,split,chaselev,ring idle=park threads=2 */
#include "child.h"

static const char *const variables[] = {
    "SCHED_KIND",  "SCHED_THREADS", "SCHED_DEQUE", "SCHED_STEAL", "SCHED_IDLE",       "SCHED_OVERFLOW",
    "SCHED_GLOBAL", "SCHED_JOIN",   "SCHED_STACK", "SCHED_WARM",  "SCHED_STATS",      "SCHED_STATS_FILE",
    "SCHED_SEED",  "SCHED_HELP", "SCHED_BLOCKING", "SCHED_TRACE", "SCHED_TRACE_SIZE", "SCHED_TRACE_MERGE", "SCHED_PROFILE",
    "SCHED_WATCHDOG", "SCHED_DEADLOCK", "SCHED_PROFILE_BURDEN", "SCHED_TRACE_LIVES",
};

/* Variables of other versions. */
static const char *const elsewhere[] = {
    "SCHED_PIN", "SCHED_FUZZ", "this version",
};

static int ran;

static void task(void *closure, struct scheduler *s)
{
    ran++;
}

static void body(void *arg)
{
    setenv("SCHED_HELP", "1", 1);
    CHECK_EQ(sched_init(2, 4, task, NULL), 0);
    CHECK_EQ(ran, 1);
}

int main(void)
{
    in_child(body, NULL);
    CHECK_CHILD_EXITED(0);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        CHECK_CHILD_SAID(variables[i]);
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        check_child(__FILE__, __LINE__, strstr(child.said, elsewhere[i]) == NULL, "not name what is not there");
    return 0;
}
