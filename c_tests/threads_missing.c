/* Threads that cannot be created: the run goes on with those that could, completes, and
 * the statistics say how many are missing.
 * ctest: timeout=60
 * ctest: matrix deque=mutex idle=park threads=4 */
#include "child.h"
#include "seccomp.h"
#include "stats_line.h"
#include <stdatomic.h>

enum { NOBODY = 61357, ATTEMPTS = 50 }; /* a user with no process here */

static atomic_int ran;

static void node(void *closure, struct scheduler *s)
{
    long depth = (long)closure;
    atomic_fetch_add(&ran, 1);
    pause_us(200); /* a thread is only made when there is a task for it */
    for (int i = 0; i < 2 && depth > 0; i++)
        CHECK_EQ(sched_spawn(node, (void *)(depth - 1), s), 0);
}

static void run(void)
{
    CHECK_EQ(sched_init(4, 4, node, (void *)8), 0);
    CHECK_EQ(ran, 511);
}

static void none_at_all(void *arg)
{
    no_threads();
    run();
}

/* As another user, with so many threads allowed beside the caller's. */
static void only(void *more)
{
    struct rlimit limit = {1 + (rlim_t)(long)more, 1 + (rlim_t)(long)more};
    if (setresgid(NOBODY, NOBODY, NOBODY) != 0 || setresuid(NOBODY, NOBODY, NOBODY) != 0)
        skip("cannot become another user");
    CHECK_EQ(setrlimit(RLIMIT_NPROC, &limit), 0);
    run();
}

static int missing(void (*body)(void *), long arg)
{
    gather_stats();
    in_child(body, (void *)arg);
    char *line = gathered_stats();
    if (WIFEXITED(child.status) && WEXITSTATUS(child.status) == 77)
        return -1;
    CHECK_CHILD_EXITED(0);
    CHECK_EQ(stat_number(line, "tasks"), 511);
    return (int)stat_number(line, "threads_missing");
}

int main(void)
{
    int wanted = threads_of(4) - 1, tried = 0;
    int got = missing(none_at_all, 0);
    if (got >= 0) {
        CHECK_EQ(got, wanted);
        tried++;
    }
    for (int k = 0; k <= wanted; k++) {
        /* Threads that a process before this one left dying may still count. And a thread that was made looks for
         * work, so that no other is wanted, though others keep it from the processors for as long as the run. */
        for (int i = 0; i < ATTEMPTS && (got = missing(only, k)) >= 0 && got < wanted - k; i++)
            continue;
        if (got < 0)
            break;
        CHECK(got >= wanted - k);
        tried++;
    }
    if (!tried)
        skip("neither seccomp nor a limit on threads can be had here");
    return 0;
}
