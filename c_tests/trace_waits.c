/* The timeline says for what a task has waited: a mutex, a condition, a semaphore, a barrier, a join, a group, or that
 * it let others go first. With SCHED_TRACE_LIVES each of these tasks has its life there, too, with the waits inside.
 * ctest: static
 * ctest: matrix deque=split,mutex idle=park threads=1 */
#include "check.h"
#include <sched_tasks.h>

static char path[] = "/tmp/sched-trace-XXXXXX", text[1 << 20];
static sched_mutex mutex;
static sched_cond cond;
static sched_sem sem, turn;
static sched_barrier barrier;
static int waiting;

/* Each of these tasks is about to wait when `waiting` has grown; with one worker it does before another task runs. */
static void locks(void *unused, struct scheduler *s)
{
    waiting++;
    sched_mutex_lock(&mutex, s);
    while (waiting > 0)
        sched_cond_wait(&cond, &mutex, s);
    sched_mutex_unlock(&mutex);
}

static void takes(void *unused, struct scheduler *s)
{
    waiting++;
    sched_sem_wait(&sem, s);
}

static void meets(void *unused, struct scheduler *s)
{
    waiting++;
    sched_barrier_wait(&barrier, s);
}

static void long_child(void *unused, struct scheduler *s)
{
    sched_sem_wait(&turn, s);
}

static void joins(void *unused, struct scheduler *s)
{
    sched_task t;
    sched_fork(&t, long_child, NULL, s);
    sched_task_yield(s); /* the child begins */
    waiting++;
    sched_join(&t, s);
}

static void gathers(void *unused, struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    CHECK_EQ(sched_group_spawn(&g, long_child, NULL, s), 0);
    sched_task_yield(s);
    waiting++;
    sched_group_wait(&g, s);
}

static void first(void *unused, struct scheduler *s)
{
    sched_mutex_lock(&mutex, s);
    CHECK_EQ(sched_spawn(locks, NULL, s), 0);
    CHECK_EQ(sched_spawn(takes, NULL, s), 0);
    CHECK_EQ(sched_spawn(meets, NULL, s), 0);
    CHECK_EQ(sched_spawn(joins, NULL, s), 0);
    CHECK_EQ(sched_spawn(gathers, NULL, s), 0);
    while (waiting < 5)
        sched_task_yield(s);
    sched_mutex_unlock(&mutex);
    for (int i = 0; i < 10; i++)
        sched_task_yield(s);
    sched_mutex_lock(&mutex, s);
    waiting = 0;
    sched_cond_broadcast(&cond);
    sched_mutex_unlock(&mutex);
    sched_sem_post(&sem);
    sched_barrier_wait(&barrier, s);
    sched_sem_post(&turn);
    sched_sem_post(&turn);
}

static int count(const char *phase, const char *name)
{
    int n = 0;
    for (char *at = text, *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
        *end = 0;
        n += strstr(at, phase) != NULL && strstr(at, name) != NULL;
        *end = '\n';
    }
    return n;
}

int main(void)
{
    static const char *const names[] = {
        "\"locks: mutex\",\"cat\":\"mutex\"",         "\"locks: condition\",\"cat\":\"condition\"",
        "\"takes: semaphore\",\"cat\":\"semaphore\"", "\"meets: barrier\",\"cat\":\"barrier\"",
        "\"joins: join\",\"cat\":\"join\"",           "\"gathers: group\",\"cat\":\"group\"",
    };
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    setenv("SCHED_TRACE", path, 1);
    setenv("SCHED_TRACE_LIVES", "1", 1);
    setenv("SCHED_JOIN", "suspend", 1); /* else a join may call other tasks instead */
    sched_mutex_init(&mutex);
    sched_cond_init(&cond);
    sched_sem_init(&sem, 0);
    sched_sem_init(&turn, 0);
    sched_barrier_init(&barrier, 2);
    int outcome = sched_init(1, 64, first, NULL);
    ssize_t n = read(fd, text, sizeof text - 1);
    unlink(path);
    CHECK_EQ(outcome, 0);
    CHECK(n > 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (count("\"ph\":\"b\"", names[i]) != 1 || count("\"ph\":\"e\"", names[i]) != 1) {
            printf("%s: begins %d times, ends %d times\n", names[i], count("\"ph\":\"b\"", names[i]),
                   count("\"ph\":\"e\"", names[i]));
            return 1;
        }
    CHECK(count("\"ph\":\"b\"", "\"first: suspended\"") >= 1);
    static const char *const lives[] = {
        "\"locks\",\"cat\":\"life\"", "\"locks: mutex\",\"cat\":\"life\"", "\"locks: condition\",\"cat\":\"life\"",
        "\"joins\",\"cat\":\"life\"", "\"joins: join\",\"cat\":\"life\"",
    };
    for (size_t i = 0; i < sizeof lives / sizeof *lives; i++) {
        CHECK_EQ(count("\"ph\":\"b\"", lives[i]), 1);
        CHECK_EQ(count("\"ph\":\"e\"", lives[i]), 1);
    }
    return 0;
}
