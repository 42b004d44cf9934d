/* watchdogs: SCHED_WATCHDOG. */
#include "case.h"
#include "child.h"
#include "sync.h"
#include "shown.h"
#include "pool.h"
#include <sched_tasks.h>
#include <stdatomic.h>

/* watchdog: SCHED_WATCHDOG: the state is shown once when no task has ended for that time and a task
 * waits or is queued, and at SIGQUIT; the run continues. It is not shown while nothing waits. A
 * handler of the program's for SIGQUIT is kept.
 * ctest: static sleeps
 * ctest: matrix few */
enum { ATTEMPTS = 10, TOO_LATE = 9 };

static sched_sem watchdog_given, waiting;
static int watchdog_from_stderr, is_late;
static atomic_int handled;
static char watchdog_said[1 << 16];

/* Reads what the library says until the text has come n times. */
static void read_until(const char *text, int n)
{
    size_t got = strlen(watchdog_said);
    for (;;) {
        int found = 0;
        for (const char *at = watchdog_said; (at = strstr(at, text)) != NULL; at++)
            found++;
        if (found >= n)
            return;
        ssize_t more = read(watchdog_from_stderr, watchdog_said + got, sizeof watchdog_said - 1 - got);
        CHECK(more > 0);
        got += (size_t)more;
        watchdog_said[got] = 0;
    }
}

static void own_stderr(void)
{
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(dup2(ends[1], 2), 2);
    watchdog_from_stderr = ends[0];
    alarm(60);
}

static void takes(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_sem_post(&waiting), 0);
    CHECK_EQ(sched_sem_wait(&watchdog_given, s), 0);
    CHECK_EQ(sched_sem_post(&waiting), 0); /* so that the wait is not the function's last act */
}

static void *gives_when_shown(void *arg)
{
    struct timespec several = {0, 400000000};
    read_until("no task has ended for", 1);
    read_until("queued for all\n", 1);
    if (strstr(watchdog_said, "1 task waits, 0 are queued for all") != NULL)
        read_until("(takes) waits for the semaphore 0x", 1);
    else
        is_late = 1; /* a busy machine did not let the task come to wait in the time */
    nanosleep(&several, NULL);
    CHECK_EQ(sched_sem_post(&watchdog_given), 0);
    return NULL;
}

static void *watchdog_asks(void *arg)
{
    CHECK_EQ(sched_sem_wait(&waiting, NULL), 0);
    /* The task is suspended now, or soon. */
    for (int i = 1, shown = 0, waits = 0; shown < 2; i++) {
        CHECK_EQ(kill(getpid(), SIGQUIT), 0);
        read_until("libsched: SIGQUIT\n", i);
        read_until("queued for all\n", i);
        const char *last = watchdog_said;
        for (const char *at = watchdog_said; (at = strstr(at, "libsched: SIGQUIT\n")) != NULL; at++)
            last = at;
        if (strstr(last, "1 task waits, 0 are queued for all") != NULL) {
            read_until(" waits for the semaphore 0x", ++waits);
            shown += strstr(last, "(takes) waits for the semaphore 0x") != NULL;
        }
    }
    CHECK_EQ(sched_sem_post(&watchdog_given), 0);
    return NULL;
}

static void with_thread(const char *time, void *(*thread)(void *))
{
    own_stderr();
    setenv("SCHED_WATCHDOG", time, 1);
    pthread_t t = begin_thread(thread, NULL);
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
    CHECK(strstr(strstr(watchdog_said, "no task has ended") + 1, "no task has ended") == NULL);
}

static void asked(void *arg)
{
    struct sigaction after;
    with_thread("1min", watchdog_asks);
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

static void watchdog_computes(void *closure, struct scheduler *s)
{
    double until = now() + 0.4;
    while (now() < until)
        continue;
}

static void computes_alone(void *arg)
{
    setenv("SCHED_WATCHDOG", "50ms", 1);
    CHECK_EQ(sched_init(2, 10, watchdog_computes, NULL), 0);
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

CASE(watchdog)
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
        for (int attempt = 0; attempt == 0 || (child.said[0] != 0 && attempt < ATTEMPTS); attempt++)
            CHECK_IN_CHILD(silent[i], NULL);
        check_child(__FILE__, __LINE__, child.said[0] == 0, "say nothing");
    }
}

/* watchdog_again: The watchdog takes many short runs, each with a task that waits, for what they
 * are, and not for one run in which no task ends. (A later run is often at the address of an
 * earlier one. The pool keeps the watchdog's thread alive.)
 * ctest: static sleeps */
#define LIMIT 0.4 /* seconds, of the watchdog */

static sched_sem again_given;

static void waits(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_sem_wait(&again_given, s), 0);
    CHECK_EQ(sched_sem_post(&again_given), 0); /* so that the wait is not the function's last act */
    CHECK_EQ(sched_sem_wait(&again_given, s), 0);
}

static void *gives(void *arg)
{
    pause_us(20000);
    CHECK_EQ(sched_sem_post(&again_given), 0);
    return NULL;
}

static void many_runs(void *arg)
{
    double end = now() + 3 * LIMIT, longest = 0;
    setenv("SCHED_WATCHDOG", "400ms", 1);
    struct sched_pool *pool = pool_of(1);
    while (now() < end) {
        double before = now();
        pthread_t thread = begin_thread(gives, NULL);
        CHECK_EQ(sched_init(2, 10, waits, NULL), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        double took = now() - before;
        longest = took > longest ? took : longest;
    }
    CHECK_EQ(sched_pool_destroy(pool), 0);
    printf("%s", longest < LIMIT ? "each run was short\n" : "a run was long\n"); /* on a busy machine */
    fflush(stdout);
}

CASE(watchdog_again)
{
    CHECK_IN_CHILD(many_runs, NULL);
    CHECK(strcmp(child.said, "each run was short\n") == 0 || strstr(child.said, "a run was long\n") != NULL);
}

/* watchdog_begin: The watchdog looks at runs while others begin: it sees each run with all of its
 * workers, or does not see it. Each run here has workers that the process did not have before.
 * ctest: static debug timeout=120 */
enum { MOST = 4096 / SMALLER, STEP = 32 };

static atomic_int over;

static void *looker(void *arg)
{
    while (!over) {
        kill(getpid(), SIGQUIT);
        pause_us(50);
    }
    return NULL;
}

CASE(watchdog_begin)
{
    unsetenv("SCHED_THREADS");
    setenv("SCHED_WATCHDOG", "1ms", 1);
    CHECK(freopen("/dev/null", "w", stderr) != NULL);
    struct sched_pool *pool = pool_of(1);
    pthread_t thread = begin_thread(looker, NULL);
    for (int workers = 2; workers <= MOST; workers += STEP)
        CHECK_EQ(sched_init(workers, 0, nothing, NULL), 0);
    over = 1;
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

/* From here on the compiler puts spawns, forks and joins into the program. */
#include <sched_inline.h>

/* watchdog_names: SCHED_WATCHDOG: the text names what each worker runs: the innermost task, and the
 * outermost one if tasks lie on top of each other; the task in a blocking section; and the task
 * that another joins while a worker runs it. It does so where the compiler puts spawns and forks
 * into the program (sched_inline.h), too.
 * ctest: static debug sleeps
 * ctest: matrix idle=park steal=half overflow=grow threads=1,4 */
#define NAMES_APART static __attribute__((noinline))

static int is_cont;

/* Calls nothing meanwhile, so that there is no return address into it. */
NAMES_APART void names_computes(void *closure, struct scheduler *s)
{
    has_begun = 1;
    while (!may_end)
        continue;
}

NAMES_APART void spawns(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(names_computes, closure, s), 0);
}

static void a_spawned_task(void *arg)
{
    shows(2, spawns, ": runs a task (names_computes)", NULL);
}

static void fork_and_join(taskfunc f, void *closure, struct scheduler *s)
{
    sched_task t;
    sched_fork(&t, f, closure, s);
    sched_join(&t, s);
}

NAMES_APART void forks(void *closure, struct scheduler *s)
{
    fork_and_join(names_computes, closure, s);
    atomic_fetch_add(&has_begun, 1); /* so that the join is not the function's last act */
}

NAMES_APART void forks_twice(void *closure, struct scheduler *s)
{
    fork_and_join(forks, closure, s);
    atomic_fetch_add(&has_begun, 1);
}

static void tasks_in_joins(void *arg)
{
    /* In kind cont each task has a stack of its own. */
    shows(1, forks_twice,
          is_cont ? ": runs a task (names_computes)" : ": runs a task (names_computes) on top of another (forks_twice)",
          NULL);
}

NAMES_APART void blocks(void *closure, struct scheduler *s)
{
    struct timespec shortly = {0, 1000000};
    CHECK_EQ(sched_block_begin(s), 0);
    has_begun = 1;
    while (!may_end)
        nanosleep(&shortly, NULL);
    CHECK_EQ(sched_block_end(s), 0);
}

static void a_blocking_section(void *arg)
{
    shows(2, blocks, " (blocks) is in a blocking section", NULL);
}

NAMES_APART void joins_running(void *closure, struct scheduler *s)
{
    sched_task t;
    sched_fork(&t, names_computes, closure, s);
    while (!has_begun) /* until another worker has taken the one or the other */
        continue;
    sched_join(&t, s);
    atomic_fetch_add(&has_begun, 1);
}

static void a_join_of_a_running_task(void *arg)
{
    shows(2, joins_running, " (joins_running) joins a task (names_computes), which worker ", NULL);
}

CASE(watchdog_names)
{
    const char *kind = getenv("SCHED_KIND"), *threads = getenv("SCHED_THREADS");
    is_cont = kind != NULL && strcmp(kind, "cont") == 0;
    void (*const scenes[])(void *) = {a_spawned_task, tasks_in_joins, a_blocking_section};
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
        CHECK_IN_CHILD(scenes[i], NULL);
    /* With one thread a task does not run while another joins it. */
    if (kind != NULL && threads != NULL && strcmp(threads, "1") != 0 && strcmp(kind, "serial") != 0)
        CHECK_IN_CHILD(a_join_of_a_running_task, NULL);
}
