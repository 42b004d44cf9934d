/* child.h: runs a part of a test in a process of its own, and keeps what it wrote. C and C++. */
#ifndef CHILD_H
#define CHILD_H

#include "check.h"
#include <sys/wait.h>

/* A shell without job control starts programs in the background with these signals ignored, and children inherit that.
 * The tests begin as in the foreground. */
__attribute__((constructor, unused)) static void heed_the_terminal(void)
{
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
}

struct child {
    int status;       /* as from waitpid */
    char said[16384]; /* standard output and standard error */
};

static struct child child;

/* Waits for the end of a child process; returns its status. */
static inline int wait_for(pid_t pid)
{
    int status;
    CHECK(pid > 0);
    while (waitpid(pid, &status, 0) < 0)
        CHECK_EQ(errno, EINTR);
    return status;
}

/* Reads more of what the child writes, and adds it to the *got bytes of child.said; false at the
 * end. Text for which there is no room is also read, so that the child never waits for its reader.
 * The text comes through an array of its own: compilers cannot tell that a read to child.said +
 * *got stays within child.said. */
static inline int read_said(int fd, size_t *got)
{
    char part[4096];
    ssize_t n;

    while ((n = read(fd, part, sizeof part)) < 0 && errno == EINTR)
        continue;
    for (ssize_t i = 0; i < n && *got < sizeof child.said - 1; i++)
        child.said[(*got)++] = part[i];
    child.said[*got] = 0;
    return n > 0;
}

/* Reads what the child writes until it has written the text; false if it ends before. child.said has all that was read. */
static inline int reads_until(int from, const char *text)
{
    size_t got = strlen(child.said);
    while (strstr(child.said, text) == NULL)
        if (!read_said(from, &got))
            return 0;
    return 1;
}

/* How often the text stands in what the child wrote. */
static inline int count_said(const char *text)
{
    int n = 0;
    for (const char *at = child.said; (at = strstr(at, text)) != NULL; at++)
        n++;
    return n;
}

/* Begins body(arg) in a child process, which then ends by _exit(0). *said: the end of a pipe from which to read what the
 * child writes. */
static inline pid_t begin_child(void (*body)(void *), void *arg, int *said)
{
    int ends[2];

    CHECK_EQ(pipe(ends), 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        dup2(ends[1], 1);
        dup2(ends[1], 2);
        close(ends[0]);
        close(ends[1]);
        body(arg);
        _exit(0);
    }
    close(ends[1]);
    *said = ends[0];
    return pid;
}

/* Runs body(arg) in a child process to its end. */
static inline void in_child(void (*body)(void *), void *arg)
{
    int said;
    size_t got = 0;
    pid_t pid = begin_child(body, arg, &said);
    while (read_said(said, &got))
        continue;
    close(said);
    child.status = wait_for(pid);
}

/* Like in_child, for a body that has futex denied. The C library's own locks need futexes: if two
 * threads want one at the same moment, as in one of some hundred children, it ends the process with
 * this message. Such a child shows nothing. */
static inline void in_child_without_futex(void (*body)(void *), void *arg)
{
    for (int tries = 0; tries < 10; tries++) {
        in_child(body, arg);
        if (!strstr(child.said, "The futex facility returned an unexpected error code"))
            return;
    }
}

static inline void check_child(const char *file, int line, int ok, const char *wanted)
{
    char text[512];
    if (ok)
        return;
    snprintf(text, sizeof text, "%s:%d: failed: the child should %s; wait status %#x; it said:\n",
             file, line, wanted, (unsigned)child.status);
    check_say(text);
    check_say(child.said[0] ? child.said : "(nothing)\n");
    _exit(1);
}

#define CHECK_CHILD_EXITED(code)                                                     \
    check_child(__FILE__, __LINE__,                                                  \
                WIFEXITED(child.status) && WEXITSTATUS(child.status) == (code),      \
                "exit with " #code)

/* A child process runs body(arg), and exits with 0: the arguments are those of in_child. */
#define CHECK_IN_CHILD(...)                                                          \
    do {                                                                             \
        in_child(__VA_ARGS__);                                                       \
        CHECK_CHILD_EXITED(0);                                                       \
    } while (0)

/* The child exited with 0. If the child was skipped, the test is also skipped. */
#define CHECK_CHILD_PASSED()                                                         \
    do {                                                                             \
        if (WIFEXITED(child.status) && WEXITSTATUS(child.status) == 77)              \
            skip(child.said);                                                        \
        CHECK_CHILD_EXITED(0);                                                       \
    } while (0)

/* The child ended by SIGABRT and its message contains the word, in whatever case. */
#define CHECK_CHILD_ABORTED(word)                                                    \
    check_child(__FILE__, __LINE__,                                                  \
                WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGABRT       \
                    && strcasestr(child.said, word) != NULL,                         \
                "abort with a message that contains \"" word "\"")

static inline int count_lines(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

#define CHECK_CHILD_SAID(text) \
    check_child(__FILE__, __LINE__, strstr(child.said, text) != NULL, "say \"" #text "\"")

#endif
