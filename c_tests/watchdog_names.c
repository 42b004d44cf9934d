/* SCHED_WATCHDOG: the text names what each worker runs: the innermost task, and the outermost one if tasks lie on top of
 * each other; the task in a blocking section; and the task that another joins while a worker runs it. It does so where the
 * compiler puts spawns and forks into the program (sched_inline.h), too.
 * ctest: static debug sleeps
 * ctest: matrix idle=park steal=half overflow=grow threads=1,4 */
#include "child.h"
#include <poll.h>
#include <sched_inline.h>
#include <sched_tasks.h>
#include <stdatomic.h>

#define APART static __attribute__((noinline))

static atomic_int has_begun, may_end;
static int from_stderr, is_cont;
static char said[1 << 14];

/* Reads what the library says until the text has come, or nothing more comes for so long. */
static int reads(const char *text, int ms)
{
    struct pollfd input = {.fd = from_stderr, .events = POLLIN};
    size_t got = strlen(said);
    while (strstr(said, text) == NULL) {
        if (poll(&input, 1, ms) <= 0)
            return 0;
        ssize_t more = read(from_stderr, said + got, sizeof said - 1 - got);
        CHECK(more > 0);
        got += (size_t)more;
        said[got] = 0;
    }
    return 1;
}

/* Asks for the state until the text is in it. */
static void *asks(void *text)
{
    struct timespec shortly = {0, 10000000};
    while (!has_begun)
        nanosleep(&shortly, NULL);
    do {
        said[0] = 0;
        CHECK_EQ(kill(getpid(), SIGQUIT), 0);
        CHECK(reads("libsched: SIGQUIT\n", -1));
    } while (!reads(text, 200));
    may_end = 1;
    return NULL;
}

/* Runs root with n workers until a state is shown that has the text. */
static void shows(int n, taskfunc root, const char *text)
{
    int ends[2];
    pthread_t thread;
    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(dup2(ends[1], 2), 2);
    from_stderr = ends[0];
    alarm(60);
    setenv("SCHED_WATCHDOG", "10min", 1);
    unsetenv("SCHED_THREADS");
    CHECK_EQ(pthread_create(&thread, NULL, asks, (void *)text), 0);
    CHECK_EQ(sched_init(n, 100, root, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

/* Calls nothing meanwhile, so that there is no return address into it. */
APART void computes(void *closure, struct scheduler *s)
{
    (void)closure;
    (void)s;
    has_begun = 1;
    while (!may_end)
        continue;
}

APART void spawns(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(computes, closure, s), 0);
}

static void a_spawned_task(void *arg)
{
    (void)arg;
    shows(2, spawns, ": runs a task (computes)");
}

static void fork_and_join(taskfunc f, void *closure, struct scheduler *s)
{
    sched_task t;
    sched_fork(&t, f, closure, s);
    sched_join(&t, s);
}

APART void forks(void *closure, struct scheduler *s)
{
    fork_and_join(computes, closure, s);
    atomic_fetch_add(&has_begun, 1); /* so that the join is not the function's last act */
}

APART void forks_twice(void *closure, struct scheduler *s)
{
    fork_and_join(forks, closure, s);
    atomic_fetch_add(&has_begun, 1);
}

static void tasks_in_joins(void *arg)
{
    (void)arg;
    /* In kind cont each task has a stack of its own. */
    shows(1, forks_twice,
          is_cont ? ": runs a task (computes)" : ": runs a task (computes) on top of another (forks_twice)");
}

APART void blocks(void *closure, struct scheduler *s)
{
    struct timespec shortly = {0, 1000000};
    (void)closure;
    CHECK_EQ(sched_block_begin(s), 0);
    has_begun = 1;
    while (!may_end)
        nanosleep(&shortly, NULL);
    CHECK_EQ(sched_block_end(s), 0);
}

static void a_blocking_section(void *arg)
{
    (void)arg;
    shows(2, blocks, " (blocks) is in a blocking section");
}

APART void joins_running(void *closure, struct scheduler *s)
{
    sched_task t;
    sched_fork(&t, computes, closure, s);
    while (!has_begun) /* until another worker has taken the one or the other */
        continue;
    sched_join(&t, s);
    atomic_fetch_add(&has_begun, 1);
}

static void a_join_of_a_running_task(void *arg)
{
    (void)arg;
    shows(2, joins_running, " (joins_running) joins a task (computes), which worker ");
}

int main(void)
{
    const char *kind = getenv("SCHED_KIND"), *threads = getenv("SCHED_THREADS");
    is_cont = kind != NULL && strcmp(kind, "cont") == 0;
    void (*const scenes[])(void *) = {a_spawned_task, tasks_in_joins, a_blocking_section};
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        in_child(scenes[i], NULL);
        CHECK_CHILD_EXITED(0);
    }
    /* With one thread a task does not run while another joins it. */
    if (kind != NULL && threads != NULL && strcmp(threads, "1") != 0 && strcmp(kind, "serial") != 0) {
        in_child(a_join_of_a_running_task, NULL);
        CHECK_CHILD_EXITED(0);
    }
    return 0;
}
