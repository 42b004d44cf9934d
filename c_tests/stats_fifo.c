/* SCHED_STATS_FILE that is not a plain file. A FIFO with a reader and a character device take the
 * statistics. Where a FIFO does not take them, or that nobody reads, a socket and a folder, they go
 * to stderr behind a line that says why, and the run is as without the variable.
 * ctest: static
 * ctest: */
#include "proc.h"
#include "child.h"
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static char folder[32], path[64];
static int reader = -1, leaves_at_write;

/* Also for the library. */
ssize_t write(int fd, const void *bytes, size_t n)
{
    if (leaves_at_write && fd > 2)
        CHECK_EQ(close(reader), 0);
    return syscall(SYS_write, fd, bytes, n);
}

static void nothing(void *closure, struct scheduler *s)
{
}

static void leave(void *closure, struct scheduler *s)
{
    CHECK_EQ(close(reader), 0);
}

static void leave_later(void *closure, struct scheduler *s)
{
    leaves_at_write = 1;
}

static void fill(void *closure, struct scheduler *s)
{
    static char bytes[4096];
    int fd = open(path, O_WRONLY | O_NONBLOCK);
    CHECK(fd >= 0);
    while (write(fd, bytes, sizeof bytes) > 0 || write(fd, bytes, 1) > 0) {
    }
    CHECK_EQ(errno, EAGAIN);
    CHECK_EQ(close(fd), 0);
}

static void accepted(void *task)
{
    int before = descriptor_count();
    CHECK_EQ(sched_init(2, 4, *(taskfunc *)task, NULL), 0);
    CHECK_EQ(descriptor_count(), before);
}

/* The only reader of the FIFO. */
static void reads(void *task)
{
    reader = open(path, O_RDONLY | O_NONBLOCK);
    CHECK(reader >= 0);
    CHECK_EQ(sched_init(2, 4, *(taskfunc *)task, NULL), 0);
    CHECK_EQ(close(reader), -1);
    sigset_t pending;
    CHECK_EQ(sigpending(&pending), 0);
    CHECK_EQ(sigismember(&pending, SIGPIPE), 0);
}

static void run(void (*body)(void *), taskfunc task)
{
    CHECK_IN_CHILD(body, &task);
}

static void set(const char *file)
{
    setenv("SCHED_STATS_FILE", file, 1);
}

/* Checks that there was a line, and the statistics. */
static void on_stderr(void)
{
    CHECK_CHILD_SAID("SCHED_STATS_FILE=");
    CHECK_CHILD_SAID("\"tasks\":1,");
    CHECK_EQ(count_lines(child.said), 2);
}

static void goes_to_stderr(const char *file)
{
    set(file);
    run(accepted, nothing);
    on_stderr();
    CHECK_CHILD_SAID(file);
}

int main(void)
{
    static char got[8192];
    setenv("SCHED_STATS", "json", 1);
    snprintf(folder, sizeof folder, "/tmp/sched-fifo-XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    goes_to_stderr(folder);

    struct sockaddr_un name = {.sun_family = AF_UNIX};
    snprintf(path, sizeof path, "%s/socket", folder);
    memcpy(name.sun_path, path, sizeof path);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK_EQ(bind(listener, (struct sockaddr *)&name, sizeof name), 0);
    goes_to_stderr(path);
    close(listener);
    unlink(path);

    snprintf(path, sizeof path, "%s/fifo", folder);
    CHECK_EQ(mkfifo(path, 0600), 0);
    goes_to_stderr(path);

    reader = open(path, O_RDONLY | O_NONBLOCK);
    CHECK(reader >= 0);
    run(accepted, nothing);
    CHECK_EQ(strlen(child.said), 0);
    ssize_t n = read(reader, got, sizeof got - 1);
    CHECK(n > 0);
    got[n] = 0;
    CHECK(got[0] == '{' && count_lines(got) == 1 && strstr(got, "\"tasks\":1,") != NULL);

    run(accepted, fill); /* and nobody reads */
    on_stderr();
    close(reader);
    run(reads, leave);
    on_stderr();
    run(reads, leave_later);
    on_stderr();
    unlink(path);
    rmdir(folder);

    set("/dev/null");
    run(accepted, nothing);
    CHECK_EQ(strlen(child.said), 0);
    return 0;
}
