/* A SCHED_* variable whose name is within two letters of one that there is: the first run names both on one line of
 * stderr, later ones do not, and all go on without it. So for a variable that other versions have, and this has not.
 * Other names are other programs', and not worth a word.
 * ctest: static
 * ctest: */
#include "pool.h"
#include "child.h"

static const char *const typos[][2] = {
    {"SCHED_THREAD", "SCHED_THREADS"}, {"SCHED_TREADS", "SCHED_THREADS"}, {"SCHED_THRAEDS", "SCHED_THREADS"},
    {"SCHED_NTHREADS", "SCHED_THREADS"}, {"SCHED_KNID", "SCHED_KIND"}, {"SCHED_KIN", "SCHED_KIND"},
    {"SCHED_KINDS", "SCHED_KIND"}, {"SCHED_DEQUEUE", "SCHED_DEQUE"}, {"SCHED_STATSFILE", "SCHED_STATS_FILE"},
    {"SCHED_STATS_FIEL", "SCHED_STATS_FILE"}, {"SCHED_STAT", "SCHED_STATS"}, {"SCHED_SEAD", "SCHED_SEED"},
    {"SCHED_TRACES", "SCHED_TRACE"}, {"SCHED_PROFIL", "SCHED_PROFILE"}, {"SCHED_OVERFLOWS", "SCHED_OVERFLOW"}, {"SCHED_WATCHDOGS", "SCHED_WATCHDOG"}, {"SCHED_DEADLOCKS", "SCHED_DEADLOCK"}, {"SCHED_WARN", "SCHED_WARM"}, {"SCHED_HEPL", "SCHED_HELP"},
};

static const char *const elsewhere[] = {
    "SCHED_PIN", "SCHED_FUZZ",
};

static const char *const others[] = {
    "SCHED_POLICY", "SCHED_PRIORITY", "SCHED_RECORD", "SCHED_", "SCHED_ANOTHER_PROGRAMS_VERY_LONG_NAME",
    "SCHED_threads", "SCHEDULER_KIND", "sched_kind",
};

static int ran;

static void task(void *closure, struct scheduler *s)
{
    struct sched_stats stats;
    CHECK_EQ(sched_stats(s, &stats, sizeof stats), 0);
    CHECK_EQ(stats.threads + stats.threads_missing, 2);
    __atomic_fetch_add(&ran, 1, __ATOMIC_RELAXED);
}

static void runs(void *unused)
{
    for (int i = 0; i < 3; i++)
        CHECK_EQ(sched_init(2, 4, task, NULL), 0);
    struct sched_pool *pool = pool_of(2);
    CHECK_EQ(sched_pool_run(pool, task, NULL), 0);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    CHECK_EQ(ran, 4);
}

int main(void)
{
    char wanted[64];
    for (size_t i = 0; i < sizeof typos / sizeof *typos; i++) {
        setenv(typos[i][0], "1", 1);
        in_child(runs, NULL);
        unsetenv(typos[i][0]);
        CHECK_CHILD_EXITED(0);
        snprintf(wanted, sizeof wanted, " %s:", typos[i][0]);
        check_child(__FILE__, __LINE__, strstr(child.said, wanted) != NULL, wanted);
        snprintf(wanted, sizeof wanted, " %s?", typos[i][1]);
        check_child(__FILE__, __LINE__, strstr(child.said, wanted) != NULL, wanted);
        check_child(__FILE__, __LINE__, count_lines(child.said) == 1, "say one line");
    }

    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++) {
        setenv(elsewhere[i], "1", 1);
        in_child(runs, NULL);
        unsetenv(elsewhere[i]);
        CHECK_CHILD_EXITED(0);
        snprintf(wanted, sizeof wanted, "libsched: %s: no such variable in this version;", elsewhere[i]);
        check_child(__FILE__, __LINE__, strstr(child.said, wanted) != NULL, wanted);
        check_child(__FILE__, __LINE__, count_lines(child.said) == 1, "say one line");
    }

    setenv("SCHED_THREAD", "1", 1); /* several: a line each */
    setenv("SCHED_TREADS", "1", 1);
    setenv("SCHED_KNID", "1", 1);
    in_child(runs, NULL);
    CHECK_CHILD_EXITED(0);
    check_child(__FILE__, __LINE__, count_lines(child.said) == 3, "say three lines");
    setenv("SCHED_THREAD", "", 1); /* unset */
    setenv("SCHED_TREADS", "", 1);
    setenv("SCHED_KNID", "", 1);

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        setenv(others[i], "1", 1);
    in_child(runs, NULL);
    CHECK_CHILD_EXITED(0);
    check_child(__FILE__, __LINE__, child.said[0] == 0, "say nothing");
    return 0;
}
