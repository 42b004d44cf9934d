/* blocking.h: for programs whose tasks read, write and fail: blocking sections, the exit status, output that breaks. */

#ifndef BLOCKING_H
#define BLOCKING_H

#include <fcntl.h>

#include "program.h"

/* --- the exit status: the worst that any task has reported -------------------------------------------------------- */

static atomic_int program_status;

__attribute__((unused, format(printf, 3, 4))) static void fail(int status, int error, const char *format, ...)
{
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    complain(error, "%s", message);
    for (int was = program_status; was < status && !atomic_compare_exchange_weak(&program_status, &was, status);)
        ;
}

/* Adds a task, or calls it, if there is no memory for another one. */
__attribute__((unused)) static void spawn(taskfunc f, void *closure, struct scheduler *s)
{
    if (sched_spawn(f, closure, s) != 0)
        f(closure, s);
}

/* --- input and output -------------------------------------------------------------------------------------------- */

/* Opens a file to read it. Returns -1, after a message, if that fails. */
OWN_ERRNO static int open_input(const char *name)
{
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        fail(STATUS_TROUBLE, errno, "%s", name);
    return fd;
}

/* Reads once, at `at`, or from the file's own position if `at` is -1. Returns the number of bytes, or -errno. */
OWN_ERRNO static ssize_t read_once(int fd, void *buffer, size_t size, off_t at)
{
    ssize_t n;
    do
        n = at < 0 ? read(fd, buffer, size) : pread(fd, buffer, size, at);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

/* The same, with a message if it fails. */
__attribute__((unused)) static ssize_t read_input(int fd, const char *name, void *buffer, size_t size, off_t at)
{
    ssize_t n = read_once(fd, buffer, size, at);
    if (n < 0)
        fail(STATUS_TROUBLE, (int)-n, "%s", name);
    return n;
}

/* Reads until there are `least` bytes or the file ends, in a blocking section: another thread takes the worker's place
 * while the file is slow. Returns the number of bytes, or -errno. */
__attribute__((unused)) static ssize_t
read_some(int fd, void *buffer, size_t least, size_t size, off_t at, struct scheduler *s)
{
    size_t have = 0;
    ssize_t n = 1;
    int began = sched_block_begin(s) == 0;
    for (; have < least && n > 0; have += n > 0 ? (size_t)n : 0)
        n = read_once(fd, (char *)buffer + have, size - have, at < 0 ? at : at + (off_t)have);
    if (began)
        sched_block_end(s);
    return n < 0 ? n : (ssize_t)have;
}

/* Writes all, in a blocking section. Returns 0, or errno. */
OWN_ERRNO static int write_all(int fd, const void *data, size_t size, struct scheduler *s)
{
    const char *from = data;
    int error = 0, began = sched_block_begin(s) == 0;
    while (size > 0 && error == 0) {
        ssize_t n = write(fd, from, size);
        if (n < 0 && errno != EINTR)
            error = errno;
        from += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    if (began)
        sched_block_end(s);
    return error;
}

/* Ends the program at once, since standard output takes nothing more: other tasks need not end, nor what is left be
 * written. */
__attribute__((unused, noreturn)) static void output_broken(int error)
{
    complain(error, "standard output");
    _exit(STATUS_TROUBLE);
}

/* To be called after a task has printed. */
OWN_ERRNO static void check_output(void)
{
    if (ferror(stdout))
        output_broken(errno);
}

#endif
