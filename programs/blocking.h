/* blocking.h: for programs whose tasks read, write and fail: blocking sections, the exit status, output that breaks. */

#ifndef BLOCKING_H
#define BLOCKING_H

#include "program.h"

/* --- status: that of the worst that has happened, in any task ---------------------------------------------------- */

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

/* Where errno is read in a task, the function is not inlined: a task may go on in another thread after a suspension
 * point, and a compiler keeps the address of errno for the length of a function (libsched(7), SUSPENSION POINTS). */
#define OWN_ERRNO __attribute__((unused, noinline))

/* Reads until there are `least` bytes or the file ends, in a blocking section: another thread takes the worker's place
 * while the file is slow. Returns the number of bytes, or -errno. */
OWN_ERRNO static ssize_t read_some(int fd, void *buffer, size_t least, size_t size, struct scheduler *s)
{
    size_t have = 0;
    ssize_t n = 1;
    int began = sched_block_begin(s) == 0;
    while (have < least && n != 0) {
        n = read(fd, (char *)buffer + have, size - have);
        if (n < 0 && errno != EINTR)
            break;
        have += n > 0 ? (size_t)n : 0;
    }
    int error = n < 0 ? errno : 0;
    if (began)
        sched_block_end(s);
    return error != 0 ? -error : (ssize_t)have;
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

/* To be called after a task has printed: ends the program if standard output takes nothing more. */
OWN_ERRNO static void check_output(void)
{
    if (!ferror(stdout))
        return;
    complain(errno, "standard output");
    _exit(STATUS_TROUBLE); /* other tasks need not end, nor what is left be written */
}

/* What --help and --version print, and the status to exit with. */
__attribute__((unused)) static int say(const char *text)
{
    fputs(text, stdout);
    return output_written() ? STATUS_OK : STATUS_TROUBLE;
}

__attribute__((unused)) static int say_version(void)
{
    printf("%s (libsched) %s\n", program_name, sched_version());
    return output_written() ? STATUS_OK : STATUS_TROUBLE;
}

#endif
