/* pty.h: runs a part of a test in a process of its own, whose standard error is a terminal, and keeps what it wrote
 * there. */
#ifndef PTY_H
#define PTY_H

#include "child.h"
#include <fcntl.h>
#include <sys/ioctl.h>

enum { COLUMNS = 100 };

/* The terminal's other end. */
static int terminal;

/* Runs body(arg) in a child process, which then ends by _exit(0). Its TERM is `term`. */
static inline pid_t begin_on_terminal(const char *term, void (*body)(void *), void *arg)
{
    struct winsize size = {.ws_row = 25, .ws_col = COLUMNS};

    terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal < 0)
        skip("there are no pseudo-terminals");
    CHECK_EQ(grantpt(terminal), 0);
    CHECK_EQ(unlockpt(terminal), 0);
    CHECK_EQ(ioctl(terminal, TIOCSWINSZ, &size), 0);
    int end = open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
    CHECK(end >= 0);
    child.said[0] = 0;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        CHECK_EQ(dup2(end, 2), 2);
        setenv("TERM", term, 1);
        alarm(60);
        body(arg);
        _exit(0);
    }
    close(end);
    return pid;
}

/* Reads what the child writes until it has written the text, or, with NULL, until it has closed the terminal. */
static inline void read_terminal(const char *text)
{
    size_t got = strlen(child.said);
    while (!text || !strstr(child.said, text)) {
        if (!read_said(terminal, &got)) { /* EIO: no process has the terminal open */
            check_child(__FILE__, __LINE__, !text, text ? text : "");
            return;
        }
        CHECK(got < sizeof child.said - 1);
    }
}

/* Waits for the child's end. */
static inline void end_on_terminal(pid_t pid)
{
    read_terminal(NULL);
    close(terminal);
    child.status = wait_for(pid);
    CHECK_CHILD_EXITED(0);
}

#endif
