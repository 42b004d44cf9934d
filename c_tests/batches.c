/* SCHED_STEAL=half: a thief takes several tasks in few thefts, where one takes them one by one.
 * SCHED_OVERFLOW=one, half: a queue never holds more than qlen tasks, a ring 256, and yet all are
 * accepted, and run. SCHED_GLOBAL=all: a worker takes what came from outside, and others have to steal it
 * from it. With each deque that has them, each in a run of its own.
 * ctest: debug
 * ctest: */
#include "marks.h"
#include <sched_tasks.h>
#include <stdatomic.h>

enum { TASKS = 200, FLOOD = 3000, QLEN = 16, RING = 256, OUTSIDE = 20 };

static atomic_int ran, spawned;

static struct sched_stats run(int nthreads, int qlen, taskfunc f)
{
    struct sched_stats stats;
    ran = spawned = 0;
    CHECK_EQ(sched_init(nthreads, qlen, f, NULL), 0);
    CHECK_EQ(sched_last_stats(&stats, sizeof stats), 0);
    return stats;
}

static void leaf(void *closure, struct scheduler *s)
{
    while (!spawned) /* the first one */
        pause_us(50);
    mark((long)closure);
    ran++;
}

/* The other worker takes all, and begins when they are all there. */
static void blocker(void *closure, struct scheduler *s)
{
    for (long i = 0; i < TASKS; i++)
        CHECK_EQ(sched_spawn(leaf, (void *)i, s), 0);
    spawned = 1;
    while (ran < TASKS)
        pause_us(50);
}

static void steals(const char *deque, int half)
{
    setenv("SCHED_DEQUE", deque, 1);
    setenv("SCHED_STEAL", half ? "half" : "one", 1);
    struct sched_stats stats = run(2, TASKS, blocker);
    check_marks(TASKS);
    CHECK_EQ(stats.stolen_tasks, TASKS);
    if (half)
        CHECK(stats.steals <= 16); /* 1, and then half of what is left */
    else
        CHECK_EQ(stats.steals, TASKS);
    unsetenv("SCHED_STEAL");
}

static void flood(void *closure, struct scheduler *s)
{
    spawned = 1;
    for (long i = 0; i < FLOOD; i++)
        CHECK_EQ(sched_spawn(leaf, (void *)i, s), 0);
}

static void overflows(const char *deque, const char *how, size_t most)
{
    setenv("SCHED_DEQUE", deque, 1);
    setenv("SCHED_OVERFLOW", how, 1);
    for (int threads = 1; threads <= 3; threads += 2) {
        struct sched_stats stats = run(threads, QLEN, flood);
        check_marks(FLOOD);
        CHECK(stats.queue_peak <= most);
        if (threads == 1)
            CHECK(stats.queue_peak > most / 4);
    }
    unsetenv("SCHED_OVERFLOW");
}

static atomic_int begun, all_there;

/* Keeps the second worker until all have been spawned. */
static void second(void *closure, struct scheduler *s)
{
    begun = 1;
    while (all_there < 2)
        pause_us(50);
}

/* The oldest of those from outside: runs until the others have run, on the other worker. */
static void oldest(void *closure, struct scheduler *s)
{
    all_there = 2;
    while (ran < OUTSIDE)
        pause_us(50);
}

static void *stranger(void *s)
{
    CHECK_EQ(sched_spawn(second, NULL, s), 0);
    while (!begun)
        pause_us(50);
    CHECK_EQ(sched_spawn(oldest, NULL, s), 0);
    for (long i = 0; i < OUTSIDE; i++)
        CHECK_EQ(sched_spawn(leaf, (void *)i, s), 0);
    all_there = 1;
    return NULL;
}

static pthread_t foreigner;

static void first(void *closure, struct scheduler *s)
{
    spawned = 1;
    begun = all_there = 0;
    CHECK_EQ(pthread_create(&foreigner, NULL, stranger, s), 0);
    while (!all_there)
        pause_us(50);
}

static void takes(const char *deque, int all)
{
    setenv("SCHED_DEQUE", deque, 1);
    setenv("SCHED_GLOBAL", all ? "all" : "one", 1);
    struct sched_stats stats = run(2, QLEN, first);
    CHECK_EQ(pthread_join(foreigner, NULL), 0);
    check_marks(OUTSIDE);
    CHECK_EQ(stats.stolen_tasks, all ? OUTSIDE : 0);
    unsetenv("SCHED_GLOBAL");
}

int main(void)
{
    static const char *const deques[] = {"mutex", "spin", "sem", "fair", "adaptive", "queue", "ring", "split", "chaselev"};
    for (int i = 0; i < 9; i++) {
        int shares = i < 7, ring = i == 6;
        for (int half = 0; half <= shares; half++)
            steals(deques[i], half);
        takes(deques[i], 0);
        takes(deques[i], 1);
        if (shares) {
            overflows(deques[i], "one", ring ? RING : QLEN);
            overflows(deques[i], "half", ring ? RING : QLEN);
        }
    }
    return 0;
}
