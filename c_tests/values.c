/* A value of a SCHED_* variable that is unknown, or does not fit the kind: -1 with EINVAL, nothing runs, and one line on
 * stderr names variable, value and the accepted values.
 * ctest: static
 * ctest: */
#include "child.h"

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

static void try(void *arg)
{
    const struct bad *bad = arg;
    if (bad->kind)
        setenv("SCHED_KIND", bad->kind, 1);
    setenv(bad->variable, bad->value, 1);
    CHECK_ERRNO(sched_init(2, 4, never, NULL), EINVAL);
}

int main(void)
{
    for (size_t i = 0; i < sizeof bads / sizeof *bads; i++) {
        char shown[80];
        in_child(try, (void *)(uintptr_t)&bads[i]);
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
    return 0;
}
