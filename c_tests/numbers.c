/* numbers: descriptors that are closed while tasks wait for them, whose numbers are used again, and for which several tasks wait. */
#include "case.h"
#include "descriptors.h"
#include <netinet/in.h>
#include <sys/mman.h>

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
    CHECK_TIMES(n, sched_spawn(waits_closed, (void *)(long)fd, s));
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
