/* Every accepted value of the variables is accepted, silently, and the default may be
 * spelled out.
 * ctest: */
#include "child.h"

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

static void leaf(void *closure, struct scheduler *s)
{
    __atomic_fetch_add(&ran, 1, __ATOMIC_RELAXED);
}

static void root(void *closure, struct scheduler *s)
{
    leaf(closure, s);
    for (int i = 0; i < 10; i++)
        CHECK_EQ(sched_spawn(leaf, NULL, s), 0);
}

static void try(void *arg)
{
    const char *const *good = arg;
    setenv(good[0], good[1], 1);
    if (good[2])
        setenv(good[2], good[3], 1);
    CHECK_EQ(sched_init(2, 16, root, NULL), 0);
    CHECK_EQ(ran, 11);
}

int main(void)
{
    for (size_t i = 0; i < sizeof goods / sizeof *goods; i++) {
        in_child(try, (void *)(uintptr_t)goods[i]);
        if (child.said[0])
            check_say(goods[i][0]);
        CHECK_CHILD_EXITED(0);
        check_child(__FILE__, __LINE__, child.said[0] == 0, "say nothing");
    }
    return 0;
}
