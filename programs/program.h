/* program.h: what the programs have in common: messages, memory, the command line, progress on a terminal. */

#ifndef PROGRAM_H
#define PROGRAM_H

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sched_tasks.h>

/* Exit statuses. A program that compares or searches has 1 for "different", "not found". */
enum { STATUS_OK = 0, STATUS_NO = 1, STATUS_TROUBLE = 2 };

/* A function that reads errno in a task is not inlined into one that has suspension points: there the task may go on
 * in another thread, and a compiler keeps the address of errno for the length of a function (libsched(7), SUSPENSION
 * POINTS). */
#define OWN_ERRNO __attribute__((unused, noinline))

static const char *program_name;

/* Prints "NAME: MESSAGE" on stderr, and the text of `error` if it is an errno. */
__attribute__((unused, format(printf, 2, 3))) static void complain(int error, const char *format, ...)
{
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    /* One call of stdio, so that the lines of several tasks do not mix. */
    if (error != 0)
        fprintf(stderr, "%s: %s: %s\n", program_name, message, strerror(error));
    else
        fprintf(stderr, "%s: %s\n", program_name, message);
}

#define fatal(...) (complain(__VA_ARGS__), exit(STATUS_TROUBLE))

__attribute__((unused, noreturn)) static void no_memory(void)
{
    fatal(ENOMEM, "no memory");
}

/* Memory, or the end of the program. */
__attribute__((unused)) static void *allocate(size_t count, size_t size)
{
    void *memory = size != 0 && count > SIZE_MAX / 2 / size ? NULL : calloc(count + (count == 0), size);
    if (memory == NULL)
        no_memory();
    return memory;
}

__attribute__((unused)) static void *reallocate(void *memory, size_t count, size_t size)
{
    void *larger = count > SIZE_MAX / 2 / size ? NULL : realloc(memory, count * size);
    if (larger == NULL)
        no_memory();
    return larger;
}

__attribute__((unused)) static char *copy_of(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(allocate(size, 1), text, size);
}

/* The number that an option has as its argument, at least `least` and at most `most`; K, M and G after it mean 2^10,
 * 2^20 and 2^30. Anything else ends the program. */
__attribute__((unused)) static long long
number_of(const char *text, const char *option, long long least, long long most)
{
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    const char *letters = "KMG", *letter = *end != '\0' ? strchr(letters, *end) : NULL;
    if (letter != NULL) {
        long long factor = 1LL << (10 * (letter - letters + 1));
        if (number > LLONG_MAX / factor || number < LLONG_MIN / factor)
            errno = ERANGE;
        else
            number *= factor;
        end++;
    }
    if (end == text || *end != '\0' || errno != 0 || number < least || number > most)
        fatal(0, "%s %s: a number from %lld to %lld is expected; K, M and G mean 2^10, 2^20 and 2^30", option, text,
              least, most);
    return number;
}

/* The end of standard output: true if everything was written. */
__attribute__((unused)) static int output_written(void)
{
    int failed = ferror(stdout);
    if (fclose(stdout) != 0 || failed) {
        complain(errno, "standard output");
        return 0;
    }
    return 1;
}

/* Prints what --help or --version asks for; returns the status to exit with. */
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

/* --- progress: a line on stderr, where stderr is a terminal; at most ten times a second -------------------------- */

struct progress {
    const char *what;    /* "MiB", "files" */
    double total;        /* 0: not known */
    atomic_llong done;   /* in thousandths */
    atomic_llong next;   /* ms: when the line is printed again; LLONG_MAX: never */
    struct timespec start;
};

__attribute__((unused)) static long long progress_ms(const struct progress *p)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - p->start.tv_sec) * 1000LL + (now.tv_nsec - p->start.tv_nsec) / 1000000;
}

__attribute__((unused)) static void progress_begin(struct progress *p, const char *what, double total)
{
    p->what = what;
    p->total = total;
    clock_gettime(CLOCK_MONOTONIC, &p->start);
    atomic_init(&p->done, 0);
    atomic_init(&p->next, isatty(STDERR_FILENO) ? 300 : LLONG_MAX); /* what is over sooner needs no line */
}

/* From any task. */
__attribute__((unused)) static void progress_add(struct progress *p, double more)
{
    long long done = atomic_fetch_add_explicit(&p->done, (long long)(more * 1000), memory_order_relaxed);
    long long next = atomic_load_explicit(&p->next, memory_order_relaxed);
    if (next == LLONG_MAX)
        return;
    long long now = progress_ms(p);
    if (now < next || !atomic_compare_exchange_strong(&p->next, &next, now + 100))
        return;
    double so_far = (double)done / 1000 + more;
    if (p->total > 0)
        fprintf(stderr, "\r%s: %.0f of %.0f %s, %.0f %% \033[K", program_name, so_far, p->total, p->what,
                100 * so_far / p->total);
    else
        fprintf(stderr, "\r%s: %.0f %s \033[K", program_name, so_far, p->what);
}

/* Removes the line. */
__attribute__((unused)) static void progress_end(struct progress *p)
{
    long long next = atomic_exchange(&p->next, LLONG_MAX);
    if (next != LLONG_MAX && next != 300)
        fputs("\r\033[K", stderr);
}

#endif
