/* A signal ends the process in the middle of a run: the timeline up to there is written, and the
 * signal ends the process as ever. What the program does with a signal itself is left alone.
 * ctest: static sleeps
 * ctest: matrix deque=split,mutex idle=park threads=2 */
#include "child.h"
#include <sched_tasks.h>

enum { TASKS = 100 };

static char path[] = "/tmp/sched-trace-XXXXXX", text[1 << 20];
static int file, ran;
static volatile sig_atomic_t handled;

static void leaf(void *closure, struct scheduler *s)
{
    __atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
}

static void fault(void)
{
    int *volatile nowhere = NULL;
    *(volatile int *)nowhere = 1;
}

static void send_term(void) { kill(getpid(), SIGTERM); }
static void raise_bus(void) { raise(SIGBUS); }
static void raise_pipe(void) { raise(SIGPIPE); }
static void alarm_soon(void) { ualarm(1000, 0); }

/* A child of the process dies of a signal: the timeline of the parent is not affected. (A worker's thread blocks the
 * signal.) */
static void child_dies(void)
{
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    pid_t pid = fork();
    if (pid == 0) {
        pthread_sigmask(SIG_UNBLOCK, &term, NULL);
        raise(SIGTERM);
        _exit(1);
    }
    int status = wait_for(pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    pid = vfork();
    if (pid == 0) {
        pthread_sigmask(SIG_UNBLOCK, &term, NULL);
        kill(getpid(), SIGTERM);
        _exit(1);
    }
    status = wait_for(pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

static void deadlock(void) {}

static const struct ending {
    void (*act)(void);
    int signal; /* that ends the process */
} endings[] = {
    {fault, SIGSEGV}, {abort, SIGABRT}, {send_term, SIGTERM}, {raise_bus, SIGBUS}, {raise_pipe, SIGPIPE},
    {alarm_soon, SIGALRM}, {child_dies, 0}, {deadlock, SIGABRT},
};

static void act(void *closure, struct scheduler *s)
{
    const struct ending *ending = closure;
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(sched_spawn(leaf, NULL, s), 0);
    while (__atomic_load_n(&ran, __ATOMIC_RELAXED) < TASKS)
        sched_task_yield(s);
    ending->act();
    if (ending->act == deadlock) {
        sched_sem never;
        sched_sem_init(&never, 0);
        sched_sem_wait(&never, s);
    }
    while (ending->signal)
        sched_task_yield(s);
}

static void body(void *ending)
{
    setenv("SCHED_TRACE", path, 1);
    CHECK_EQ(sched_init(2, 16, act, ending), 0);
}

static void handle(int signal)
{
    handled = 1;
}

static int is_default(int signal)
{
    struct sigaction now;
    CHECK_EQ(sigaction(signal, NULL, &now), 0);
    return now.sa_handler == SIG_DFL;
}

static void send_both(void *unused, struct scheduler *s)
{
    CHECK(!is_default(SIGTERM));
    kill(getpid(), SIGHUP); /* (raise would send it to this thread, which blocks it if the library has made it) */
    kill(getpid(), SIGINT);
    while (!handled)
        usleep(100);
}

/* A handler of the program is called, an ignored signal is ignored, and after the run every action is as it was. */
static void keeps_actions(void *unused)
{
    setenv("SCHED_TRACE", path, 1);
    signal(SIGINT, handle);
    signal(SIGHUP, SIG_IGN);
    CHECK_EQ(sched_init(1, 16, send_both, NULL), 0);
    CHECK(handled);
    CHECK(is_default(SIGTERM) && is_default(SIGABRT) && !is_default(SIGINT) && !is_default(SIGHUP));
    unsetenv("SCHED_TRACE");
    handled = 0;
}

static void few(void *unused, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(leaf, NULL, s), 0);
}

/* A signal comes at some moment of some run. */
static void is_killed(void *microseconds)
{
    setenv("SCHED_TRACE", path, 1);
    ualarm(*(useconds_t *)microseconds, 0);
    for (;;)
        CHECK_EQ(sched_init(2, 16, few, NULL), 0);
}

/* Reads the file, which is empty or a closed array, and empties it. */
static void read_file(void)
{
    ssize_t n = pread(file, text, sizeof text - 1, 0);
    CHECK(n >= 0);
    text[n] = 0;
    if (n == 0)
        return;
    CHECK(n > 4 && strncmp(text, "[\n{", 3) == 0 && strcmp(text + n - 3, "\n]\n") == 0);
    CHECK_EQ(ftruncate(file, 0), 0);
}

/* The file has a slice for each task. */
static void check_file(void)
{
    int begun = 0;
    read_file();
    for (const char *at = text; (at = strstr(at, "\"begins\":true")) != NULL; at++)
        begun++;
    CHECK(begun >= TASKS);
}

int main(void)
{
    file = mkstemp(path);
    CHECK(file >= 0);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const struct ending *ending = &endings[i];
        in_child(body, (void *)(uintptr_t)ending);
        if (ending->signal)
            check_child(__FILE__, __LINE__, WIFSIGNALED(child.status) && WTERMSIG(child.status) == ending->signal, "be killed");
        else
            CHECK_CHILD_EXITED(0);
        check_file();
    }
    for (useconds_t us = 5000; us < 5400; us += 7) {
        in_child(is_killed, &us);
        check_child(__FILE__, __LINE__, WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGALRM, "be killed");
        read_file();
    }
    in_child(keeps_actions, NULL);
    CHECK_CHILD_EXITED(0);
    unlink(path);
    return 0;
}
