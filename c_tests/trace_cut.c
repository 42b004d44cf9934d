/* The process ends while a thread writes the timeline of a run that is over: by exit, or by a signal. It waits until the
 * timeline is whole. The file is a pipe: the thread is in the middle of it until the pipe is read.
 * ctest: static sleeps
 * ctest: matrix deque=split idle=park threads=2 */
#include "child.h"
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sched_tasks.h>

enum { TASKS = 3000, ROOM = 4096 };

static char folder[] = "/tmp/sched-trace-XXXXXX", path[64], text[4 << 20];
static size_t length;
static int is_over;

static void leaf(void *closure, struct scheduler *s)
{
}

static void root(void *closure, struct scheduler *s)
{
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(sched_spawn(leaf, closure, s), 0);
}

static void *run(void *unused)
{
    sched_init(2, 16, root, unused);
    return NULL;
}

/* Returns when so many bytes are in the pipe that the next ones may not fit, or when the child is over. */
static void wait_until_full(int pipe)
{
    int full = fcntl(pipe, F_GETPIPE_SZ) - ROOM, bytes = 0;
    while (bytes < full && !__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
        usleep(1000);
        CHECK_EQ(ioctl(pipe, FIONREAD, &bytes), 0);
    }
}

static void end_early(void *by_signal)
{
    setenv("SCHED_TRACE", path, 1);
    int pipe = open(path, O_RDWR);
    CHECK(pipe >= 0);
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, run, NULL), 0);
    wait_until_full(pipe);
    if (by_signal == NULL)
        exit(3);
    kill(getpid(), SIGTERM);
    pthread_join(thread, NULL);
    for (;;)
        pause();
}

static void *read_late(void *pipe_of)
{
    int pipe = *(int *)pipe_of;
    wait_until_full(pipe);
    usleep(100000); /* meanwhile the child is about to end */
    struct pollfd readable = {pipe, POLLIN, 0};
    for (;;) {
        int last = __atomic_load_n(&is_over, __ATOMIC_ACQUIRE);
        if (poll(&readable, 1, last ? 0 : 10) > 0) {
            ssize_t n = read(pipe, text + length, sizeof text - 1 - length);
            CHECK(n > 0);
            length += (size_t)n;
        } else if (last)
            return NULL;
    }
}

static void look(int by_signal)
{
    length = 0;
    is_over = 0;
    CHECK_EQ(mkfifo(path, 0600), 0);
    int pipe = open(path, O_RDWR);
    CHECK(pipe >= 0);
    pthread_t reader;
    CHECK_EQ(pthread_create(&reader, NULL, read_late, &pipe), 0);
    in_child(end_early, by_signal ? path : NULL);
    __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
    CHECK_EQ(pthread_join(reader, NULL), 0);
    close(pipe);
    unlink(path);
    text[length] = '\0';
    if (!by_signal)
        CHECK_CHILD_EXITED(3);
    else
        CHECK(WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGTERM);
    CHECK(length > 65536 && strncmp(text, "[\n{", 3) == 0);
    CHECK(strcmp(text + length - 3, "\n]\n") == 0);
}

int main(void)
{
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/pipe", folder);
    look(0);
    look(1);
    rmdir(folder);
    return 0;
}
