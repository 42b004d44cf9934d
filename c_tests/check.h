/* check.h: the common functions of all C tests. Include it first.
 *
 * A test passes by exiting 0, is skipped by exiting 77 after a line that says why, and
 * fails otherwise. CHECK and CHECK_EQ may be used in any thread. */
#ifndef CHECK_H
#define CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Defines gcc's names for the sanitizers that a program is compiled with, also under clang. */
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__
#elif __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__
#endif
#endif

/* The library says which parameters a task, the body of a loop or a handler has. Few use all of them. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* The divisor of sizes, for tools that make everything slow: the runner's --smaller. */
#ifndef SMALLER
#define SMALLER 1
#endif

#define CHECK(cond) \
    ((cond) ? (void)0 : check_failed(__FILE__, __LINE__, #cond))

/* Compares both values as signed 64-bit integers. */
#define CHECK_EQ(a, b) check_eq(__FILE__, __LINE__, #a, #b, (long long)(a), (long long)(b))

/* A call that must return 0, n times. */
#define CHECK_TIMES(n, call)                                                  \
    do {                                                                      \
        for (long check_times = 0; check_times < (long)(n); check_times++)    \
            CHECK_EQ(call, 0);                                                \
    } while (0)

/* The calling thread's errno. A compiler may keep the address of errno within a function, but a
 * task may continue in another thread; so tasks use these functions. */
__attribute__((noinline, unused)) static int get_errno(void)
{
    return errno;
}

__attribute__((noinline, unused)) static void set_errno(int error)
{
    errno = error;
}

/* A call that must return -1 and set errno. */
#define CHECK_ERRNO(call, code)                                          \
    do {                                                                 \
        set_errno(0);                                                    \
        int check_rc = (call);                                           \
        int check_errno = get_errno();                                   \
        check_eq(__FILE__, __LINE__, #call, "-1", check_rc, -1);         \
        check_eq(__FILE__, __LINE__, "errno after " #call, #code, check_errno, code); \
    } while (0)

/* Uses no stdio, because the interrupted code may hold its locks. Ends by _exit, since the failure may be in a task
 * while other tasks run. */
static inline void check_say(const char *text)
{
    if (write(2, text, strlen(text)) < 0)
        _exit(2);
}

static inline void check_failed(const char *file, int line, const char *what)
{
    char text[512];
    snprintf(text, sizeof text, "%s:%d: failed: %s (errno %d)\n", file, line, what, errno);
    check_say(text);
    _exit(1);
}

static inline void check_eq(const char *file, int line, const char *a, const char *b,
                            long long va, long long vb)
{
    char text[512];
    if (va == vb)
        return;
    snprintf(text, sizeof text, "%s:%d: failed: %s == %s: %lld != %lld\n", file, line, a, b, va, vb);
    check_say(text);
    _exit(1);
}

static inline void skip(const char *why)
{
    printf("skipped: %s\n", why);
    fflush(stdout);
    _exit(77);
}

/* --- which scheduler this is ---------------------------------------------- */

static inline int kind_is(const char *kind)
{
    const char *now = getenv("SCHED_KIND");
    return strcmp(now ? now : "steal", kind) == 0;
}

/* The abilities of each kind. The runner finds them, and compiles its own table into the tests:
 * c_tests/runner/src/kinds.rs. This table is for a test that is compiled without the runner. */
#ifndef CTEST_KINDS
#define CTEST_KINDS "steal threads deques newest", "lifo threads newest", "fifo threads", "cont threads deques calls", \
                    "serial newest"
#endif

/* Whether the kind has the property. */
static inline int kind_has(const char *property)
{
    static const char *const kinds[] = {CTEST_KINDS};
    const char *now = getenv("SCHED_KIND");
    size_t length = strlen(now ? now : "steal");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strncmp(kinds[i], now ? now : "steal", length) == 0 && kinds[i][length] == ' ')
            return strstr(kinds[i] + length, property) != NULL;
    check_failed(__FILE__, __LINE__, "the kind is in the table");
    return 0;
}

static inline int has_threads(void)
{
    return kind_has("threads");
}

/* Whether a spawn calls the task, and its caller can be taken by another worker. */
static inline int spawn_calls(void)
{
    return kind_has("calls");
}

/* True if all workers always take the youngest of all tasks. */
static inline int shares_stack(void)
{
    return has_threads() && kind_has("newest") && !kind_has("deques");
}

/* The number of threads a run will have when the program asks for `asked`. */
static inline int threads_of(int asked)
{
    const char *now = getenv("SCHED_THREADS");
    if (!has_threads())
        return 1;
    return now ? atoi(now) : asked;
}

/* --- threads and time ----------------------------------------------------- */

static inline int thread_id(void)
{
    return (int)syscall(SYS_gettid);
}

/* Whether this is the thread that main runs on. */
static inline int on_caller(void)
{
    return thread_id() == (int)getpid();
}

static inline pthread_t begin_thread(void *(*body)(void *), void *arg)
{
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, body, arg), 0);
    return thread;
}

/* Calls body(arg) in a thread of its own, and waits for its end. */
static inline void run_thread(void *(*body)(void *), void *arg)
{
    CHECK_EQ(pthread_join(begin_thread(body, arg), NULL), 0);
}

static inline double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* How long a test waits for an event that must come. A look that comes more than a second late shows that the machine
 * with all its processes was stopped. */
struct patience {
    double left, looked;
};

static inline struct patience patience_of(double seconds)
{
    struct patience p = {seconds, now()};
    return p;
}

/* Called repeatedly: true until the time is up. */
static inline int is_patient(struct patience *p)
{
    double t = now(), passed = t - p->looked;
    p->looked = t;
    p->left -= passed < 1 ? passed : 1;
    return p->left > 0;
}

static inline void pause_us(long us)
{
    struct timespec t = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&t, NULL);
}

/* A step of a loop that waits for another thread to do something. It mostly spins, as the tests want, but yields now
 * and then, for machines with few processors. */
static inline void spin(unsigned *turns)
{
    if (++*turns % 512 == 0)
        sched_yield();
}

/* A small random number generator; *x must not be 0. */
static inline uint64_t next_random(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x * 2685821657736338717u;
}

#endif
