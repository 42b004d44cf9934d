/* descriptors: the functions of sched_io.h. This is one file because its cases share their streams, listeners and clients. */
#include "case.h"
#include "child.h"
#include "descriptors.h"
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <sys/un.h>

static unsigned char pattern(size_t at)
{
    return (unsigned char)(at * 7 + at / 251);
}

/* io_stream: A task reads, whole and in order, the bytes that another one writes through pipes and
 * sockets, although both wait often; also with one worker.
 * ctest: static debug
 * ctest: matrix
 * ctest: matrix deque=split idle=park threads=2 join=help */
enum { LONG = 3 << 20 };

static void writes_pattern(void *closure, struct scheduler *s)
{
    int fd = (int)(long)closure;
    size_t all = LONG / SMALLER, at = 0, step = 1;
    unsigned char *bytes = malloc(all);
    CHECK(bytes != NULL);
    for (size_t i = 0; i < all; i++)
        bytes[i] = pattern(i);
    while (at < all) {
        size_t n = step < all - at ? step : all - at;
        CHECK_EQ(sched_write(fd, bytes + at, n, s), (ssize_t)n);
        at += n;
        step = step * 3 % 400009;
    }
    free(bytes);
    CHECK_EQ(sched_close(fd), 0);
}

static void reads_pattern(void *closure, struct scheduler *s)
{
    int fd = (int)(long)closure;
    unsigned char bytes[5000];
    size_t at = 0;
    ssize_t n;
    while ((n = sched_read(fd, bytes, at % 5000 + 1, s)) > 0)
        for (ssize_t i = 0; i < n; i++, at++)
            CHECK_EQ(bytes[i], pattern(at));
    CHECK_EQ(n, 0);
    CHECK_EQ(at, LONG / SMALLER);
    CHECK_EQ(sched_close(fd), 0);
}

static void stream_root(void *closure, struct scheduler *s)
{
    int pair[2], ends[2];
    make_pair(pair);
    make_pipe(ends);
    const int all[][2] = {{pair[0], pair[1]}, {ends[0], ends[1]}};
    for (size_t i = 0; i < 2; i++) {
        CHECK_EQ(sched_spawn(reads_pattern, (void *)(long)all[i][0], s), 0);
        CHECK_EQ(sched_spawn(writes_pattern, (void *)(long)all[i][1], s), 0);
    }
}

CASE(io_stream)
{
    run(2, stream_root);
}

/* io_echo: A server with a task a connection, and clients, over the loopback: connections are accepted and made, each byte
 * comes back, and each end of a connection sees the other one close.
 * ctest: static debug
 * ctest: matrix */
enum { CLIENTS = 40 / SMALLER + 2, QUESTIONS = 50 };

static int listener;
static struct sockaddr_in address;
static atomic_int served, asked;

static void echoes(void *closure, struct scheduler *s)
{
    int fd = (int)(long)closure;
    char bytes[100];
    ssize_t n;
    CHECK_EQ(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
    while ((n = sched_recv(fd, bytes, sizeof bytes, 0, s)) > 0)
        CHECK_EQ(sched_send(fd, bytes, (size_t)n, 0, s), n);
    CHECK_EQ(n, 0);
    CHECK_EQ(sched_close(fd), 0);
    served++;
}

static void asks(void *closure, struct scheduler *s)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    CHECK_EQ(sched_connect(fd, (struct sockaddr *)&address, sizeof address, s), 0);
    CHECK_EQ(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
    for (int i = 0; i < QUESTIONS; i++) {
        char question[64], answer[64];
        memset(question, i + (int)(long)closure, sizeof question);
        CHECK_EQ(sched_write_all(fd, question, sizeof question, s), sizeof question);
        CHECK_EQ(sched_recv(fd, answer, sizeof answer, MSG_WAITALL, s), sizeof answer);
        CHECK(memcmp(question, answer, sizeof answer) == 0);
        asked++;
    }
    CHECK_EQ(sched_close(fd), 0);
}

static void accepts(void *closure, struct scheduler *s)
{
    for (int i = 0; i < CLIENTS; i++) {
        struct sockaddr_in peer;
        socklen_t length = sizeof peer;
        int fd = i % 2 ? sched_accept(listener, NULL, NULL, s)
                       : sched_accept4(listener, (struct sockaddr *)&peer, &length, SOCK_CLOEXEC, s);
        CHECK(fd >= 0);
        CHECK(i % 2 || (peer.sin_family == AF_INET && fcntl(fd, F_GETFD) == FD_CLOEXEC));
        CHECK_EQ(sched_spawn(echoes, (void *)(long)fd, s), 0);
    }
    CHECK_EQ(sched_close(listener), 0);
}

static void listen_somewhere(void)
{
    socklen_t length = sizeof address;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    CHECK_EQ(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    CHECK_EQ(listen(listener, 1000), 0);
    CHECK_EQ(getsockname(listener, (struct sockaddr *)&address, &length), 0);
}

static void echo_root(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(accepts, NULL, s), 0);
    spawn_all(CLIENTS, asks, s);
}

CASE(io_echo)
{
    listen_somewhere();
    run(2, echo_root);
    CHECK_EQ(served, CLIENTS);
    CHECK_EQ(asked, CLIENTS * QUESTIONS);
    CHECK_ERRNO(sched_connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&address, sizeof address, NULL), ECONNREFUSED);
}

/* io_until: Each wait ends at its deadline, from wherever it is called; nothing was read, written
 * or accepted. A ready descriptor is used even if the deadline has passed.
 * ctest: static debug
 * ctest: matrix few join=suspend */
APART void waits_until(void *closure, struct scheduler *s)
{
    int ends[2], pair[2], full[2];
    char bytes[1 << 16];
    struct iovec v = {bytes, sizeof bytes};
    struct msghdr message = {.msg_iov = &v, .msg_iovlen = 1};
    memset(bytes, 0, sizeof bytes);
    make_pipe(ends);
    make_pair(pair);
    make_pipe(full);
    fcntl(full[1], F_SETFL, O_NONBLOCK);
    while (write(full[1], bytes, sizeof bytes) > 0)
        continue;
    fcntl(full[1], F_SETFL, 0);
    CHECK_TIMES_OUT(sched_poll(ends[0], POLLIN, deadline, s));
    CHECK_TIMES_OUT(sched_poll(ends[0], 0, deadline, s));
    CHECK_TIMES_OUT((int)sched_read_until(ends[0], bytes, 1, deadline, s));
    CHECK_TIMES_OUT((int)sched_readv_until(ends[0], &v, 1, deadline, s));
    CHECK_TIMES_OUT((int)sched_recv_until(pair[0], bytes, 1, 0, deadline, s));
    CHECK_TIMES_OUT((int)sched_recvmsg_until(pair[0], &message, 0, deadline, s));
    CHECK_TIMES_OUT((int)sched_write_until(full[1], bytes, 1, deadline, s));
    CHECK_TIMES_OUT((int)sched_write_all_until(full[1], bytes, 1, deadline, s));
    CHECK_TIMES_OUT((int)sched_writev_until(full[1], &v, 1, deadline, s));
    CHECK_TIMES_OUT(sched_accept_until(listener, NULL, NULL, deadline, s));
    CHECK_TIMES_OUT(sched_accept4_until(listener, NULL, NULL, 0, deadline, s));

    ssize_t sent = sched_send_until(pair[1], bytes, sizeof bytes, 0, 0, s), more;
    CHECK_EQ(sent, sizeof bytes);
    while ((more = sched_sendmsg_until(pair[1], &message, 0, 0, s)) > 0)
        sent += more;
    CHECK_EQ(get_errno(), ETIMEDOUT);
    CHECK_TIMES_OUT((int)sched_send_until(pair[1], bytes, 1, 0, deadline, s));
    while (sent > 0)
        sent -= sched_read_until(pair[0], bytes, sizeof bytes, 0, s);
    CHECK_EQ(sent, 0);
    CHECK_EQ(sched_write_until(ends[1], "x", 1, 0, s), 1);
    CHECK_EQ(sched_poll(ends[0], POLLIN, 0, s), POLLIN);
    CHECK_EQ(sched_read_until(ends[0], bytes, 9, 0, s), 1);
    CHECK_EQ(sched_close(ends[1]), 0);
    CHECK_EQ(sched_poll(ends[0], POLLIN, SCHED_FOREVER, s) & POLLHUP, POLLHUP);
    CHECK_EQ(sched_read(ends[0], bytes, 9, s), 0);
    CHECK_EQ(sched_close(ends[0]), 0);
    close_both(pair);
    close_both(full);
}

CASE(io_until)
{
    listen_somewhere();
    everywhere(waits_until);
}

/* io_sooner: A wait whose event races its deadline gets the bytes that have come, or leaves them to
 * the next reader: each byte is read once.
 * ctest: static debug
 * ctest: matrix threads=1,2,4 */
enum { BYTES = 3000 / SMALLER, READERS = 5 };

static int sooner[2];
static atomic_int bytes_read;
static atomic_uchar seen[BYTES];

static void reads_sooner(void *closure, struct scheduler *s)
{
    uint64_t x = (uint64_t)(long)closure + 1;
    uint32_t number;
    ssize_t n;
    while ((n = sched_read_until(sooner[0], &number, sizeof number, sched_now() + (sched_time)(next_random(&x) % 60000), s)) != 0) {
        if (n < 0) {
            CHECK_EQ(get_errno(), ETIMEDOUT);
            continue;
        }
        CHECK_EQ(n, sizeof number);
        CHECK_EQ(seen[number]++, 0);
        bytes_read++;
    }
}

static void writes_sooner(void *closure, struct scheduler *s)
{
    uint64_t x = 99;
    for (uint32_t i = 0; i < BYTES; i++) {
        CHECK_EQ(sched_write(sooner[1], &i, sizeof i, s), sizeof i);
        if (next_random(&x) % 3 == 0)
            CHECK_EQ(sched_sleep((sched_time)(next_random(&x) % 60000), s), 0);
    }
    CHECK_EQ(sched_close(sooner[1]), 0);
}

static void sooner_root(void *closure, struct scheduler *s)
{
    spawn_all(READERS, reads_sooner, s);
    CHECK_EQ(sched_spawn(writes_sooner, NULL, s), 0);
}

CASE(io_sooner)
{
    make_pipe(sooner);
    run(2, sooner_root);
    CHECK_EQ(bytes_read, BYTES);
}

/* io_cancel: The cancellation of a group ends the waits of its tasks for descriptors, pending ones and new ones.
 * ctest: static debug
 * ctest: matrix */
enum { CANCELLED = 30 };

static int never[2];
static atomic_int cancelled_began, cancelled_waits;
static sched_group waiting_group;

static void waits_cancelled(void *closure, struct scheduler *s)
{
    char byte;
    cancelled_began++;
    CHECK_ERRNO((int)sched_read(never[0], &byte, 1, s), ECANCELED);
    CHECK_ERRNO(sched_poll(never[0], POLLIN, sched_now() + 1000 * SCHED_SECOND, s), ECANCELED);
    CHECK_EQ(sched_write(never[1], NULL, 0, s), 0); /* need not wait */
    cancelled_waits++;
}

static void cancel_root(void *closure, struct scheduler *s)
{
    CHECK_TIMES(CANCELLED, sched_group_spawn(&waiting_group, waits_cancelled, NULL, s));
    while (!cancelled_began && !shares_stack())
        sched_task_yield(s);
    CHECK_EQ(sched_sleep(10 * SHORT, s), 0);
    sched_group_cancel(&waiting_group);
    CHECK_ERRNO(sched_group_wait(&waiting_group, s), ECANCELED);
}

CASE(io_cancel)
{
    make_pipe(never);
    run(2, cancel_root);
    CHECK(cancelled_waits <= CANCELLED); /* the waits that had not begun did not end */
    CHECK(cancelled_waits > 0 || shares_stack());
}

/* io_queue_full: A connection to a socket of the file system whose queue is full waits until there
 * is room, until its deadline, or until its group is cancelled; a connection of a thread outside
 * waits until its deadline.
 * ctest: static debug
 * ctest: matrix few join=suspend idle=park threads=1,2 */
static struct sockaddr_un local;
static atomic_int connected, cut_off;

static int connects_until(sched_time deadline, struct scheduler *s)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int rc = sched_connect_until(fd, (struct sockaddr *)&local, sizeof local, deadline, s);
    int error = rc < 0 ? get_errno() : 0;
    CHECK_EQ(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
    CHECK_EQ(sched_close(fd), 0);
    return error;
}

static void connects_at_last(void *closure, struct scheduler *s)
{
    CHECK_EQ(connects_until(SCHED_FOREVER, s), 0);
    connected++;
}

static void connects_in_vain(void *closure, struct scheduler *s)
{
    CHECK_EQ(connects_until(SCHED_FOREVER, s), ECANCELED);
    cut_off++;
}

static void connects_in_time(void *closure, struct scheduler *s)
{
    CHECK_EQ(connects_until(sched_now() + 10 * SHORT, s), ETIMEDOUT);
}

static void queue_full_root(void *closure, struct scheduler *s)
{
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int first = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sched_group waits = SCHED_GROUP_INIT, ends = SCHED_GROUP_INIT;
    local = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(local.sun_path + 1, sizeof local.sun_path - 1, "libsched-%d", (int)getpid());
    CHECK_EQ(bind(listener, (struct sockaddr *)&local, sizeof local), 0);
    CHECK_EQ(listen(listener, 0), 0);
    CHECK_EQ(connect(first, (struct sockaddr *)&local, sizeof local), 0);
    connects_in_time(NULL, s);
    CHECK_EQ(connects_until(sched_now(), s), ETIMEDOUT);
    everywhere_called = connects_in_time;
    in_a_thread(NULL);
    CHECK_EQ(sched_group_spawn(&ends, connects_in_vain, NULL, s), 0);
    CHECK_EQ(sched_group_spawn(&waits, connects_at_last, NULL, s), 0);
    CHECK_EQ(sched_sleep(10 * SHORT, s), 0);
    sched_group_cancel(&ends);
    CHECK_ERRNO(sched_group_wait(&ends, s), ECANCELED);
    CHECK_TIMES(2, sched_close(sched_accept(listener, NULL, NULL, s)));
    CHECK_EQ(sched_group_wait(&waits, s), 0);
    CHECK_EQ(sched_close(first), 0);
    CHECK_EQ(sched_close(listener), 0);
}

CASE(io_queue_full)
{
    run(2, queue_full_root);
    CHECK_EQ(connected, 1);
    CHECK_EQ(cut_off, 1);
}

/* io_kinds: Files, terminals, events, timers, processes and devices are read, written and waited for by the same functions.
 * ctest: static debug
 * ctest: matrix few join=suspend idle=park threads=2 */
static void writes_later(void *closure, struct scheduler *s)
{
    uint64_t one = 1;
    CHECK_EQ(sched_sleep(SHORT, s), 0);
    CHECK_EQ(sched_write((int)(long)closure, &one, sizeof one, s), sizeof one);
}

static void kinds_root(void *closure, struct scheduler *s)
{
    uint64_t number = 0;
    char bytes[10000], copy[10000];
    FILE *file = tmpfile();
    int fd = fileno(file);
    memset(bytes, 'f', sizeof bytes);
    CHECK_EQ(sched_write(fd, bytes, sizeof bytes, s), sizeof bytes);
    CHECK_EQ(lseek(fd, 1, SEEK_SET), 1);
    CHECK_EQ(sched_read(fd, copy, sizeof copy, s), sizeof copy - 1);
    CHECK(memcmp(bytes, copy, sizeof copy - 1) == 0);
    CHECK_EQ(sched_read(fd, copy, sizeof copy, s), 0);
    CHECK_EQ(sched_poll(fd, POLLIN | POLLOUT, SCHED_FOREVER, s), POLLIN | POLLOUT);
    fclose(file);

    fd = open("/", O_RDONLY | O_CLOEXEC);
    CHECK_ERRNO((int)sched_read(fd, copy, 1, s), EISDIR);
    CHECK_EQ(sched_close(fd), 0);
    fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
    enum { PAGE = 4096 }; /* of this device a read returns a page at least, but no more if the kernel wants the thread */
    CHECK_EQ(sched_read(fd, copy, PAGE, s), PAGE);
    CHECK_EQ(copy[0] + copy[PAGE - 1], 0);
    CHECK_EQ(sched_write(fd, copy, sizeof copy, s), sizeof copy);
    CHECK_EQ(sched_close(fd), 0);

    fd = eventfd(0, EFD_CLOEXEC);
    CHECK_EQ(sched_spawn(writes_later, (void *)(long)fd, s), 0);
    CHECK_EQ(sched_read(fd, &number, sizeof number, s), sizeof number);
    CHECK_EQ(number, 1);
    CHECK_EQ(sched_close(fd), 0);

    fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    CHECK_EQ(timerfd_settime(fd, 0, &(struct itimerspec){.it_value.tv_nsec = SHORT}, NULL), 0);
    CHECK_EQ(sched_read(fd, &number, sizeof number, s), sizeof number);
    CHECK_EQ(number, 1);
    CHECK_EQ(sched_close(fd), 0);

    int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), other;
    if (terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0
        && (other = open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC)) >= 0) {
        CHECK_ERRNO((int)sched_read_until(other, copy, sizeof copy, sched_now() + SHORT, s), ETIMEDOUT);
        CHECK_EQ(sched_write(terminal, "line\n", 5, s), 5);
        CHECK_EQ(sched_read(other, copy, sizeof copy, s), 5);
        CHECK_EQ(fcntl(other, F_GETFL) & O_NONBLOCK, 0);
        CHECK_EQ(sched_close(other), 0);
    }
    CHECK_EQ(sched_close(terminal), 0);

    pid_t child = fork();
    if (child == 0)
        _exit(3);
#ifdef SYS_pidfd_open
    fd = (int)syscall(SYS_pidfd_open, child, 0);
    if (fd >= 0) {
        CHECK_EQ(sched_poll(fd, POLLIN, SCHED_FOREVER, s), POLLIN);
        CHECK_EQ(sched_close(fd), 0);
    }
#endif
    CHECK_EQ(WEXITSTATUS(wait_for(child)), 3);
}

CASE(io_kinds)
{
    run(2, kinds_root);
}

/* io_vectors: Several buffers, messages with descriptors, and the flags of recv and send mean what they mean in POSIX.
 * ctest: static debug
 * ctest: matrix few join=suspend idle=park threads=1,2 */
enum { PARTS = 100, PART = 3001 };

static void reads_parts(void *closure, struct scheduler *s)
{
    int fd = (int)(long)closure;
    static unsigned char parts[PARTS][PART / 2];
    struct iovec v[PARTS];
    size_t at = 0;
    for (int i = 0; i < PARTS; i++)
        v[i] = (struct iovec){parts[i], sizeof parts[i]};
    for (ssize_t n; (n = sched_readv(fd, v, PARTS, s)) > 0;)
        for (ssize_t i = 0; i < n; i++, at++)
            CHECK_EQ(parts[0][i], pattern(at));
    CHECK_EQ(at, PARTS * PART);
    CHECK_EQ(sched_close(fd), 0);
}

static void send_descriptor(int fd, int sent, struct scheduler *s)
{
    char bytes[200000] = "d";
    struct iovec v[2] = {{bytes, 1}, {bytes, sizeof bytes - 1}};
    union {
        struct cmsghdr align;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.room = {0}};
    struct msghdr message = {.msg_iov = v, .msg_iovlen = 2, .msg_control = control.room, .msg_controllen = sizeof control.room};
    struct cmsghdr *first = CMSG_FIRSTHDR(&message);
    first->cmsg_level = SOL_SOCKET;
    first->cmsg_type = SCM_RIGHTS;
    first->cmsg_len = CMSG_LEN(sizeof sent);
    memcpy(CMSG_DATA(first), &sent, sizeof sent);
    CHECK_EQ(sched_sendmsg(fd, &message, 0, s), sizeof bytes);
}

static void sends_descriptor(void *closure, struct scheduler *s)
{
    int fd = (int)(long)closure;
    send_descriptor(fd, fd, s);
    CHECK_EQ(sched_close(fd), 0);
}

static void vectors_root(void *closure, struct scheduler *s)
{
    static unsigned char bytes[PARTS][PART];
    struct iovec v[PARTS];
    int pair[2];
    char room[CMSG_SPACE(sizeof(int))], byte[40000];
    for (size_t i = 0; i < PARTS * PART; i++)
        bytes[i / PART][i % PART] = pattern(i);
    for (int i = 0; i < PARTS; i++)
        v[i] = (struct iovec){bytes[i], PART};
    make_pair(pair);
    CHECK_EQ(sched_spawn(reads_parts, (void *)(long)pair[0], s), 0);
    CHECK_EQ(sched_writev(pair[1], v, PARTS, s), PARTS * PART);
    CHECK_ERRNO((int)sched_writev(pair[1], v, -1, s), EINVAL);
    CHECK_ERRNO((int)sched_readv(pair[1], v, INT_MAX, s), EINVAL);
    CHECK_ERRNO((int)sched_readv(pair[1], NULL, 2, s), EFAULT);
    CHECK_EQ(sched_writev(pair[1], v, 0, s), 0);
    CHECK_EQ(sched_close(pair[1]), 0);

    make_pair(pair);
    CHECK_EQ(sched_spawn(sends_descriptor, (void *)(long)pair[1], s), 0);
    struct iovec one = {byte, sizeof byte};
    int got = -1, controls = 0;
    for (ssize_t left = 200000; left > 0;) {
        struct msghdr message = {.msg_iov = &one, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
        ssize_t n = sched_recvmsg(pair[0], &message, MSG_CMSG_CLOEXEC, s);
        CHECK(n > 0);
        left -= n;
        if (CMSG_FIRSTHDR(&message) != NULL) {
            memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof got);
            controls++;
        }
    }
    CHECK_EQ(controls, 1);
    CHECK_EQ(sched_write(got, "back", 4, s), 4); /* the same socket as pair[1] */
    CHECK_EQ(sched_close(got), 0);
    CHECK_EQ(sched_recv(pair[0], byte, 4, MSG_WAITALL, s), 4);
    CHECK_EQ(sched_recv(pair[0], byte, 9, 0, s), 0); /* all its owners have closed it */
    CHECK_EQ(sched_close(pair[0]), 0);

    make_pair(pair);
    CHECK_ERRNO((int)sched_recv(pair[0], byte, 1, MSG_DONTWAIT, s), EAGAIN);
    CHECK_EQ(sched_send(pair[1], "abc", 3, 0, s), 3);
    CHECK_EQ(sched_recv(pair[0], byte, 9, MSG_PEEK, s), 3);
    CHECK_EQ(sched_recv(pair[0], byte, 3, MSG_WAITALL, s), 3);
    ssize_t sent, all = 0;
    while ((sent = sched_send(pair[1], byte, sizeof byte, MSG_DONTWAIT, s)) > 0)
        all += sent;
    CHECK_EQ(get_errno(), EAGAIN);
    CHECK(all > 0);
    close_both(pair);
}

CASE(io_vectors)
{
    run(2, vectors_root);
}

/* io_errors: Bad descriptors, sockets without a peer, and full or broken pipes give the errors of POSIX; SIGPIPE is not raised.
 * ctest: static debug
 * ctest: matrix few join=suspend idle=park threads=2 */
static void note_scheduler(void *at, struct scheduler *s)
{
    *(struct scheduler **)at = s;
}

static void fails_in_all_ways(void *closure, struct scheduler *s)
{
    int ends[2];
    char byte = 0;
    CHECK_ERRNO((int)sched_read(-1, &byte, 1, s), EBADF);
    CHECK_ERRNO((int)sched_write(1000000, &byte, 1, s), EBADF);
    CHECK_ERRNO(sched_poll(-1, POLLIN, SCHED_FOREVER, s), EBADF);
    CHECK_ERRNO(sched_poll(1000000, POLLIN, SCHED_FOREVER, s), EBADF);
    CHECK_ERRNO(sched_close(-1), EBADF);
    CHECK_ERRNO(sched_close(1000000), EBADF);
    make_pipe(ends);
    CHECK_ERRNO((int)sched_recv(ends[0], &byte, 1, 0, s), ENOTSOCK);
    CHECK_ERRNO(sched_accept(ends[0], NULL, NULL, s), ENOTSOCK);
    CHECK_ERRNO((int)sched_read(ends[1], &byte, 1, s), EBADF); /* only writable */
    CHECK_EQ(sched_close(ends[0]), 0);
    CHECK_ERRNO((int)sched_write(ends[1], &byte, 1, s), EPIPE);
    CHECK_ERRNO((int)sched_write_all(ends[1], &byte, 1, s), EPIPE);
    CHECK_EQ(sched_poll(ends[1], POLLOUT, SCHED_FOREVER, s) & POLLERR, POLLERR);
    CHECK_EQ(sched_close(ends[1]), 0);
    make_pair(ends);
    CHECK_EQ(sched_close(ends[0]), 0);
    CHECK_ERRNO((int)sched_write(ends[1], &byte, 1, s), EPIPE);
    CHECK_ERRNO((int)sched_send(ends[1], &byte, 1, 0, s), EPIPE);
    CHECK_EQ(sched_poll(ends[1], POLLIN | POLLRDHUP, SCHED_FOREVER, s) & POLLRDHUP, POLLRDHUP);
    CHECK_EQ(sched_close(ends[1]), 0);
    int unconnected = socket(AF_INET, SOCK_DGRAM, 0);
    struct iovec into = {&byte, 1};
    struct msghdr message = {.msg_iov = &into, .msg_iovlen = 1};
    CHECK_ERRNO((int)sched_recvmsg(unconnected, &message, MSG_ERRQUEUE, s), EAGAIN); /* it never waits */
    CHECK_ERRNO((int)sched_recv(unconnected, &byte, 1, MSG_ERRQUEUE, s), EAGAIN);
    CHECK_EQ(sched_close(unconnected), 0);
    int lonely = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_ERRNO((int)sched_read(lonely, &byte, 1, s), ENOTCONN);
    CHECK_EQ(sched_close(lonely), 0);
}

CASE(io_errors)
{
    struct scheduler *ended;
    char byte;
    int ends[2];
    everywhere(fails_in_all_ways);
    sigset_t pending;
    CHECK_EQ(sigpending(&pending), 0);
    CHECK_EQ(sigismember(&pending, SIGPIPE), 0);
    run(1, nothing);
    CHECK_EQ(sched_init(1, 10, note_scheduler, &ended), 0);
    make_pipe(ends);
    CHECK_EQ(write(ends[1], "x", 1), 1);
    CHECK_EQ(sched_read(ends[0], &byte, 1, ended), 1);
    CHECK_ERRNO((int)sched_read(ends[0], &byte, 1, ended), EINVAL);
}

/* io_pools: The tasks of several runs and pools wait at the same time, and a run ends while others wait.
 * ctest: static debug
 * ctest: matrix few join=suspend idle=park threads=1,2 */
static void pings(void *closure, struct scheduler *s)
{
    const int *ends = closure;
    char byte = 'p';
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(sched_write(ends[1], &byte, 1, s), 1);
        CHECK_EQ(sched_read(ends[1], &byte, 1, s), 1);
    }
    CHECK_EQ(sched_close(ends[1]), 0);
}

static void pongs(void *closure, struct scheduler *s)
{
    const int *ends = closure;
    char byte;
    while (sched_read(ends[0], &byte, 1, s) == 1)
        CHECK_EQ(sched_write(ends[0], &byte, 1, s), 1);
    CHECK_EQ(sched_close(ends[0]), 0);
}

CASE(io_pools)
{
    struct sched_pool *first = pool_of(1), *second = pool_of(2);
    int ends[20][2];
    for (int i = 0; i < 20; i++) {
        make_pair(ends[i]);
        CHECK_EQ(sched_pool_submit(i % 2 ? first : second, pings, ends[i]), 0);
    }
    for (int i = 0; i < 20; i++)
        CHECK_EQ(i % 3 ? sched_pool_submit(i % 2 ? second : first, pongs, ends[i]) : sched_init(2, 10, pongs, ends[i]), 0);
    CHECK_EQ(sched_pool_destroy(first), 0);
    CHECK_EQ(sched_pool_destroy(second), 0);
}

/* io_fork: A child made by fork waits by itself, and does not disturb the waits of its parent.
 * ctest: static debug
 * ctest: matrix few join=suspend idle=park threads=2 */
static int parents[2];

static void child_root(void *closure, struct scheduler *s)
{
    int ends[2];
    make_pair(ends);
    CHECK_EQ(sched_spawn(pings, ends, s), 0);
    pongs(ends, s);
}

static void in_fork(void *arg)
{
    alarm(60);
    run(2, child_root);
    printf("well\n");
    fflush(stdout);
}

static void waits_in_parent(void *closure, struct scheduler *s)
{
    char byte = 0;
    CHECK_EQ(sched_read(parents[0], &byte, 1, s), 1);
    CHECK_EQ(byte, 'c');
}

CASE(io_fork)
{
    struct sched_pool *pool = pool_of(2);
    make_pipe(parents);
    CHECK_TIMES(3, sched_pool_submit(pool, waits_in_parent, NULL));
    for (int i = 0; i < 3; i++) {
        pause_us(2000);
        in_child(in_fork, NULL);
        CHECK_EQ(child.status, 0);
        CHECK(strstr(child.said, "well") != NULL);
        CHECK_EQ(write(parents[1], "c", 1), 1);
    }
    CHECK_EQ(sched_pool_wait(pool), 0);
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

/* io_shown: The state of a run shows the descriptor that a task waits for, and its kind. A run that
 * waits for a descriptor is not a deadlock.
 * ctest: static debug sleeps
 * ctest: matrix few join=suspend idle=park threads=2 */
static void waits_shown(void *closure, struct scheduler *s)
{
    char byte;
    CHECK_EQ(sched_read(never[0], &byte, 1, s), 1);
}

static void *asks_for_state(void *arg)
{
    pause_us(2500000);
    raise(SIGQUIT);
    pause_us(300000);
    CHECK_EQ(write(never[1], "x", 1), 1);
    return NULL;
}

static void shown(void *arg)
{
    alarm(60);
    setenv("SCHED_WATCHDOG", "1min", 1);
    make_pair(never);
    pthread_t thread = begin_thread(asks_for_state, NULL);
    run(2, waits_shown);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

CASE(io_shown)
{
    char text[100];
    int fd[2];
    make_pair(fd); /* the child's is the next one */
    close_both(fd);
    in_child(shown, NULL);
    CHECK_EQ(child.status, 0);
    snprintf(text, sizeof text, "(waits_shown) waits for the descriptor ");
    check_child(__FILE__, __LINE__, strstr(child.said, text) != NULL, text);
    check_child(__FILE__, __LINE__, strstr(child.said, ", readable, a socket") != NULL, "say what it is");
    check_child(__FILE__, __LINE__, strstr(child.said, "deadlock") == NULL, "see no deadlock");
}
