/* descriptors: the functions of sched_io.h. This is one file because its cases share their pipes, pairs and listeners. */
#include "case.h"
#include "child.h"
#include "everywhere.h"
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched_io.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/un.h>
#include <sys/timerfd.h>

enum { SHORT = 200000 }; /* ns */

static void make_pipe(int *ends)
{
    CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
}

static void make_pair(int *ends)
{
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
}

static void close_both(const int *ends)
{
    CHECK_EQ(sched_close(ends[0]), 0);
    CHECK_EQ(sched_close(ends[1]), 0);
}

static unsigned char pattern(size_t at)
{
    return (unsigned char)(at * 7 + at / 251);
}

/* io_stream: What one task writes another one reads, whole and in order, through pipes and sockets, although both wait often;
 * with one worker, too.
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

/* io_until: Each wait ends at its deadline, from wherever it is called; nothing was read, written or accepted. What is ready is
 * used even if the deadline has passed.
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

/* io_sooner: A wait whose event races its deadline gets what has come, or leaves it to the next reader: each byte is read once.
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
    for (int i = 0; i < CANCELLED; i++)
        CHECK_EQ(sched_group_spawn(&waiting_group, waits_cancelled, NULL, s), 0);
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
    CHECK(cancelled_waits <= CANCELLED); /* those that had not begun did not */
    CHECK(cancelled_waits > 0 || shares_stack());
}

/* io_close: sched_close ends the waits for the descriptor, and a wait for the next descriptor of the same number is not
 * disturbed. After a close(2) a task that waits learns of it when the number is used again, or a while later. (A task may begin
 * to wait so late that it waits for the next descriptor.)
 * ctest: static debug
 * ctest: matrix few join=suspend */
enum { CLOSERS = 3 };

static atomic_int closer_came, closed_waits, reused_waits;

static void waits_closed(void *closure, struct scheduler *s)
{
    char byte = 0;
    closer_came++;
    ssize_t n = sched_read((int)(long)closure, &byte, 1, s);
    if (n < 0) {
        CHECK_EQ(get_errno(), EBADF);
        closed_waits++;
    } else {
        CHECK_EQ(n, 1);
        CHECK_EQ(byte, 'y');
        reused_waits++;
    }
}

static void begin_to_wait(int n, int fd, struct scheduler *s)
{
    closer_came = 0;
    for (int i = 0; i < n; i++)
        CHECK_EQ(sched_spawn(waits_closed, (void *)(long)fd, s), 0);
    while (closer_came < n)
        sched_task_yield(s);
    CHECK_EQ(sched_sleep(5 * SHORT, s), 0);
}

static void close_root(void *closure, struct scheduler *s)
{
    for (int by_library = 0; by_library < 2; by_library++) {
        int ends[2], next[2];
        closed_waits = reused_waits = 0;
        make_pair(ends);
        begin_to_wait(CLOSERS - 1, ends[0], s);
        CHECK_EQ(by_library ? sched_close(ends[0]) : close(ends[0]), 0);
        make_pair(next);
        int fd = dup2(next[0], ends[0]);
        CHECK_EQ(fd, ends[0]);
        begin_to_wait(1, fd, s);
        CHECK_EQ(sched_write(ends[1], "x", 1, s) < 0, 1); /* its other end is gone */
        CHECK_EQ(sched_write(next[1], "yyy", CLOSERS, s), CLOSERS);
        while (closed_waits + reused_waits < CLOSERS)
            sched_task_yield(s);
        CHECK(reused_waits > 0);
        CHECK_EQ(sched_close(fd), 0);
        CHECK_EQ(next[0] == fd ? 0 : close(next[0]), 0);
        CHECK_EQ(close(next[1]), 0);
        CHECK_EQ(close(ends[1]), 0);
    }
    int alone[2];
    make_pair(alone);
    closed_waits = 0;
    begin_to_wait(1, alone[0], s);
    CHECK_EQ(close(alone[0]), 0);
    while (closed_waits < 1)
        CHECK_EQ(sched_sleep(SHORT, s), 0);
    CHECK_EQ(close(alone[1]), 0);
}

CASE(io_close)
{
    run(2, close_root);
}

/* io_reused: A task whose descriptor was ready, but which has not run since then, when sched_close closes the descriptor: its
 * call ends with EBADF, or with what it got before, and does nothing to the number's next owner: it neither takes nor sends
 * bytes, and leaves the flags alone.
 * ctest: static debug
 * ctest: matrix few join=suspend idle=park,spin threads=1 */
enum { LARGE = 1000000 };

static atomic_int reused_begun, reused_busy, reused_go;

struct reused {
    int fd, error;
    ssize_t n;
    char *bytes;
    struct sockaddr_in to;
};

static void reads_old(void *closure, struct scheduler *s)
{
    struct reused *old = closure;
    reused_begun = 1;
    old->n = sched_read(old->fd, old->bytes, 1, s);
    old->error = old->n < 0 ? get_errno() : 0;
}

static void writes_old(void *closure, struct scheduler *s)
{
    struct reused *old = closure;
    reused_begun = 1;
    old->n = sched_write_all(old->fd, old->bytes, LARGE, s);
    old->error = old->n < 0 ? get_errno() : 0;
}

static void connects_old(void *closure, struct scheduler *s)
{
    struct reused *old = closure;
    reused_begun = 1;
    old->n = sched_connect(old->fd, (struct sockaddr *)&old->to, sizeof old->to, s);
    old->error = old->n < 0 ? get_errno() : 0;
}

static void keeps_worker(void *closure, struct scheduler *s)
{
    reused_busy = 1;
    while (!reused_go)
        pause_us(100);
}

/* Runs f in the pool until it waits for old->fd, makes that descriptor ready by `ready` while the worker is busy, closes it, and
 * gives its number to next. */
static void reuses(struct sched_pool *pool, taskfunc f, struct reused *old, void (*ready)(int), int peer, int pause, int next)
{
    reused_begun = reused_busy = reused_go = 0;
    CHECK_EQ(sched_pool_submit(pool, f, old), 0);
    while (!reused_begun)
        pause_us(100);
    pause_us(2000); /* now it waits */
    CHECK_EQ(sched_pool_submit(pool, keeps_worker, NULL), 0);
    while (!reused_busy)
        pause_us(100);
    ready(peer);
    pause_us(pause);
    CHECK_EQ(sched_close(old->fd), 0);
    CHECK_EQ(dup2(next, old->fd), old->fd);
}

static void give_byte(int peer)
{
    CHECK_EQ(write(peer, "o", 1), 1);
}

static void take_bytes(int peer)
{
    static char sink[LARGE];
    while (recv(peer, sink, sizeof sink, MSG_DONTWAIT) > 0) {}
}

static void do_nothing(int peer)
{
    (void)peer;
}

static void ends_reuse(struct sched_pool *pool, struct reused *old)
{
    reused_go = 1;
    CHECK_EQ(sched_pool_wait(pool), 0);
    CHECK_EQ(close(old->fd), 0);
}

/* A listening socket whose queue is full. */
static int full_listener(struct sockaddr_in *at, int *clients, int n)
{
    socklen_t length = sizeof *at;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    *at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    CHECK_EQ(bind(listener, (struct sockaddr *)at, length), 0);
    CHECK_EQ(getsockname(listener, (struct sockaddr *)at, &length), 0);
    CHECK_EQ(listen(listener, 0), 0);
    for (int i = 0; i < n; i++) {
        clients[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)!connect(clients[i], (struct sockaddr *)at, length);
    }
    return listener;
}

CASE(io_reused)
{
    struct sched_pool *pool = pool_of(1);
    static char large[LARGE];
    for (int round = 0; round < 8; round++) {
        int pair[2], next[2];
        char byte = 0;
        struct reused old = {.bytes = &byte};
        make_pair(pair);
        make_pair(next);
        old.fd = pair[0];
        reuses(pool, reads_old, &old, give_byte, pair[1], round * 400, next[0]);
        CHECK_EQ(write(next[1], "n", 1), 1);
        ends_reuse(pool, &old);
        CHECK(old.n < 0 ? old.error == EBADF : byte == 'o');
        CHECK_EQ(close(pair[1]), 0);

        make_pair(pair);
        old = (struct reused){.fd = pair[0], .bytes = large};
        reuses(pool, writes_old, &old, take_bytes, pair[1], round * 400, next[0]);
        ends_reuse(pool, &old);
        CHECK_EQ(recv(next[1], &byte, 1, MSG_DONTWAIT), -1);
        CHECK_EQ(old.n, -1);
        CHECK_EQ(old.error, EBADF);
        CHECK_EQ(close(pair[1]), 0);
        CHECK_EQ(close(next[0]), 0);
        CHECK_EQ(close(next[1]), 0);
    }
    int clients[4], next[2];
    struct reused old = {.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    int listener = full_listener(&old.to, clients, 4);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, next), 0);
    reuses(pool, connects_old, &old, do_nothing, -1, 0, next[0]);
    reused_go = 1;
    CHECK_EQ(sched_pool_wait(pool), 0);
    CHECK_EQ(fcntl(next[0], F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    CHECK_EQ(old.n == 0 || old.error == EBADF, 1); /* a kernel may have connected it */
    CHECK_EQ(close(old.fd), 0);
    close_both(next);
    for (int i = 0; i < 4; i++)
        CHECK_EQ(close(clients[i]), 0);
    CHECK_EQ(close(listener), 0);
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

/* io_queue_full: A connection to a socket of the file system whose queue is full waits until there is room, until its
 * deadline, or until its group is cancelled; so does a thread's.
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
    CHECK_EQ(connects_until(sched_now() + 10 * SHORT, s), ETIMEDOUT);
    CHECK_EQ(connects_until(sched_now(), s), ETIMEDOUT);
    CHECK_EQ(sched_group_spawn(&ends, connects_in_vain, NULL, s), 0);
    CHECK_EQ(sched_group_spawn(&waits, connects_at_last, NULL, s), 0);
    CHECK_EQ(sched_sleep(10 * SHORT, s), 0);
    sched_group_cancel(&ends);
    CHECK_ERRNO(sched_group_wait(&ends, s), ECANCELED);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(sched_close(sched_accept(listener, NULL, NULL, s)), 0);
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

/* io_share: Tasks that wait to read from the same descriptor are served one by one: each gets a byte, and a writer is served
 * beside them. (sync/descriptor.rs shows that they are served in the order in which they came.)
 * ctest: static debug
 * ctest: matrix few join=suspend idle=park threads=1,2 */
enum { SHARERS = 8 };

static int share[2];
static atomic_int share_came, share_got, share_seen;

static void reads_share(void *closure, struct scheduler *s)
{
    char byte = 0;
    share_came++;
    CHECK_EQ(sched_read(share[0], &byte, 1, s), 1);
    CHECK_EQ(share_seen & 1 << byte, 0);
    share_seen |= 1 << byte;
    share_got++;
}

static void share_root(void *closure, struct scheduler *s)
{
    spawn_all(SHARERS, reads_share, s);
    while (share_came < SHARERS)
        sched_task_yield(s);
    CHECK_EQ(sched_poll(share[0], POLLOUT, SCHED_FOREVER, s), POLLOUT);
    for (char i = 0; i < SHARERS; i++) {
        CHECK_EQ(share_got, i);
        CHECK_EQ(sched_write(share[1], &i, 1, s), 1);
        while (share_got <= i)
            sched_task_yield(s);
    }
    CHECK_EQ(share_seen, (1 << SHARERS) - 1);
}

CASE(io_share)
{
    make_pair(share);
    run(2, share_root);
}

/* io_expects: A task whose reads of a descriptor had to wait, one after the other, expects nothing there and waits before it
 * reads. What is there all the same is read at once: with a deadline that has passed, in a cancelled group, and by a read of
 * nothing. The same number may be another kind of descriptor meanwhile.
 * ctest: static debug
 * ctest: matrix few join=suspend idle=park threads=1,2 */
enum { TURNS = 40 };

static int talk[2];
static sched_group talkers;

static void answers_all(void *closure, struct scheduler *s)
{
    char byte;
    while (sched_read(talk[1], &byte, 1, s) == 1)
        CHECK_EQ(sched_write(talk[1], &byte, 1, s), 1);
}

/* Has answers come, until the task expects to wait for the next. */
static void talks(struct scheduler *s)
{
    char bytes[8];
    for (char i = 0; i < TURNS; i++) {
        CHECK_EQ(sched_write(talk[0], &i, 1, s), 1);
        CHECK_EQ(sched_read(talk[0], bytes, sizeof bytes, s), 1);
        CHECK_EQ(bytes[0], i);
    }
}

static void expects(void *closure, struct scheduler *s)
{
    char bytes[8];
    talks(s);
    CHECK_EQ(sched_read(talk[0], bytes, 0, s), 0);
    talks(s);
    CHECK_ERRNO(sched_read_until(talk[0], bytes, sizeof bytes, 0, s), ETIMEDOUT);
    CHECK_EQ(write(talk[1], "abc", 3), 3);
    CHECK_EQ(sched_read_until(talk[0], bytes, sizeof bytes, 0, s), 3);
    talks(s);
    CHECK_EQ(write(talk[1], "abc", 3), 3);
    CHECK_EQ(sched_recv_until(talk[0], bytes, sizeof bytes, 0, 0, s), 3);
    talks(s);
    int file = memfd_create("file", MFD_CLOEXEC), other = dup(talk[0]);
    CHECK_EQ(pwrite(file, "1234567", 7, 0), 7);
    CHECK_EQ(dup2(file, talk[0]), talk[0]);
    CHECK_EQ(sched_read(talk[0], bytes, sizeof bytes, s), 7);
    CHECK_EQ(dup2(other, talk[0]), talk[0]);
    talks(s);
    CHECK_EQ(write(talk[1], "ab", 2), 2);
    sched_group_cancel(&talkers);
    CHECK_EQ(sched_read(talk[0], bytes, sizeof bytes, s), 2);
    CHECK_ERRNO(sched_read(talk[0], bytes, sizeof bytes, s), ECANCELED);
    CHECK_EQ(close(file), 0);
    CHECK_EQ(close(other), 0);
    CHECK_EQ(shutdown(talk[0], SHUT_RDWR), 0);
}

static void expects_root(void *closure, struct scheduler *s)
{
    spawn_all(1, answers_all, s);
    CHECK_EQ(sched_group_spawn(&talkers, expects, NULL, s), 0);
    CHECK_ERRNO(sched_group_wait(&talkers, s), ECANCELED);
}

CASE(io_expects)
{
    make_pair(talk);
    run(2, expects_root);
}

/* io_replaced: A task that waits before it reads, since it expects nothing, does not read from the next owner of a number that
 * was closed meanwhile.
 * ctest: static debug
 * ctest: matrix few join=suspend idle=park threads=1,2 */
static int next_pair[2];
static atomic_int replaced;

static void replaces(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_close(talk[0]), 0);
    CHECK_EQ(dup2(next_pair[0], talk[0]), talk[0]);
    replaced = 1;
}

static void reads_replaced(void *closure, struct scheduler *s)
{
    char bytes[8];
    talks(s);
    CHECK_EQ(sched_spawn(replaces, NULL, s), 0);
    ssize_t got = sched_read(talk[0], bytes, sizeof bytes, s);
    if (got < 0) {
        CHECK_EQ(get_errno(), EBADF);
        while (!replaced)
            sched_task_yield(s);
        got = sched_read(talk[0], bytes, sizeof bytes, s);
    } else {
        CHECK(threads_of(2) > 1 || shares_stack()); /* it was replaced before the task read */
    }
    CHECK_EQ(got, 3);
}

static void replaced_root(void *closure, struct scheduler *s)
{
    spawn_all(1, answers_all, s);
    CHECK_EQ(sched_spawn(reads_replaced, NULL, s), 0);
}

CASE(io_replaced)
{
    make_pair(talk);
    make_pair(next_pair);
    CHECK_EQ(write(next_pair[1], "abc", 3), 3);
    run(2, replaced_root);
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

/* io_busy: A task that waits for a descriptor runs although all workers are busy with tasks that never wait. (Where a spawn
 * calls the task, these tasks would be one endless chain of calls.)
 * ctest: static debug
 * ctest: matrix few without=calls join=suspend idle=park threads=1,2 */
static int busy[2];
static atomic_int busy_done;

static void spawns_itself(void *closure, struct scheduler *s)
{
    double end = now() + 0.0005;
    while (now() < end)
        continue;
    if (!busy_done)
        CHECK_EQ(sched_spawn(spawns_itself, NULL, s), 0);
}

static void *asks_from_outside(void *arg)
{
    char byte = 'b';
    for (int i = 0; i < 20; i++) {
        pause_us(500);
        CHECK_EQ(write(busy[1], &byte, 1), 1);
        CHECK_EQ(read(busy[1], &byte, 1), 1);
    }
    return NULL;
}

static void busy_root(void *closure, struct scheduler *s)
{
    char byte;
    spawn_all(4, spawns_itself, s);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(sched_read(busy[0], &byte, 1, s), 1);
        CHECK_EQ(sched_write(busy[0], &byte, 1, s), 1);
    }
    busy_done = 1;
}

CASE(io_busy)
{
    pthread_t thread;
    make_pair(busy);
    CHECK_EQ(pthread_create(&thread, NULL, asks_from_outside, NULL), 0);
    run(2, busy_root);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

/* io_relief: A task that waits for a descriptor runs although each worker is in a task that does not end before: a thread beside
 * the workers runs it, and what it spawns. There the task has no number; when it asks for one, it waits for a worker.
 * ctest: static debug
 * ctest: matrix few with=threads join=suspend idle=park threads=1,2,4 */
enum { RELIEVED = 10 };

static int relieved[RELIEVED][2];
static atomic_int spinning, relieved_all, children, numbered, spinners_may_end;

static void spins_until_all(void *closure, struct scheduler *s)
{
    unsigned turns = 0;
    spinning++;
    while (!spinners_may_end)
        spin(&turns);
}

static void is_child(void *closure, struct scheduler *s)
{
    children++;
}

APART void is_relieved(void *closure, struct scheduler *s)
{
    const int *ends = closure;
    char byte;
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(sched_read(ends[0], &byte, 1, s), 1);
        CHECK_EQ(sched_write(ends[0], &byte, 1, s), 1);
    }
    CHECK_EQ(sched_spawn(is_child, NULL, s), 0);
    if (++relieved_all == RELIEVED)
        spinners_may_end = 1;
    int index = sched_worker_index(s);
    CHECK(index >= 0 && index < sched_worker_count(s));
    numbered++;
    close_both(ends);
}

static void *asks_the_relieved(void *arg)
{
    unsigned turns = 0;
    char byte = 'r';
    while (spinning < threads_of(*(int *)arg))
        spin(&turns);
    for (int i = 0; i < 20; i++)
        for (int k = 0; k < RELIEVED; k++) {
            CHECK_EQ(write(relieved[k][1], &byte, 1), 1);
            CHECK_EQ(read(relieved[k][1], &byte, 1), 1);
        }
    return NULL;
}

static void relief_root(void *closure, struct scheduler *s)
{
    for (int k = 0; k < RELIEVED; k++)
        CHECK_EQ(sched_spawn(is_relieved, relieved[k], s), 0);
    for (int k = 0; k < RELIEVED; k++)
        sched_task_yield(s);
    CHECK_EQ(sched_sleep(10 * SHORT, s), 0); /* now they wait */
    spawn_all(threads_of(2), spins_until_all, s);
}

CASE(io_relief)
{
    pthread_t thread;
    int workers = 2;
    for (int k = 0; k < RELIEVED; k++)
        make_pair(relieved[k]);
    CHECK_EQ(pthread_create(&thread, NULL, asks_the_relieved, &workers), 0);
    run(workers, relief_root);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(relieved_all, RELIEVED);
    CHECK_EQ(numbered, RELIEVED);
    CHECK_EQ(children, RELIEVED);
}

/* sleep_relief: A task that sleeps, or waits until a deadline, goes on although each worker is in a task that does not end before.
 * ctest: static debug
 * ctest: matrix few with=threads join=suspend idle=park threads=1,2,4 global=one */
static atomic_int woken_up, sleep_spinning;

static void spins_until_woken(void *closure, struct scheduler *s)
{
    unsigned turns = 0;
    sleep_spinning++;
    while (woken_up < 2)
        spin(&turns);
}

static void sleeps_beside(void *closure, struct scheduler *s)
{
    sched_sem never_posted = SCHED_SEM_INIT(0);
    do
        if (closure == NULL)
            CHECK_EQ(sched_sleep(10 * SHORT, s), 0);
        else
            CHECK_ERRNO(sched_sem_wait_until(&never_posted, sched_now() + 10 * SHORT, s), ETIMEDOUT);
    while (sleep_spinning < threads_of(2));
    woken_up++;
}

static void sleep_relief_root(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(sleeps_beside, NULL, s), 0);
    CHECK_EQ(sched_spawn(sleeps_beside, &woken_up, s), 0);
    sched_task_yield(s);
    CHECK_EQ(sched_sleep(SHORT, s), 0); /* now they wait */
    spawn_all(threads_of(2), spins_until_woken, s);
}

CASE(sleep_relief)
{
    run(2, sleep_relief_root);
    CHECK_EQ(woken_up, 2);
}

/* timer_relief: The functions of timers, urgent or not, begin although each worker is in a task that does not end before.
 * ctest: static debug
 * ctest: matrix few with=threads join=suspend idle=park threads=1,2,4 global=one */
static sched_timer due[2];
static atomic_int were_due, timer_spinning;

static void spins_until_due(void *closure, struct scheduler *s)
{
    unsigned turns = 0;
    timer_spinning++;
    while (were_due < 2)
        spin(&turns);
}

static void starts_a_timer(int which, struct scheduler *s);

static void is_due(void *closure, struct scheduler *s)
{
    if (timer_spinning < threads_of(2))
        starts_a_timer(closure == &due[1], s);
    else
        were_due++;
}

static void starts_a_timer(int which, struct scheduler *s)
{
    const int levels[] = {SCHED_NORMAL, SCHED_URGENT};
    CHECK_EQ(sched_timer_start_at(&due[which], levels[which], sched_now() + 10 * SHORT, is_due, &due[which], s), 0);
}

static void timer_relief_root(void *closure, struct scheduler *s)
{
    starts_a_timer(0, s);
    starts_a_timer(1, s);
    spawn_all(threads_of(2), spins_until_due, s);
}

CASE(timer_relief)
{
    run(2, timer_relief_root);
    CHECK_EQ(were_due, 2);
}

/* sleep_relief_same: Tasks that sleep until the same time all go on, although the first ones do not end before all have.
 * ctest: static debug
 * ctest: matrix few with=threads join=suspend idle=park threads=1,2,4 global=one */
enum { ROUNDS_SAME = 5 };

static atomic_int begun[ROUNDS_SAME], awake[ROUNDS_SAME];
static _Atomic sched_time wake_at[ROUNDS_SAME];

static void spins_until_all_awake(void *closure, struct scheduler *s)
{
    int round = *(int *)closure, tasks = threads_of(2) + 1;
    unsigned turns = 0;
    if (++begun[round] == tasks)
        wake_at[round] = sched_now() + 10 * SHORT;
    while (wake_at[round] == 0) /* a task that has not begun is not the business of a thread beside the workers */
        CHECK_EQ(sched_sleep(SHORT, s), 0);
    CHECK_EQ(sched_sleep_until(wake_at[round], s), 0);
    awake[round]++;
    while (awake[round] < tasks)
        spin(&turns);
}

static void sleep_relief_same_root(void *closure, struct scheduler *s)
{
    static int rounds[ROUNDS_SAME];
    for (int round = 0; round < ROUNDS_SAME; round++) {
        sched_group group = SCHED_GROUP_INIT;
        rounds[round] = round;
        for (int i = 0; i < threads_of(2) + 1; i++)
            CHECK_EQ(sched_group_spawn(&group, spins_until_all_awake, &rounds[round], s), 0);
        CHECK_EQ(sched_group_wait(&group, s), 0);
        CHECK_EQ(awake[round], threads_of(2) + 1);
    }
}

CASE(sleep_relief_same)
{
    run(2, sleep_relief_same_root);
}

/* relief_nested: A task that a thread beside the workers has resumed starts a run, whose tasks wait for the outer run, too.
 * ctest: static debug
 * ctest: matrix few with=threads join=suspend idle=park threads=1,2,4 global=one */
static atomic_int nested_spinning, nested_done;

static void spins_until_nested(void *closure, struct scheduler *s)
{
    unsigned turns = 0;
    nested_spinning++;
    while (!nested_done)
        spin(&turns);
}

static void waits_in_both(void *outer, struct scheduler *s)
{
    sched_sem never_posted = SCHED_SEM_INIT(0);
    CHECK_EQ(sched_sleep(SHORT, s), 0);
    CHECK_ERRNO(sched_sem_wait_until(&never_posted, sched_now() + 10 * SHORT, outer), ETIMEDOUT);
    CHECK_EQ(sched_sleep(SHORT, outer), 0);
}

static void nests(void *closure, struct scheduler *s)
{
    do
        CHECK_EQ(sched_sleep(10 * SHORT, s), 0);
    while (nested_spinning < threads_of(2));
    CHECK_EQ(sched_init(2, 10, waits_in_both, s), 0);
    nested_done = 1;
}

static void beside_spinners(taskfunc f, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(f, NULL, s), 0);
    sched_task_yield(s);
    CHECK_EQ(sched_sleep(SHORT, s), 0); /* now it sleeps */
    spawn_all(threads_of(2), spins_until_nested, s);
}

static void relief_nested_root(void *closure, struct scheduler *s)
{
    beside_spinners(nests, s);
}

CASE(relief_nested)
{
    run(2, relief_nested_root);
    CHECK_EQ(nested_done, 1);
}

/* relief_works: A task that a thread beside the workers has resumed forks, joins, loops, and waits for a group: the tasks that it
 * spawns run there, too. (In kinds lifo and fifo they are in the queue of all, and wait for a worker.)
 * ctest: static debug
 * ctest: matrix few with=deques join=suspend idle=park threads=1,2,4 global=one */
static atomic_int beside_ran;

static void runs_beside(void *closure, struct scheduler *s)
{
    int depth = (int)(intptr_t)closure;
    sched_task child;
    beside_ran++;
    if (depth == 0)
        return;
    sched_fork(&child, runs_beside, (void *)(intptr_t)(depth - 1), s);
    runs_beside((void *)(intptr_t)(depth - 1), s);
    sched_task_yield(s);
    sched_join(&child, s);
}

static void loops_beside(size_t lo, size_t hi, void *closure, struct scheduler *s)
{
    beside_ran += (int)(hi - lo);
    sched_task_yield(s);
}

static void works_beside(struct scheduler *s)
{
    sched_group group = SCHED_GROUP_INIT;
    beside_ran = 0;
    runs_beside((void *)5, s);
    CHECK_EQ(sched_for(0, 100, 1, loops_beside, NULL, s), 0);
    for (int i = 0; i < 20; i++)
        CHECK_EQ(sched_group_spawn(&group, runs_beside, (void *)2, s), 0);
    CHECK_EQ(sched_group_wait(&group, s), 0);
    CHECK_EQ(beside_ran, 63 + 100 + 20 * 7);
}

static void works(void *closure, struct scheduler *s)
{
    do
        CHECK_EQ(sched_sleep(10 * SHORT, s), 0);
    while (nested_spinning < threads_of(2));
    works_beside(s);
    nested_done = 1;
}

static void relief_works_root(void *closure, struct scheduler *s)
{
    beside_spinners(works, s);
}

CASE(relief_works)
{
    run(2, relief_works_root);
    CHECK_EQ(nested_done, 1);
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
    for (int i = 0; i < 3; i++)
        CHECK_EQ(sched_pool_submit(pool, waits_in_parent, NULL), 0);
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

/* io_shown: The state of a run shows which descriptor a task waits for, and what it is. A run that waits for a descriptor is no
 * deadlock.
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
    pthread_t thread;
    alarm(60);
    setenv("SCHED_WATCHDOG", "1min", 1);
    make_pair(never);
    CHECK_EQ(pthread_create(&thread, NULL, asks_for_state, NULL), 0);
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
