/* shown.h: runs a task until SCHED_WATCHDOG's state of the process has a text. C and C++. */
#ifndef SHOWN_H
#define SHOWN_H

#include "child.h"
#include <poll.h>
#include <sched_tasks.h>
#ifdef __cplusplus
#include <atomic>
typedef std::atomic<int> shared_int;
#else
#include <stdatomic.h>
typedef atomic_int shared_int;
#endif

static shared_int has_begun, may_end; /* the task; it ends when the text was seen */
static int from_stderr;
static char said[1 << 14];

struct texts {
    const char *text, *then; /* then: behind the first; NULL: nothing */
};

/* Reads what the library says until the text has come, or nothing more comes for this time. */
static inline int reads(const char *text, int ms)
{
    struct pollfd input = {from_stderr, POLLIN, 0};
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

/* Asks for the state until the texts are in it. */
static inline void *asks(void *arg)
{
    const struct texts *texts = (const struct texts *)arg;
    while (!has_begun)
        pause_us(10000);
    do {
        said[0] = 0;
        CHECK_EQ(kill(getpid(), SIGQUIT), 0);
        CHECK(reads("libsched: SIGQUIT\n", -1));
    } while (!reads(texts->text, 200));
    if (texts->then != NULL)
        CHECK(reads(texts->then, -1));
    may_end = 1;
    return NULL;
}

/* Runs root with n workers until a state is shown that has the texts. */
static inline void shows(int n, taskfunc root, const char *text, const char *then)
{
    int ends[2];
    struct texts texts = {text, then};
    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(dup2(ends[1], 2), 2);
    from_stderr = ends[0];
    alarm(60);
    setenv("SCHED_WATCHDOG", "10min", 1);
    unsetenv("SCHED_THREADS");
    pthread_t thread = begin_thread(asks, &texts);
    CHECK_EQ(sched_init(n, 100, root, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

#endif
