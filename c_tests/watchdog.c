/* SCHED_WATCHDOG: the state is shown once when no task has ended for that time and a task waits or is queued, and at
 * SIGQUIT; the run goes on. It is not shown while nothing waits. A handler of the program's for SIGQUIT is kept.
 * ctest: static sleeps
 * ctest: matrix few */
#include "child.h"
#include "sync.h"

enum { ATTEMPTS = 10, TOO_LATE = 9 };

static sched_sem given, waiting;
static int from_stderr, is_late;
static atomic_int handled;
static char said[1 << 16];

/* Reads what the library says until the text has come n times. */
static void read_until(const char *text, int n)
{
    size_t got = strlen(said);
    for (;;) {
        int found = 0;
        for (const char *at = said; (at = strstr(at, text)) != NULL; at++)
            found++;
        if (found >= n)
            return;
        ssize_t more = read(from_stderr, said + got, sizeof said - 1 - got);
        CHECK(more > 0);
        got += (size_t)more;
        said[got] = 0;
    }
}

static void own_stderr(void)
{
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(dup2(ends[1], 2), 2);
    from_stderr = ends[0];
    alarm(60);
}

static void takes(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_sem_post(&waiting), 0);
    CHECK_EQ(sched_sem_wait(&given, s), 0);
    CHECK_EQ(sched_sem_post(&waiting), 0); /* so that the wait is not the function's last act */
}

static void *gives_when_shown(void *arg)
{
    struct timespec several = {0, 400000000};
    read_until("no task has ended for", 1);
    read_until("queued for all\n", 1);
    if (strstr(said, "1 task waits, 0 are queued for all") != NULL)
        read_until("(takes) waits for the semaphore 0x", 1);
    else
        is_late = 1; /* a busy machine did not let the task come to wait in the time */
    nanosleep(&several, NULL);
    CHECK_EQ(sched_sem_post(&given), 0);
    return NULL;
}

static void *asks(void *arg)
{
    CHECK_EQ(sched_sem_wait(&waiting, NULL), 0);
    /* The task is suspended now, or soon. */
    for (int i = 1, shown = 0, waits = 0; shown < 2; i++) {
        CHECK_EQ(kill(getpid(), SIGQUIT), 0);
        read_until("libsched: SIGQUIT\n", i);
        read_until("queued for all\n", i);
        const char *last = said;
        for (const char *at = said; (at = strstr(at, "libsched: SIGQUIT\n")) != NULL; at++)
            last = at;
        if (strstr(last, "1 task waits, 0 are queued for all") != NULL) {
            read_until(" waits for the semaphore 0x", ++waits);
            shown += strstr(last, "(takes) waits for the semaphore 0x") != NULL;
        }
    }
    CHECK_EQ(sched_sem_post(&given), 0);
    return NULL;
}

static void with_thread(const char *time, void *(*thread)(void *))
{
    pthread_t t;
    own_stderr();
    setenv("SCHED_WATCHDOG", time, 1);
    CHECK_EQ(pthread_create(&t, NULL, thread, NULL), 0);
    CHECK_EQ(sched_init(2, 10, takes, NULL), 0);
    CHECK_EQ(pthread_join(t, NULL), 0);
}

static void hangs_for_a_while(void *arg)
{
    with_thread("50ms", gives_when_shown);
    if (is_late)
        _exit(TOO_LATE);
    CHECK_EQ(dprintf(2, "the end\n"), 8);
    read_until("the end\n", 1);
    CHECK(strstr(strstr(said, "no task has ended") + 1, "no task has ended") == NULL);
}

static void asked(void *arg)
{
    struct sigaction after;
    with_thread("1min", asks);
    CHECK_EQ(sigaction(SIGQUIT, NULL, &after), 0);
    CHECK(after.sa_handler == SIG_DFL);
}

static void on_quit(int signal)
{
    atomic_fetch_add(&handled, 1);
}

static void quits(void *closure, struct scheduler *s)
{
    CHECK_EQ(raise(SIGQUIT), 0);
}

static void handles_itself(void *arg)
{
    setenv("SCHED_WATCHDOG", "1min", 1);
    signal(SIGQUIT, on_quit);
    CHECK_EQ(sched_init(1, 10, quits, NULL), 0);
    CHECK_EQ(kill(getpid(), SIGQUIT), 0);
    CHECK(atomic_load(&handled) > 0);
}

static void looks_at_action(void *closure, struct scheduler *s)
{
    struct sigaction during;
    CHECK_EQ(sigaction(SIGQUIT, NULL, &during), 0);
    CHECK_EQ(during.sa_handler != SIG_DFL, *(int *)closure);
}

static void without_variable(void *arg)
{
    int ours = 0;
    unsetenv("SCHED_WATCHDOG");
    CHECK_EQ(sched_init(2, 10, looks_at_action, &ours), 0);
    setenv("SCHED_WATCHDOG", "0", 1);
    CHECK_EQ(sched_init(2, 10, looks_at_action, &ours), 0);
    setenv("SCHED_WATCHDOG", "1s", 1);
    ours = 1;
    CHECK_EQ(sched_init(2, 10, looks_at_action, &ours), 0);
}

static void computes(void *closure, struct scheduler *s)
{
    double until = now() + 0.4;
    while (now() < until)
        continue;
}

static void computes_alone(void *arg)
{
    setenv("SCHED_WATCHDOG", "50ms", 1);
    CHECK_EQ(sched_init(2, 10, computes, NULL), 0);
}

static void rests(void *arg)
{
    struct timespec several = {0, 400000000};
    setenv("SCHED_WATCHDOG", "50ms", 1);
    struct sched_pool *p = sched_pool_create(NULL);
    CHECK(p != NULL);
    nanosleep(&several, NULL);
    CHECK_EQ(sched_pool_destroy(p), 0);
}

int main(void)
{
    void (*const loud[])(void *) = {hangs_for_a_while, asked};
    void (*const silent[])(void *) = {handles_itself, without_variable, computes_alone, rests};
    for (size_t i = 0; i < sizeof loud / sizeof *loud; i++) {
        for (int attempt = 0; attempt == 0 || (child.status == TOO_LATE << 8 && attempt < ATTEMPTS); attempt++)
            in_child(loud[i], NULL);
        CHECK_CHILD_EXITED(0);
    }
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++) {
        /* A task that is queued for the watchdog's time, because the machine is busy, may be shown. */
        for (int attempt = 0; attempt == 0 || (child.said[0] != 0 && attempt < ATTEMPTS); attempt++) {
            in_child(silent[i], NULL);
            CHECK_CHILD_EXITED(0);
        }
        check_child(__FILE__, __LINE__, child.said[0] == 0, "say nothing");
    }
    return 0;
}
