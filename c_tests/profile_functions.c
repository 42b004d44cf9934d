/* SCHED_PROFILE names functions: how much work the tasks of each do, by which functions the longest path leads, and, as
 * `folded`, for which functions the work is done. The sums are the work and the span.
 * ctest: matrix few deque=split,mutex idle=park threads=1,2 timeout=60
 * ctest: matrix few idle=park threads=2 join=help */
#include "child.h"
#include "stats_line.h"
#include <sched_tasks.h>

enum { WIDE = 40, LONG = 6, UNIT_US = 100, ATTEMPTS = 100 };

static void compute(int units)
{
    double t0 = now();
    while (now() - t0 < 1e-6 * UNIT_US * units)
        ;
}

/* Four fifths of the work, and none of the longest path. */
void wide_task(void *closure, struct scheduler *s)
{
    compute(1);
}

/* The longest path. */
void long_task(void *closure, struct scheduler *s)
{
    long left = (long)closure;
    compute(2);
    if (left > 1)
        CHECK_EQ(sched_spawn(long_task, (void *)(left - 1), s), 0);
}

void first_task(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(long_task, (void *)LONG, s), 0);
    CHECK_TIMES(WIDE, sched_spawn(wide_task, NULL, s));
}

static void run(void *format)
{
    setenv("SCHED_PROFILE", format, 1);
    CHECK_EQ(sched_init(2, 16, first_task, NULL), 0);
}

static void cancelling_task(void *closure, struct scheduler *s)
{
    sched_group group = SCHED_GROUP_INIT;
    sched_group_cancel(&group);
    CHECK_TIMES(WIDE, sched_group_spawn(&group, wide_task, NULL, s));
    CHECK_EQ(sched_group_wait(&group, s), -1);
}

static void run_cancelled(void *format)
{
    setenv("SCHED_PROFILE", format, 1);
    CHECK_EQ(sched_init(2, 16, cancelling_task, NULL), 0);
}

static void part(size_t lo, size_t hi, void *context, struct scheduler *s)
{
    compute((int)(hi - lo));
}

static void in_default_pool(void *format)
{
    setenv("SCHED_PROFILE", format, 1);
    CHECK_EQ(sched_for(0, LONG, 1, part, NULL, NULL), 0);
    exit(0); /* the profile of the default pool is written at exit */
}

/* A node behind a long and a short one, of which either is made ready first. With one worker, one of these ends last. */
static sched_node long_node, short_node, behind_node;

void long_node_task(void *closure, struct scheduler *s)
{
    compute(3);
}

void short_task(void *closure, struct scheduler *s)
{
    compute(1);
}

void behind_task(void *closure, struct scheduler *s)
{
    compute(1);
}

void make_nodes(void *long_first, struct scheduler *s)
{
    sched_node *first = *(int *)long_first ? &long_node : &short_node;
    CHECK_EQ(sched_node_init(&long_node, long_node_task, NULL), 0);
    CHECK_EQ(sched_node_init(&short_node, short_task, NULL), 0);
    CHECK_EQ(sched_node_init(&behind_node, behind_task, NULL), 0);
    CHECK_EQ(sched_after(&behind_node, &long_node), 0);
    CHECK_EQ(sched_after(&behind_node, &short_node), 0);
    CHECK_EQ(sched_node_ready(first, s), 0);
    CHECK_EQ(sched_node_ready(first == &long_node ? &short_node : &long_node, s), 0);
    CHECK_EQ(sched_node_ready(&behind_node, s), 0);
}

static void run_nodes(void *long_first)
{
    setenv("SCHED_PROFILE", "json", 1);
    CHECK_EQ(sched_init(2, 16, make_nodes, long_first), 0);
}

/* The number of the member `key` behind the function's name in an array of the line. */
static long long of(const char *array, const char *name, const char *key)
{
    char wanted[64];
    snprintf(wanted, sizeof wanted, "{\"name\":\"%s\"", name);
    const char *at = strstr(child.said, array);
    CHECK(at != NULL);
    const char *end = strchr(at, ']'), *found = strstr(at, wanted);
    return found == NULL || found > end ? 0 : stat_number(found, key);
}

static int is_near(double value, double meant)
{
    return value > 0.95 * meant && value < 1.05 * meant;
}

int main(void)
{
    CHECK_IN_CHILD(run, "json");
    static const char *const names[] = {"first_task", "long_task", "wide_task"};
    long long work = 0, path = 0, tasks[3];
    for (int i = 0; i < 3; i++) {
        work += of("\"functions\"", names[i], "work_ns");
        path += of("\"path\"", names[i], "ns");
        tasks[i] = of("\"functions\"", names[i], "tasks");
    }
    CHECK_EQ(tasks[0], 1);
    CHECK_EQ(tasks[1], LONG);
    CHECK_EQ(tasks[2], WIDE);
    CHECK(of("\"functions\"", "wide_task", "work_ns") >= 1000LL * UNIT_US * WIDE);
    CHECK(of("\"functions\"", "long_task", "work_ns") >= 2000LL * UNIT_US * LONG);
    CHECK(is_near((double)work, (double)stat_number(child.said, "work_ns")));
    CHECK(is_near((double)path, (double)stat_number(child.said, "span_ns")));
    CHECK_EQ(of("\"path\"", "first_task", "tasks"), 1);
    /* The longest path goes through all long tasks, unless the machine stops another task for long. */
    for (int attempt = 1; of("\"path\"", "long_task", "tasks") != LONG; attempt++) {
        CHECK(attempt < ATTEMPTS);
        CHECK_IN_CHILD(run, "json");
    }
    CHECK(of("\"path\"", "long_task", "ns") >= 2000LL * UNIT_US * LONG);
    CHECK_EQ(of("\"path\"", "wide_task", "tasks"), 0);

    /* Tasks of a cancelled group that have not begun are none. */
    CHECK_IN_CHILD(run_cancelled, "json");
    CHECK_EQ(of("\"functions\"", "cancelling_task", "tasks"), 1);
    CHECK_EQ(of("\"functions\"", "wide_task", "tasks"), 0);

    /* The longest path leads over the edge from the longer predecessor, whichever ends last. */
    for (int long_first = 0; long_first < 2; long_first++) {
        int attempt = 0;
        do {
            CHECK(attempt++ < ATTEMPTS);
            CHECK_IN_CHILD(run_nodes, &long_first);
        } while (of("\"path\"", "long_node_task", "tasks") != 1 || of("\"path\"", "behind_task", "tasks") != 1);
        CHECK_EQ(of("\"path\"", "make_nodes", "tasks"), 1);
        CHECK_EQ(of("\"path\"", "short_task", "tasks"), 0);
    }

    CHECK_IN_CHILD(run, "folded");
    CHECK_EQ(count_lines(child.said), 3);
    CHECK_CHILD_SAID("first_task ");
    CHECK_CHILD_SAID("first_task;long_task ");
    CHECK_CHILD_SAID("first_task;wide_task ");

    /* The task that a loop outside of all tasks adds to the default pool has the name of the loop's body. */
    int attempt = 1;
    do { /* exit waits for the workers, but not for long */
        CHECK_IN_CHILD(in_default_pool, "folded");
    } while (child.said[0] == 0 && attempt++ < ATTEMPTS);
    CHECK_EQ(count_lines(child.said), 1);
    CHECK_CHILD_SAID("part ");

    CHECK_IN_CHILD(run, "1");
    CHECK_CHILD_SAID("longest path: first_task ");
    CHECK_CHILD_SAID(" -> ");
    return 0;
}
