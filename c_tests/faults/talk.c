/* Tasks that wait for descriptors. At the other end of each is the *partner*, a thread of the program's: it makes the
 * descriptors of a scene, sends back what it receives, and closes them. So each wait ends without another task: the scene
 * ends even where there is no memory for stacks, and tasks run on top of those that wait. */
#define _GNU_SOURCE
#include "scene.h"
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched_io.h>
#include <sys/mman.h>
#include <sys/socket.h>

enum { ROUNDS = 5, LARGE = 200000, SMALL = 5000, HIGH = 900, SOON_US = 300 };

enum end { PAIR, REQUESTS, ANSWERS, LARGE_PIPE, LISTENER, FIRST_CLIENT, SECOND_CLIENT, SILENT, CLOSED, FULL_FILE, EMPTY_FILE, ENDS };

/* The tasks' ends, and the partner's. */
static int own[ENDS], others[ENDS];

/* Changed by the scene (ASKED, OVER) and by the partner. */
static atomic_int state;
enum { IDLE, ASKED, READY, OVER };

/* The requests of tasks to the partner: to call, to close a descriptor, to cancel their group. */
static atomic_int wants_call, wants_close, wants_cancel;
static sched_group cancelled = SCHED_GROUP_INIT;
static struct sockaddr_in called, address; /* the partner's and the tasks' targets */
static int partners_listener;

/* --- the partner ----------------------------------------------------------------- */

static int listen_at(struct sockaddr_in *at)
{
    socklen_t length = sizeof *at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    *at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    CHECK(fd >= 0);
    CHECK_EQ(bind(fd, (struct sockaddr *)at, sizeof *at), 0);
    CHECK_EQ(listen(fd, 100), 0);
    CHECK_EQ(getsockname(fd, (struct sockaddr *)at, &length), 0);
    return fd;
}

static void make_pair_of(enum end end)
{
    int pair[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    own[end] = pair[0];
    others[end] = pair[1];
}

static void make_pipe_of(enum end end, int is_written)
{
    int ends[2];
    CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
    own[end] = ends[is_written];
    others[end] = ends[!is_written];
}

static void make_file_of(enum end end, size_t size)
{
    own[end] = memfd_create("talk", MFD_CLOEXEC);
    CHECK(own[end] >= 0);
    CHECK_EQ(ftruncate(own[end], (off_t)size), 0);
}

static void make_ends(void)
{
    memset(own, -1, sizeof own);
    memset(others, -1, sizeof others);
    make_pair_of(PAIR);
    make_pair_of(SILENT);
    make_pair_of(CLOSED);
    own[CLOSED] = fcntl(own[CLOSED], F_DUPFD_CLOEXEC, HIGH); /* nobody else gets this number */
    CHECK(own[CLOSED] >= HIGH);
    make_pipe_of(REQUESTS, 1);
    make_pipe_of(ANSWERS, 0);
    make_pipe_of(LARGE_PIPE, 1);
    make_file_of(FULL_FILE, SMALL);
    make_file_of(EMPTY_FILE, 0);
    own[LISTENER] = listen_at(&called);
    own[FIRST_CLIENT] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    own[SECOND_CLIENT] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(own[FIRST_CLIENT] >= 0 && own[SECOND_CLIENT] >= 0);
}

/* Sends back what has come, unless answers is -1; at the end of the file the descriptor is closed. */
static void serve(struct pollfd *one, int answers)
{
    char bytes[4096];
    if (!one->revents)
        return;
    ssize_t n = read(one->fd, bytes, sizeof bytes);
    if (n > 0 && (answers < 0 || write(answers, bytes, (size_t)n) == n))
        return;
    close(one->fd); /* the task has closed its end */
    one->fd = -1;
}

static void grant_wishes(struct pollfd *caller)
{
    if (atomic_exchange(&wants_call, 0)) {
        pause_us(SOON_US);
        caller->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        CHECK_EQ(connect(caller->fd, (struct sockaddr *)&called, sizeof called), 0);
    }
    if (atomic_exchange(&wants_close, 0)) {
        pause_us(SOON_US);
        CHECK_EQ(sched_close(own[CLOSED]), 0);
        own[CLOSED] = -1;
    }
    if (wants_cancel) {
        pause_us(SOON_US);
        sched_group_cancel(&cancelled);
        wants_cancel = 0;
    }
}

/* Until the scene is over. */
static void be_partner(void)
{
    enum { CALLER, FIRST, SECOND, ACCEPTS, PAIRED, REQUESTED, DRAINED, SERVED };
    struct pollfd list[SERVED];
    for (int i = 0; i < SERVED; i++)
        list[i] = (struct pollfd){-1, POLLIN, 0};
    list[ACCEPTS].fd = partners_listener;
    list[PAIRED].fd = others[PAIR];
    list[REQUESTED].fd = others[REQUESTS];
    list[DRAINED].fd = others[LARGE_PIPE];
    others[PAIR] = others[REQUESTS] = others[LARGE_PIPE] = -1;
    while (state != OVER) {
        grant_wishes(&list[CALLER]);
        if (poll(list, SERVED, 1) <= 0)
            continue;
        if (list[ACCEPTS].revents)
            list[list[FIRST].fd < 0 ? FIRST : SECOND].fd = accept(partners_listener, NULL, NULL);
        serve(&list[CALLER], list[CALLER].fd);
        serve(&list[FIRST], list[FIRST].fd);
        serve(&list[SECOND], list[SECOND].fd);
        serve(&list[PAIRED], list[PAIRED].fd);
        serve(&list[REQUESTED], others[ANSWERS]);
        serve(&list[DRAINED], -1);
    }
    list[ACCEPTS].fd = -1;
    for (int i = 0; i < SERVED; i++)
        if (list[i].fd >= 0)
            close(list[i].fd);
}

static void *partner(void *arg)
{
    sigset_t sigpipe;
    sigemptyset(&sigpipe);
    sigaddset(&sigpipe, SIGPIPE);
    CHECK_EQ(pthread_sigmask(SIG_BLOCK, &sigpipe, NULL), 0);
    for (;;) {
        while (state != ASKED)
            pause_us(20);
        make_ends();
        state = READY;
        be_partner();
        for (int i = 0; i < ENDS; i++) {
            if (own[i] >= 0)
                close(own[i]);
            if (others[i] >= 0)
                close(others[i]);
        }
        wants_call = wants_close = wants_cancel = 0;
        state = IDLE;
    }
    return arg;
}

void begin_partner(void)
{
    partners_listener = listen_at(&address);
    begin_thread(partner, NULL);
}

static void change_state(int to, int result)
{
    state = to;
    while (state != result)
        pause_us(20);
}

/* --- the tasks -------------------------------------------------------------------- */

/* An errno that the program sees as it is; others the library has to deal with. */
static int passed_on(void)
{
    return injected == EINTR || injected == EAGAIN || injected == EOPNOTSUPP || injected == ENOSPC ? ENOMEM : injected;
}

#define WORKED(call) DONE(call, ENOMEM, passed_on())

/* The call fails with `wanted`, or is refused. */
#define FAILS_WITH(wanted, call)                                                                              \
    do {                                                                                                      \
        set_errno(0);                                                                                         \
        int result_ = (call), error_ = get_errno();                                                           \
        CHECK_EQ(result_, -1);                                                                                \
        if (error_ != (wanted))                                                                               \
            succeeded(#call, result_, error_, 0, (const int[]){ENOMEM, passed_on(), 0});                      \
    } while (0)

static void ask(int to, int from, struct scheduler *s)
{
    for (char i = 0, answer; i < ROUNDS; i++) {
        if (!WORKED((int)sched_write_all(to, &i, 1, s)) || !WORKED((int)sched_read(from, &answer, 1, s)))
            return;
        CHECK_EQ(answer, i);
    }
}

static void ask_over_pair(void *job, struct scheduler *s)
{
    char question[2] = "ab", answer[2];
    struct iovec v[2] = {{question, 1}, {question + 1, 1}};
    struct msghdr message = {.msg_iov = v, .msg_iovlen = 2};
    run_job(job, s);
    for (int i = 0; i < ROUNDS; i++)
        if (!WORKED((int)sched_send(own[PAIR], question, 1, 0, s)) || !WORKED(sched_poll(own[PAIR], POLLIN, SCHED_FOREVER, s))
            || !WORKED((int)sched_recv(own[PAIR], answer, 1, 0, s)))
            return;
    if (WORKED((int)sched_sendmsg(own[PAIR], &message, 0, s)) && WORKED((int)sched_recv(own[PAIR], answer, 2, MSG_WAITALL, s)))
        CHECK_EQ(answer[0], 'a');
}

static void ask_over_pipes(void *job, struct scheduler *s)
{
    run_job(job, s);
    ask(own[REQUESTS], own[ANSWERS], s);
}

static void write_much(void *job, struct scheduler *s)
{
    static char bytes[LARGE];
    int n;
    run_job(job, s);
    for (int at = 0; at < LARGE; at += n)
        if (!WORKED(n = (int)sched_write(own[LARGE_PIPE], bytes + at, (size_t)(LARGE - at), s)))
            return;
}

static void answer_call(void *job, struct scheduler *s)
{
    int fd;
    run_job(job, s);
    wants_call = 1;
    if (WORKED(fd = sched_accept(own[LISTENER], NULL, NULL, s))) {
        ask(fd, fd, s);
        CHECK_EQ(sched_close(fd), 0);
    }
}

/* After a failure the state of a socket is not known: the second try has another one. */
static void make_call(void *job, struct scheduler *s)
{
    const int client[] = {own[FIRST_CLIENT], own[SECOND_CLIENT]};
    int tries = 0, fd;
    run_job(job, s);
    if (WORKED(sched_connect(fd = client[tries++], (struct sockaddr *)&address, sizeof address, s)))
        ask(fd, fd, s);
}

static void use_files(void *job, struct scheduler *s)
{
    char bytes[SMALL] = "x";
    int n = 0;
    run_job(job, s);
    if (WORKED(n = (int)sched_read(own[FULL_FILE], bytes, sizeof bytes, s)))
        CHECK_EQ(n, SMALL);
    if (WORKED(n = (int)sched_write(own[EMPTY_FILE], bytes, sizeof bytes, s)))
        CHECK_EQ(n, SMALL);
}

static void wait_in_vain(void *job, struct scheduler *s)
{
    char byte;
    run_job(job, s);
    FAILS_WITH(ETIMEDOUT, (int)sched_read_until(own[SILENT], &byte, 1, sched_now() + SOON_US * SCHED_MICROSECOND, s));
}

static void wait_for_close(void *job, struct scheduler *s)
{
    char byte;
    int fd = own[CLOSED];
    run_job(job, s);
    wants_close = 1;
    FAILS_WITH(EBADF, (int)sched_read(fd, &byte, 1, s));
}

static void wait_for_cancel(void *job, struct scheduler *s)
{
    char byte;
    run_job(job, s);
    wants_cancel = 1;
    FAILS_WITH(ECANCELED, (int)sched_read(own[SILENT], &byte, 1, s));
    while (wants_cancel)
        pause_us(20);
}

static int add_to(sched_group *group, taskfunc f, struct scheduler *s)
{
    struct job *job = new_job();
    return job->accepted = DONE(sched_group_spawn(group, f, job, s), EAGAIN, ENOMEM);
}

static void talk_in_run(void *closure, struct scheduler *s)
{
    static const taskfunc all[] = {ask_over_pair, ask_over_pipes, write_much, answer_call, make_call, use_files, wait_in_vain,
                                   wait_for_close};
    sched_group group = SCHED_GROUP_INIT;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        add_to(&group, all[i], s);
    CHECK_EQ(sched_group_wait(&group, s), 0);
    if (add_to(&cancelled, wait_for_cancel, s))
        CHECK_ERRNO(sched_group_wait(&cancelled, s), ECANCELED);
    note_missing(s);
    (void)closure;
}

void talk(void)
{
    change_state(ASKED, READY);
    if (DONE(sched_init(3, 8, talk_in_run, NULL), ENOMEM))
        note_missing(NULL);
    change_state(OVER, IDLE);
}
