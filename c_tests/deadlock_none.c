/* A process whose tasks all wait, but that may go on, is left alone: a thread, a blocking section, a task of another run
 * or a signal comes after more than a second; or nothing waits.
 * ctest: sleeps
 * ctest: matrix few idle=park,spin threads=4 */
#include "child.h"
#include "block.h"

/* Longer than an idle worker waits before it looks. */
enum { LONG_MS = 2500 };


static sched_sem given;

static void pause_long(void)
{
    struct timespec t = {LONG_MS / 1000, LONG_MS % 1000 * 1000000L};
    while (nanosleep(&t, &t) != 0)
        CHECK_EQ(errno, EINTR);
}

static void *give(void *arg)
{
    pause_long();
    CHECK_EQ(sched_sem_post(&given), 0);
    return NULL;
}

static void takes(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_sem_wait(&given, s), 0);
}

static void gives_late(void *closure, struct scheduler *s)
{
    give(NULL);
}

static void gives_from_section(void *closure, struct scheduler *s)
{
    begin(s);
    pause_long();
    end(s);
    CHECK_EQ(sched_sem_post(&given), 0);
}

static void waits_for_section(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(gives_from_section, NULL, s), 0);
    CHECK_EQ(sched_sem_wait(&given, s), 0);
}

static void by_thread(void)
{
    pthread_t t;
    CHECK_EQ(pthread_create(&t, NULL, give, NULL), 0);
    CHECK_EQ(sched_init(2, 10, takes, NULL), 0);
    CHECK_EQ(pthread_join(t, NULL), 0);
}

static void by_section(void)
{
    CHECK_EQ(sched_init(2, 10, waits_for_section, NULL), 0);
}

/* A task of another run computes, or sleeps, and then gives. */
static void by_other_run(void)
{
    struct sched_pool *p = sched_pool_create(NULL);
    CHECK(p != NULL);
    CHECK_EQ(sched_pool_submit(p, gives_late, NULL), 0);
    CHECK_EQ(sched_init(2, 10, takes, NULL), 0);
    CHECK_EQ(sched_pool_destroy(p), 0);
}

static void runs_inner(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_init(2, 10, gives_late, NULL), 0);
}

static void waits_for_inner(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(runs_inner, NULL, s), 0);
    CHECK_EQ(sched_sem_wait(&given, s), 0);
}

static void by_inner_run(void)
{
    CHECK_EQ(sched_init(2, 10, waits_for_inner, NULL), 0);
}

/* The main thread is the one that gives; the pool has a task that waits. */
static void by_main(void)
{
    struct sched_pool *p = sched_pool_create(NULL);
    CHECK(p != NULL);
    CHECK_EQ(sched_pool_submit(p, takes, NULL), 0);
    give(NULL);
    CHECK_EQ(sched_pool_destroy(p), 0);
}

static void ends(int signal)
{
    _exit(0);
}

/* The process waits to be told by a signal to end. */
static void by_signal(void)
{
    signal(SIGALRM, ends);
    alarm(3);
    sched_init(2, 10, takes, NULL);
}

static void nothing(void *closure, struct scheduler *s)
{
}

/* No task is left, and a thread waits outside. */
static void at_rest(void)
{
    struct sched_pool *p = sched_pool_create(NULL);
    CHECK(p != NULL);
    CHECK_EQ(sched_pool_run(p, nothing, NULL), 0);
    pause_long();
    CHECK_EQ(sched_pool_run(p, nothing, NULL), 0);
    CHECK_EQ(sched_pool_destroy(p), 0);
}

static const struct {
    const char *name;
    void (*body)(void);
} cases[] = {
    {"a thread", by_thread}, {"a section", by_section}, {"another run", by_other_run}, {"an inner run", by_inner_run},
    {"the main thread", by_main}, {"a signal", by_signal}, {"a pool at rest", at_rest},
};

enum { CASES = sizeof cases / sizeof *cases };

int main(void)
{
    pid_t pids[CASES];
    for (int i = 0; i < CASES; i++) {
        pids[i] = fork();
        CHECK(pids[i] >= 0);
        if (pids[i] == 0) {
            struct rlimit no_core = {0, 0};
            setrlimit(RLIMIT_CORE, &no_core);
            cases[i].body();
            _exit(0);
        }
    }
    for (int i = 0; i < CASES; i++) {
        int status = wait_for(pids[i]);
        if (status != 0)
            printf("%s: wait status %#x\n", cases[i].name, (unsigned)status);
        CHECK_EQ(status, 0);
    }
    return 0;
}
