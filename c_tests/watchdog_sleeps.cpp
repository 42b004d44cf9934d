/* SCHED_WATCHDOG: the text says in which system call a worker's thread sleeps, and a thread in a blocking section; and it
 * has the names of C++ functions as they are written.
 * ctest: static sleeps
 * ctest: matrix few idle=park threads=2 */
#include "child.h"
#include <atomic>
#include <poll.h>
#include <sched_tasks.h>

static std::atomic<bool> may_end, has_begun;
static int from_stderr;
static char said[1 << 14];

/* Reads what the library says until the text has come, or nothing more comes for so long. */
static bool reads(const char *text, int ms)
{
    struct pollfd input = {from_stderr, POLLIN, 0};
    size_t got = strlen(said);
    while (strstr(said, text) == NULL) {
        if (poll(&input, 1, ms) <= 0)
            return false;
        ssize_t more = read(from_stderr, said + got, sizeof said - 1 - got);
        CHECK(more > 0);
        got += (size_t)more;
        said[got] = 0;
    }
    return true;
}

namespace shop {
static void naps(void *, struct scheduler *)
{
    has_begun = true;
    while (!may_end)
        pause_us(100000);
}

static void blocks(void *, struct scheduler *s)
{
    CHECK_EQ(sched_block_begin(s), 0);
    naps(NULL, s);
    CHECK_EQ(sched_block_end(s), 0);
}
}

static void *asks(void *text)
{
    while (!has_begun)
        pause_us(10000);
    do {
        said[0] = 0;
        CHECK_EQ(kill(getpid(), SIGQUIT), 0);
        CHECK(reads("libsched: SIGQUIT\n", -1));
    } while (!reads((const char *)text, 200));
    CHECK(reads("nanosleep", -1));
    may_end = true;
    return NULL;
}

static void shows(taskfunc root, const char *text)
{
    int ends[2];
    pthread_t thread;
    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(dup2(ends[1], 2), 2);
    from_stderr = ends[0];
    alarm(60);
    setenv("SCHED_WATCHDOG", "10min", 1);
    CHECK_EQ(pthread_create(&thread, NULL, asks, (void *)text), 0);
    CHECK_EQ(sched_init(2, 100, root, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

static void a_task(void *)
{
    shows(shop::naps, ": runs a task (shop::naps), which sleeps in ");
}

static void a_section(void *)
{
    shows(shop::blocks, " (shop::blocks) is in a blocking section, and sleeps in ");
}

int main(void)
{
    if (access("/proc/self/syscall", R_OK) != 0)
        skip("the kernel does not tell the system calls of threads");
    in_child(a_task, NULL);
    CHECK_CHILD_EXITED(0);
    in_child(a_section, NULL);
    CHECK_CHILD_EXITED(0);
    return 0;
}
