/* SCHED_STATS=json: the times of each worker add up to the time of the run, to the nanosecond, whatever its tasks do:
 * compute, spawn, wait for each other, block. A worker is busy only if it has run tasks.
 * ctest: matrix
 * ctest: matrix idle=park,nap threads=1,4 env=SCHED_PROFILE=json */
#include "block.h"
#include "pool.h"
#include "stats_line.h"

enum { TASKS = 200 };

static const char *const phases[] = {"busy_ns", "searching_ns", "parked_ns", "blocked_ns"};
static sched_mutex mutex;
static sched_sem ends;
static long sum;

static void nothing(void *closure, struct scheduler *s)
{
}

static void leaf(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_mutex_lock(&mutex, s), 0);
    sum += (long)closure;
    CHECK_EQ(sched_mutex_unlock(&mutex), 0);
    if ((long)closure % 50 == 0)
        block(200, s);
    CHECK_EQ(sched_sem_post(&ends), 0);
}

static void root(void *closure, struct scheduler *s)
{
    sched_task task;
    spawn_all(TASKS, leaf, s);
    sched_fork(&task, nothing, NULL, s);
    sched_join(&task, s);
    for (long i = 0; i < TASKS; i++)
        CHECK_EQ(sched_sem_wait(&ends, s), 0);
}

/* The time of the run in nanoseconds: "seconds" has nine digits behind the point. */
static long time_of(const char *line)
{
    const char *at = strstr(line, "\"seconds\":");
    long seconds, nanoseconds;
    CHECK(at != NULL);
    CHECK_EQ(sscanf(at + 10, "%ld.%9ld,", &seconds, &nanoseconds), 2);
    return seconds * 1000000000 + nanoseconds;
}

/* The sum of the phases in what follows. */
static long all_phases(const char *text)
{
    long all = 0;
    for (int i = 0; i < 4; i++) {
        CHECK(stat_number(text, phases[i]) >= 0);
        all += stat_number(text, phases[i]);
    }
    return all;
}

static void check_line(const char *line)
{
    long time = time_of(line), sums[4] = {0}, n = 0;
    for (const char *at = strstr(line, "\"workers\":["); (at = strchr(at, '{')) != NULL; at++, n++) {
        CHECK_EQ(all_phases(at), time);
        CHECK(stat_number(at, "tasks") == 0 || stat_number(at, "busy_ns") > 0);
        for (int i = 0; i < 4; i++)
            sums[i] += stat_number(at, phases[i]);
    }
    CHECK_EQ(n, stat_number(line, "threads"));
    for (int i = 0; i < 4; i++)
        CHECK_EQ(stat_number(line, phases[i]), sums[i]);
}

int main(void)
{
    CHECK_EQ(sched_mutex_init(&mutex), 0);
    CHECK_EQ(sched_sem_init(&ends, 0), 0);
    gather_stats();
    run(4, root);
    CHECK_EQ(sum, TASKS * (TASKS - 1) / 2);

    struct sched_pool *pool = pool_of(4);
    CHECK_EQ(sched_pool_run(pool, nothing, NULL), 0);
    CHECK_EQ(sched_pool_destroy(pool), 0);

    char *lines = gathered_stats(), *second = strchr(lines, '\n');
    CHECK(second != NULL);
    *second++ = 0;
    check_line(lines);
    check_line(second);
    /* The thread of the one worker has been in a section, and nobody could come in its place. */
    if (kind_is("serial"))
        CHECK(stat_number(lines, "blocked_ns") > 0);
    return 0;
}
