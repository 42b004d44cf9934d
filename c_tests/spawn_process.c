/* vfork, posix_spawn and system in a task, beside others: each child runs and is waited for, the
 * run continues, and no descriptor is left. A program that a task starts has the signal mask of the
 * task's thread, as libsched(7) says, unless the task gives it another one.
 * ctest: static
 * ctest: matrix kind=steal,lifo,cont,serial deque=split,mutex idle=park threads=1,4 */
#include "child.h"
#include "marks.h"
#include "proc.h"
#include <sched_tasks.h>
#include <spawn.h>

enum { TASKS = 24 / SMALLER, OTHERS = 200 };

extern char **environ;

static char program[PATH_MAX];

/* The started program, which has a run of its own. Its status is the argument, or 99 if SIGTERM is
 * blocked. */
static void count(void *closure, struct scheduler *s)
{
    __atomic_add_fetch((int *)closure, 1, __ATOMIC_RELAXED);
}

static void spawn_some(void *closure, struct scheduler *s)
{
    CHECK_TIMES(10, sched_spawn(count, closure, s));
}

static int be_started(const char *wanted)
{
    int ran = 0;
    sigset_t mask;
    CHECK_EQ(sigprocmask(SIG_BLOCK, NULL, &mask), 0);
    CHECK_EQ(sched_init(2, 4, spawn_some, &ran), 0);
    CHECK_EQ(ran, 10);
    return sigismember(&mask, SIGTERM) ? 99 : atoi(wanted);
}

static int status_of(pid_t pid)
{
    int status = wait_for(pid);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void by_vfork(char *wanted)
{
    char *const words[] = {program, wanted, NULL};
    pid_t pid = vfork();
    if (pid == 0) {
        sigset_t nothing;
        sigemptyset(&nothing);
        sigprocmask(SIG_SETMASK, &nothing, NULL);
        execv(program, words);
        _exit(98);
    }
    CHECK_EQ(status_of(pid), atoi(wanted));
    pid = vfork();
    if (pid == 0)
        _exit(3);
    CHECK_EQ(status_of(pid), 3);
}

static void by_posix_spawn(char *wanted)
{
    char *const words[] = {program, wanted, NULL};
    posix_spawnattr_t attributes;
    sigset_t nothing;
    pid_t pid;
    sigemptyset(&nothing);
    CHECK_EQ(posix_spawnattr_init(&attributes), 0);
    CHECK_EQ(posix_spawnattr_setsigmask(&attributes, &nothing), 0);
    CHECK_EQ(posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK), 0);
    CHECK_EQ(posix_spawn(&pid, program, NULL, &attributes, words, environ), 0);
    CHECK_EQ(posix_spawnattr_destroy(&attributes), 0);
    CHECK_EQ(status_of(pid), atoi(wanted));

    /* Without an attribute the mask is the thread's. */
    int is_blocked = !on_caller();
    CHECK_EQ(posix_spawn(&pid, program, NULL, NULL, words, environ), 0);
    CHECK_EQ(status_of(pid), is_blocked ? 99 : atoi(wanted));
}

static void by_shell(char *wanted)
{
    char command[64];
    snprintf(command, sizeof command, "exit %s", wanted);
    int status = system(command);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), atoi(wanted));
    FILE *pipe = popen("echo a line", "r");
    CHECK(pipe != NULL);
    CHECK(fgets(command, sizeof command, pipe) != NULL && strcmp(command, "a line\n") == 0);
    CHECK_EQ(pclose(pipe), 0);
}

static void other(void *closure, struct scheduler *s)
{
    sched_task_yield(s);
    mark((long)closure);
}

static void start(void *closure, struct scheduler *s)
{
    static void (*const ways[])(char *) = {by_vfork, by_posix_spawn, by_shell};
    long i = (long)closure;
    char wanted[24];
    snprintf(wanted, sizeof wanted, "%ld", 40 + i);
    ways[i % 3](wanted);
    for (long k = 0; k < OTHERS; k++)
        CHECK_EQ(sched_spawn(other, (void *)(TASKS + i * OTHERS + k), s), 0);
    mark(i);
}

static void root(void *closure, struct scheduler *s)
{
    for (long i = 0; i < TASKS; i++)
        CHECK_EQ(sched_spawn(start, (void *)i, s), 0);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return be_started(argv[1]);
    CHECK(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
    int descriptors = descriptor_count();
    CHECK_EQ(sched_init(4, 16, root, NULL), 0);
    check_marks(TASKS + TASKS * OTHERS);
    CHECK_EQ(descriptor_count(), descriptors);
    CHECK_ERRNO((int)waitpid(-1, NULL, WNOHANG), ECHILD);
    return 0;
}
