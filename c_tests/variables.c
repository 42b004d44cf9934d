/* variables: the values that the environment gives. */
#include "case.h"
#include "child.h"
#include "pool.h"
#include "marks.h"
#include <sched_tasks.h>

/* values: A value of a SCHED_* variable that is unknown, or does not fit the kind: -1 with EINVAL,
 * nothing runs, and one line on stderr names variable, value and the accepted values.
 * ctest: static
 * ctest: */
struct bad {
    const char *variable, *value;
    const char *accepted; /* a word of the list of accepted values, or NULL */
    const char *kind;     /* SCHED_KIND beside it, or NULL */
};

static const struct bad bads[] = {
    {"SCHED_KIND", "nonsense", "steal", NULL},
    {"SCHED_KIND", "STEAL", "lifo", NULL},
    {"SCHED_KIND", "stea", "fifo", NULL},
    {"SCHED_KIND", "steal ", "serial", NULL},
    {"SCHED_DEQUE", "nonsense", "chaselev", NULL},
    {"SCHED_DEQUE", "nonsense", "spin", "lifo"},
    {"SCHED_IDLE", "sleep", "park", NULL},
    {"SCHED_IDLE", "sleep", "nap", "lifo"},
    {"SCHED_THREADS", "0", "auto", NULL},
    {"SCHED_THREADS", "-2", "auto", NULL},
    {"SCHED_THREADS", "2x", "auto", NULL},
    {"SCHED_THREADS", "+2", "auto", NULL},
    {"SCHED_THREADS", " 2", "auto", NULL},
    {"SCHED_THREADS", "4097", "auto", NULL},
    {"SCHED_THREADS", "99999999999999999999", "auto", NULL},
    {"SCHED_OVERFLOW", "nonsense", "grow", NULL},
    {"SCHED_STATS", "2", "json", NULL},
    {"SCHED_STATS", "yes", "json", NULL},
    {"SCHED_SEED", "abc", NULL, NULL},
    {"SCHED_SEED", "-1", NULL, "serial"},
    {"SCHED_SEED", "+1", NULL, NULL},
    {"SCHED_HELP", "maybe", NULL, NULL},
    {"SCHED_WATCHDOG", "5", "5s", NULL},
    {"SCHED_WATCHDOG", "on", "5s", NULL},
    {"SCHED_DEADLOCK", "0", "report", NULL},
    {"SCHED_WARM", "100", "100ms", NULL},
    {"SCHED_WARM", "-1ms", "100ms", NULL},
    {"SCHED_WARM", "100 ms", "100ms", NULL},
    {"SCHED_WARM", "5h", "100ms", NULL},
    {"SCHED_WARM", "ms", "100ms", NULL},
    {"SCHED_WARM", "1.5s", "100ms", NULL},
    {"SCHED_WARM", "+1s", "100ms", NULL},
    {"SCHED_WARM", "1sec", "100ms", "serial"},
    {"SCHED_WARM", "99999999999999999999ms", "100ms", "lifo"},
    {"SCHED_BLOCKING", "0", "65536", NULL},
    {"SCHED_BLOCKING", "65537", "65536", NULL},
    {"SCHED_BLOCKING", "many", "65536", "serial"},
    {"SCHED_TRACE_SIZE", "1K", "16M", NULL},
    {"SCHED_TRACE_SIZE", "much", "16M", "lifo"},
    {"SCHED_TRACE_MERGE", "1", "a time", NULL},
    {"SCHED_TRACE_LIVES", "2", "1", NULL},
    {"SCHED_PROFILE", "table", "json", NULL},
    {"SCHED_PROFILE_BURDEN", "1000", "a time", NULL},
    {"SCHED_STEAL", "nonsense", "half", NULL},
    {"SCHED_GLOBAL", "nonsense", "all", NULL},
    {"SCHED_JOIN", "nonsense", "help", NULL},
    /* fits steal only */
    {"SCHED_DEQUE", "chaselev", "mutex", "lifo"},
    {"SCHED_DEQUE", "chaselev", "mutex", "fifo"},
    {"SCHED_DEQUE", "split", "mutex", "lifo"},
    {"SCHED_DEQUE", "split", "mutex", "fifo"},
    {"SCHED_DEQUE", "ring", "mutex", "lifo"},
    {"SCHED_DEQUE", "queue", "mutex", "fifo"},
    {"SCHED_DEQUE", "queue", "split", "cont"},
    {"SCHED_DEQUE", "ring", "chaselev", "cont"},
    /* does not fit the deque, or the kind */
    {"SCHED_STEAL", "half", "one", NULL},
    {"SCHED_STEAL", "half", "one", "fifo"},
    {"SCHED_OVERFLOW", "half", "grow", NULL},
    {"SCHED_OVERFLOW", "one", "refuse", "lifo"},
    {"SCHED_GLOBAL", "all", "one", "fifo"},
    {"SCHED_GLOBAL", "all", "one", "cont"},
};

static void never(void *closure, struct scheduler *s)
{
    check_say("it ran\n");
    _exit(5);
}

static void values_try(void *arg)
{
    const struct bad *bad = arg;
    if (bad->kind)
        setenv("SCHED_KIND", bad->kind, 1);
    setenv(bad->variable, bad->value, 1);
    CHECK_ERRNO(sched_init(2, 4, never, NULL), EINVAL);
}

CASE(values)
{
    for (size_t i = 0; i < sizeof bads / sizeof *bads; i++) {
        char shown[80];
        in_child(values_try, (void *)(uintptr_t)&bads[i]);
        snprintf(shown, sizeof shown, "(%s=%s)\n", bads[i].variable, bads[i].value);
        if (!WIFEXITED(child.status) || WEXITSTATUS(child.status) != 0 || count_lines(child.said) != 1)
            check_say(shown);
        CHECK_CHILD_EXITED(0);
        CHECK_CHILD_SAID(bads[i].variable);
        CHECK_CHILD_SAID(bads[i].value);
        if (bads[i].accepted)
            CHECK_CHILD_SAID(bads[i].accepted);
        check_child(__FILE__, __LINE__, count_lines(child.said) == 1, "say exactly one line");
    }
}

/* good_values: Every accepted value of the variables is accepted, silently, and the default may be
 * spelled out.
 * ctest: */
static const char *const goods[][4] = {
    {"SCHED_KIND", "steal"}, {"SCHED_KIND", "lifo"}, {"SCHED_KIND", "fifo"}, {"SCHED_KIND", "serial"},
    {"SCHED_KIND", "cont"}, {"SCHED_DEQUE", "chaselev", "SCHED_KIND", "cont"},
    {"SCHED_DEQUE", "split"}, {"SCHED_DEQUE", "chaselev"}, {"SCHED_DEQUE", "ring"}, {"SCHED_DEQUE", "queue"}, {"SCHED_DEQUE", "mutex"}, {"SCHED_DEQUE", "spin"}, {"SCHED_DEQUE", "sem"},
    {"SCHED_DEQUE", "mutex", "SCHED_KIND", "lifo"}, {"SCHED_DEQUE", "spin", "SCHED_KIND", "lifo"},
    {"SCHED_DEQUE", "sem", "SCHED_KIND", "lifo"}, {"SCHED_DEQUE", "sem", "SCHED_KIND", "fifo"},
    {"SCHED_DEQUE", "fair"}, {"SCHED_DEQUE", "fair", "SCHED_KIND", "lifo"}, {"SCHED_DEQUE", "fair", "SCHED_KIND", "fifo"},
    {"SCHED_DEQUE", "adaptive"}, {"SCHED_DEQUE", "adaptive", "SCHED_KIND", "lifo"},
    {"SCHED_DEQUE", "adaptive", "SCHED_KIND", "fifo"}, {"SCHED_STEAL", "half", "SCHED_DEQUE", "fair"},
    {"SCHED_IDLE", "park"}, {"SCHED_IDLE", "nap"}, {"SCHED_IDLE", "backoff"}, {"SCHED_IDLE", "spin"},
    {"SCHED_THREADS", "1"}, {"SCHED_THREADS", "3"}, {"SCHED_THREADS", "auto"},
    {"SCHED_OVERFLOW", "grow"}, {"SCHED_OVERFLOW", "refuse"},
    {"SCHED_STEAL", "one"}, {"SCHED_STEAL", "half", "SCHED_DEQUE", "ring"}, {"SCHED_STEAL", "one", "SCHED_DEQUE", "ring"},
    {"SCHED_STEAL", "half", "SCHED_DEQUE", "queue"}, {"SCHED_OVERFLOW", "half", "SCHED_DEQUE", "queue"},
    {"SCHED_STEAL", "half", "SCHED_DEQUE", "mutex"}, {"SCHED_STEAL", "half", "SCHED_KIND", "serial"},
    {"SCHED_OVERFLOW", "one", "SCHED_DEQUE", "spin"}, {"SCHED_OVERFLOW", "half", "SCHED_DEQUE", "ring"},
    {"SCHED_OVERFLOW", "refuse", "SCHED_DEQUE", "ring"}, {"SCHED_OVERFLOW", "one", "SCHED_KIND", "serial"},
    {"SCHED_GLOBAL", "one"}, {"SCHED_GLOBAL", "all"}, {"SCHED_GLOBAL", "all", "SCHED_DEQUE", "chaselev"},
    {"SCHED_GLOBAL", "all", "SCHED_KIND", "serial"},
    {"SCHED_WARM", "100ms"}, {"SCHED_WARM", "0"}, {"SCHED_WARM", "2s"}, {"SCHED_WARM", "500us"},
    {"SCHED_WARM", "1min"}, {"SCHED_WARM", "0", "SCHED_KIND", "lifo"}, {"SCHED_WARM", "1us", "SCHED_KIND", "serial"},
    {"SCHED_BLOCKING", "1"}, {"SCHED_BLOCKING", "65536"}, {"SCHED_BLOCKING", "512", "SCHED_KIND", "serial"},
    {"SCHED_STATS", "0"}, {"SCHED_HELP", "0"}, {"SCHED_WATCHDOG", "0"}, {"SCHED_WATCHDOG", "30s"}, {"SCHED_DEADLOCK", "auto"}, {"SCHED_DEADLOCK", "off"}, {"SCHED_PROFILE_BURDEN", "2us"},
    {"SCHED_SEED", "0"}, {"SCHED_SEED", "12345678901234567890"},
};

static int ran;

static void good_values_leaf(void *closure, struct scheduler *s)
{
    __atomic_fetch_add(&ran, 1, __ATOMIC_RELAXED);
}

static void good_values_root(void *closure, struct scheduler *s)
{
    good_values_leaf(closure, s);
    CHECK_TIMES(10, sched_spawn(good_values_leaf, NULL, s));
}

static void good_values_try(void *arg)
{
    const char *const *good = arg;
    setenv(good[0], good[1], 1);
    if (good[2])
        setenv(good[2], good[3], 1);
    CHECK_EQ(sched_init(2, 16, good_values_root, NULL), 0);
    CHECK_EQ(ran, 11);
}

CASE(good_values)
{
    for (size_t i = 0; i < sizeof goods / sizeof *goods; i++) {
        in_child(good_values_try, (void *)(uintptr_t)goods[i]);
        if (child.said[0])
            check_say(goods[i][0]);
        CHECK_CHILD_EXITED(0);
        check_child(__FILE__, __LINE__, child.said[0] == 0, "say nothing");
    }
}

/* values_once: A value that is refused is named on stderr once in the life of the process, however
 * often a run is begun: tasks by NULL run at once where the default pool cannot be made, and each
 * fork tries to make it. Another value is named anew.
 * ctest: static
 * ctest: */
enum { TIMES = 100 };

static void count(void *closure, struct scheduler *s)
{
    CHECK(s == NULL);
    ran++;
}

static void values_once_try(void *values)
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
    CHECK_IN_CHILD(values_once_try, (void *)(uintptr_t)values);
    check_child(__FILE__, __LINE__, count_lines(child.said) == lines, "say a line for each value");
    for (const char *const *value = values; *value != NULL; value++)
        CHECK_CHILD_SAID(*value);
}

CASE(values_once)
{
    static const char *const unknown[] = {"nonsense", NULL}, *const two[] = {"nonsense", "absurd", "nonsense", NULL};
    static const char *const unfit[] = {"chaselev", "ring", NULL};
    say("steal", unknown, 1);
    say("steal", two, 2);
    say("lifo", unfit, 2);
}

/* typos: A SCHED_* variable whose name is within two letters of one that there is: the first run
 * names both on one line of stderr, later ones do not, and all continue without it. The same holds
 * for a variable that only other versions have. Other names belong to other programs, and are not
 * reported.
 * ctest: static
 * ctest: */
static const char *const typos[][2] = {
    {"SCHED_THREAD", "SCHED_THREADS"}, {"SCHED_TREADS", "SCHED_THREADS"}, {"SCHED_THRAEDS", "SCHED_THREADS"},
    {"SCHED_NTHREADS", "SCHED_THREADS"}, {"SCHED_KNID", "SCHED_KIND"}, {"SCHED_KIN", "SCHED_KIND"},
    {"SCHED_KINDS", "SCHED_KIND"}, {"SCHED_DEQUEUE", "SCHED_DEQUE"}, {"SCHED_STATSFILE", "SCHED_STATS_FILE"},
    {"SCHED_STATS_FIEL", "SCHED_STATS_FILE"}, {"SCHED_STAT", "SCHED_STATS"}, {"SCHED_SEAD", "SCHED_SEED"},
    {"SCHED_TRACES", "SCHED_TRACE"}, {"SCHED_PROFIL", "SCHED_PROFILE"}, {"SCHED_OVERFLOWS", "SCHED_OVERFLOW"}, {"SCHED_WATCHDOGS", "SCHED_WATCHDOG"}, {"SCHED_DEADLOCKS", "SCHED_DEADLOCK"}, {"SCHED_WARN", "SCHED_WARM"}, {"SCHED_HEPL", "SCHED_HELP"},
};

static const char *const typos_elsewhere[] = {
    "SCHED_PIN", "SCHED_FUZZ",
};

static const char *const others[] = {
    "SCHED_POLICY", "SCHED_PRIORITY", "SCHED_RECORD", "SCHED_", "SCHED_ANOTHER_PROGRAMS_VERY_LONG_NAME",
    "SCHED_threads", "SCHEDULER_KIND", "sched_kind",
};

static void typos_task(void *closure, struct scheduler *s)
{
    struct sched_stats stats;
    CHECK_EQ(sched_stats(s, &stats, sizeof stats), 0);
    CHECK_EQ(stats.threads + stats.threads_missing, 2);
    __atomic_fetch_add(&ran, 1, __ATOMIC_RELAXED);
}

static void runs(void *unused)
{
    CHECK_TIMES(3, sched_init(2, 4, typos_task, NULL));
    struct sched_pool *pool = pool_of(2);
    CHECK_EQ(sched_pool_run(pool, typos_task, NULL), 0);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    CHECK_EQ(ran, 4);
}

CASE(typos)
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

    for (size_t i = 0; i < sizeof typos_elsewhere / sizeof *typos_elsewhere; i++) {
        setenv(typos_elsewhere[i], "1", 1);
        in_child(runs, NULL);
        unsetenv(typos_elsewhere[i]);
        CHECK_CHILD_EXITED(0);
        snprintf(wanted, sizeof wanted, "libsched: %s: no such variable in this version;", typos_elsewhere[i]);
        check_child(__FILE__, __LINE__, strstr(child.said, wanted) != NULL, wanted);
        check_child(__FILE__, __LINE__, count_lines(child.said) == 1, "say one line");
    }

    setenv("SCHED_THREAD", "1", 1); /* several: a line each */
    setenv("SCHED_TREADS", "1", 1);
    setenv("SCHED_KNID", "1", 1);
    CHECK_IN_CHILD(runs, NULL);
    check_child(__FILE__, __LINE__, count_lines(child.said) == 3, "say three lines");
    setenv("SCHED_THREAD", "", 1); /* unset */
    setenv("SCHED_TREADS", "", 1);
    setenv("SCHED_KNID", "", 1);

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        setenv(others[i], "1", 1);
    CHECK_IN_CHILD(runs, NULL);
    check_child(__FILE__, __LINE__, child.said[0] == 0, "say nothing");
}

/* help: SCHED_HELP=1 prints every variable that does something, with the values in force, and the
 * run continues.
 * ctest: static
 * ctest: matrix deque=mutex,split,chaselev,ring idle=park threads=2 */
static const char *const variables[] = {
    "SCHED_KIND",  "SCHED_THREADS", "SCHED_DEQUE", "SCHED_STEAL", "SCHED_IDLE",       "SCHED_OVERFLOW",
    "SCHED_GLOBAL", "SCHED_JOIN",   "SCHED_STACK", "SCHED_WARM",  "SCHED_STATS",      "SCHED_STATS_FILE",
    "SCHED_SEED",  "SCHED_HELP", "SCHED_BLOCKING", "SCHED_TRACE", "SCHED_TRACE_SIZE", "SCHED_TRACE_MERGE", "SCHED_PROFILE",
    "SCHED_WATCHDOG", "SCHED_DEADLOCK", "SCHED_PROFILE_BURDEN", "SCHED_TRACE_LIVES",
};

/* Variables of other versions. */
static const char *const help_elsewhere[] = {
    "SCHED_PIN", "SCHED_FUZZ", "this version",
};

COUNTING_TASK(help_task, ran)

static void body(void *arg)
{
    setenv("SCHED_HELP", "1", 1);
    CHECK_EQ(sched_init(2, 4, help_task, NULL), 0);
    CHECK_EQ(ran, 1);
}

CASE(help)
{
    CHECK_IN_CHILD(body, NULL);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        CHECK_CHILD_SAID(variables[i]);
    for (size_t i = 0; i < sizeof help_elsewhere / sizeof *help_elsewhere; i++)
        check_child(__FILE__, __LINE__, strstr(child.said, help_elsewhere[i]) == NULL, "not name what is not there");
}

/* seed: SCHED_SEED on the kinds with threads: accepted, and the results are the same.
 * ctest: matrix few idle=park threads=1,4 env=SCHED_SEED=7 */
enum { SEED_N = 500 };

MARKING_TREE(seed_task, 2, SEED_N)

CASE(seed)
{
    for (int run = 0; run < 5; run++) {
        CHECK_EQ(sched_init(4, 4, seed_task, (void *)0), 0);
        check_marks(SEED_N);
    }
}

/* args: What sched_init and sched_spawn make of their arguments, good and bad.
 * ctest: static
 * ctest:
 * ctest: env=SCHED_KIND=lifo
 * ctest: env=SCHED_KIND=serial
 * ctest: matrix deque=mutex idle=park threads=2 */
static struct scheduler *stale;

static void args_leaf(void *closure, struct scheduler *s)
{
    ++*(int *)closure;
}

static void args_root(void *closure, struct scheduler *s)
{
    stale = s;
    ran++;
    CHECK_ERRNO(sched_spawn(NULL, closure, s), EINVAL);
    CHECK_ERRNO(sched_spawn(NULL, NULL, NULL), EINVAL);
    CHECK_EQ(sched_spawn(args_leaf, closure, s), 0);
}

CASE(args)
{
    static const int counts[] = {0, -1, 1, 2, 16, INT_MIN};
    int leaves = 0;

    CHECK_ERRNO(sched_init(1, 1, NULL, &leaves), EINVAL);
    if (!getenv("SCHED_THREADS")) { /* which wins over the argument */
        CHECK_ERRNO(sched_init(4097, 1, args_root, &leaves), EINVAL);
        CHECK_ERRNO(sched_init(INT_MAX, 1, args_root, &leaves), EINVAL);
    }
    CHECK_ERRNO(sched_spawn(NULL, &leaves, NULL), EINVAL);
    CHECK_EQ(ran, 0);

    for (int i = 0; i < (int)(sizeof counts / sizeof *counts); i++) {
        CHECK_EQ(sched_init(counts[i], 1, args_root, &leaves), 0);
        CHECK_EQ(ran, i + 1);
        CHECK_EQ(leaves, i + 1);
        CHECK_ERRNO(sched_spawn(args_root, &leaves, stale), EINVAL);
    }
    CHECK_EQ(ran, (int)(sizeof counts / sizeof *counts));
}

/* qlen: qlen 0 or less is a default, 1 grows, a large one is only a promise of room.
 * ctest: matrix few idle=park threads=1,4 */
enum { QLEN_N = 1000 };

static void qlen_root(void *closure, struct scheduler *s)
{
    for (long i = 0; i < QLEN_N; i++)
        CHECK_EQ(sched_spawn(mark_number, (void *)i, s), 0);
}

CASE(qlen)
{
    static const int lengths[] = {0, 1, -1, INT_MIN, 2, 3, 50, 128, 999, 1000, 5000000};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        CHECK_EQ(sched_init(4, lengths[i], qlen_root, NULL), 0);
        check_marks(QLEN_N);
    }
    /* Absurd: granted lazily, or refused for want of memory; nothing in between. */
    errno = 0;
    if (sched_init(2, INT_MAX, qlen_root, NULL) == 0)
        check_marks(QLEN_N);
    else {
        CHECK_EQ(errno, ENOMEM);
        check_marks(0);
    }
}
