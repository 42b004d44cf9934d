/* denials: system calls that the process may not make. This is one file because all cases deny calls by the same filter. */
#include "case.h"
#include "child.h"
#include "seccomp.h"
#include "stats_line.h"
#include "nodes.h"
#include "sync.h"
#include <poll.h>
#include <sched_io.h>
#include <stdatomic.h>
#include <sys/socket.h>

/* no_futex: futex denied by seccomp: slower, the same results, and it ends. The C library's own
 * locks need futexes, so the spin lock takes their place; the statistics say so, but for a queue,
 * which stays one. The library's own locks look again from time to time instead.
 * ctest: matrix idle=park threads=1,2,4 timeout=60 */
static int no_futex_ran;

static void no_futex_node(void *closure, struct scheduler *s)
{
    long depth = (long)closure;
    __atomic_fetch_add(&no_futex_ran, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 2 && depth > 0; i++)
        CHECK_EQ(sched_spawn(no_futex_node, (void *)(depth - 1), s), 0);
    if (depth == 4) /* long enough for the others to go to sleep */
        for (double end = now() + 0.0002; now() < end;)
            ;
}

/* Needs another worker, which may be asleep by then. */
static void wait_for_child(void *closure, struct scheduler *s)
{
    pause_us(5000);
    no_futex_ran = 0;
    CHECK_EQ(sched_spawn(no_futex_node, (void *)0, s), 0);
    while (!__atomic_load_n(&no_futex_ran, __ATOMIC_ACQUIRE))
        sched_yield();
}

static void no_futex_body(void *error)
{
    static const long calls[] = {SYS_futex, 449 /* waitv */, 454, 455, 456 /* wake, wait, requeue */};
    deny(calls, 5, (unsigned)(long)error);
    for (int round = 1; round <= 3; round++) {
        CHECK_EQ(sched_init(4, 4, no_futex_node, (void *)8), 0);
        CHECK_EQ(no_futex_ran, 511 * round);
    }
    if (threads_of(4) > 1)
        CHECK_EQ(sched_init(4, 4, wait_for_child, NULL), 0);
}

static void check_deque(const char *line)
{
    const char *asked = getenv("SCHED_DEQUE");
    char wanted[32];
    if (asked && (strcmp(asked, "mutex") == 0 || strcmp(asked, "sem") == 0))
        asked = "spin";
    snprintf(wanted, sizeof wanted, "\"deque\":\"%s\"", asked ? asked : "none");
    CHECK(strstr(line, wanted) != NULL);
}

CASE(no_futex)
{
    static const int errors[] = {EPERM, ENOSYS};
    for (int i = 0; i < 2; i++) {
        gather_stats();
        in_child_without_futex(no_futex_body, (void *)(long)errors[i]);
        char *lines = gathered_stats();
        CHECK_CHILD_PASSED();
        check_deque(lines);
    }
}

/* no_membarrier: membarrier denied by seccomp, or unknown to the kernel: the same results. A child
 * of fork that returns from its task runs none of the parent's others.
 * ctest: matrix kind=lifo,steal,cont threads=1,4 deque=mutex,split,chaselev */
static void no_membarrier_body(void *error)
{
    long call = SYS_membarrier;
    deny(&call, 1, (unsigned)(long)error);
    for (int round = 1; round <= 5; round++) {
        CHECK_EQ(sched_init(4, 4, node, (void *)8), 0);
        CHECK_EQ(ran, 511 * round);
    }
}

static void here_only(void *closure, struct scheduler *s)
{
    (void)closure, (void)s;
    CHECK_EQ(getpid(), *(pid_t *)closure);
}

static void fork_and_return(void *closure, struct scheduler *s)
{
    CHECK_TIMES(10, sched_spawn(here_only, closure, s));
    pid_t pid = fork();
    if (pid == 0)
        return;
    int status = wait_for(pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void forking(void *error)
{
    long call = SYS_membarrier;
    pid_t me = getpid();
    deny(&call, 1, (unsigned)(long)error);
    CHECK_EQ(sched_init(1, 16, fork_and_return, &me), 0);
}

CASE(no_membarrier)
{
    static const int errors[] = {EPERM, ENOSYS};
    for (int i = 0; i < 2; i++) {
        in_child(no_membarrier_body, (void *)(long)errors[i]);
        CHECK_CHILD_PASSED();
        CHECK_IN_CHILD(forking, (void *)(long)errors[i]);
    }
}

/* no_setaffinity: sched_setaffinity refused by a sandbox, with whatever error: threads are made all
 * the same.
 * ctest: matrix kind=lifo,steal,cont deque=mutex,split idle=park threads=4 */
static void no_setaffinity_leaf(void *closure, struct scheduler *s)
{
    pause_us(1000);
}

static void no_setaffinity_root(void *closure, struct scheduler *s)
{
    CHECK_TIMES(50, sched_spawn(no_setaffinity_leaf, NULL, s));
}

static void no_setaffinity_body(void *error)
{
    static const long calls[] = {SYS_sched_setaffinity};
    deny(calls, 1, (unsigned)(long)error);
    CHECK_TIMES(3, sched_init(4, 4, no_setaffinity_root, NULL));
}

static void refused_with(int error)
{
    gather_stats();
    in_child(no_setaffinity_body, (void *)(long)error);
    const char *line = gathered_stats();
    CHECK_CHILD_PASSED();
    for (int run = 0; run < 3; run++) {
        CHECK_EQ(stat_number(line, "threads_missing"), 0);
        line = strchr(line, '\n') + 1;
    }
}

CASE(no_setaffinity)
{
    refused_with(EPERM);
    refused_with(EAGAIN);
}

/* no_sysinfo: sysinfo refused by a sandbox: how much memory there is cannot be found then, which is
 * no limit on stacks. 600 tasks that meet twice, so that none can end on top of another, all end.
 * ctest: matrix kind=steal,lifo,cont deque=mutex,split idle=park threads=1,4 */
enum { TASKS = 600 };

static sched_barrier all;
static atomic_int ended;

static void meets(void *closure, struct scheduler *s)
{
    CHECK(sched_barrier_wait(&all, s) >= 0);
    CHECK(sched_barrier_wait(&all, s) >= 0);
    ended++;
}

static void no_sysinfo_root(void *closure, struct scheduler *s)
{
    spawn_all(TASKS, meets, s);
}

static void no_sysinfo_body(void *error)
{
    static const long calls[] = {SYS_sysinfo};
    alarm(20); /* a deadlock ends the child */
    deny(calls, 1, *(unsigned *)error);
    CHECK_EQ(sched_barrier_init(&all, TASKS), 0);
    CHECK_EQ(sched_init(4, 4, no_sysinfo_root, NULL), 0);
    CHECK_EQ(ended, TASKS);
}

CASE(no_sysinfo)
{
    unsigned errors[] = {EPERM, ENOSYS};
    for (int i = 0; i < 2; i++) {
        in_child(no_sysinfo_body, &errors[i]);
        CHECK_CHILD_PASSED();
    }
}

/* futex_foreign: A foreign thread to which futex is denied spawns into a running scheduler,
 * contending with its workers: nothing is lost and the run ends.
 * ctest: matrix kind=steal deque=split,chaselev,spin idle=park,spin threads=4 timeout=60 */
enum { FUTEX_FOREIGN_LEAVES = 30000 };

static struct scheduler *_Atomic futex_foreign_run;
static atomic_int futex_foreign_ran, done;

COUNTING_TASK(futex_foreign_leaf, futex_foreign_ran)

static void futex_foreign_root(void *closure, struct scheduler *s)
{
    futex_foreign_run = s;
    while (!done)
        sched_yield();
}

static void *stranger(void *arg)
{
    static const long futex = SYS_futex;
    while (!futex_foreign_run)
        sched_yield();
    deny(&futex, 1, EPERM);
    CHECK_TIMES(FUTEX_FOREIGN_LEAVES, sched_spawn(futex_foreign_leaf, arg, futex_foreign_run));
    done = 1;
    return NULL;
}

static void futex_foreign_body(void *arg)
{
    pthread_t thread = begin_thread(stranger, arg);
    CHECK_EQ(sched_init(4, 4, futex_foreign_root, arg), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(futex_foreign_ran, FUTEX_FOREIGN_LEAVES);
}

CASE(futex_foreign)
{
    in_child_without_futex(futex_foreign_body, NULL);
    CHECK_CHILD_PASSED();
}

/* futex_midway: futex denied by seccomp in the middle of a run, to a worker that others sleep
 * beside: the run completes, perhaps a second late.
 * ctest: matrix with=deques deque=split,chaselev,spin,fair,adaptive idle=park threads=2,4 */
enum { FUTEX_MIDWAY_LEAVES = 100 };

static atomic_int futex_midway_ran;

COUNTING_TASK(futex_midway_leaf, futex_midway_ran)

static void futex_midway_root(void *closure, struct scheduler *s)
{
    static const long futex = SYS_futex;
    pause_us(30000); /* all others sleep now */
    deny(&futex, 1, EPERM);
    CHECK_TIMES(FUTEX_MIDWAY_LEAVES, sched_spawn(futex_midway_leaf, closure, s));
}

static void futex_midway_body(void *arg)
{
    CHECK_EQ(sched_init(4, 4, futex_midway_root, arg), 0);
    CHECK_EQ(futex_midway_ran, FUTEX_MIDWAY_LEAVES);
}

CASE(futex_midway)
{
    in_child_without_futex(futex_midway_body, NULL);
    CHECK_CHILD_PASSED();
}

/* no_epoll: The calls by which the library waits for descriptors are denied, one at a time, or unknown to the kernel: tasks read,
 * write and wait, with deadlines, cancellations and sched_close among them, with the same results.
 * ctest: matrix threads=1,4 timeout=90 */
enum { MESSAGES = 100, PIPED = 200000 };

static sched_group waiters = SCHED_GROUP_INIT;
static atomic_int waits_ended;

static void answers(void *closure, struct scheduler *s)
{
    int fd = (int)(long)closure, number;
    while (sched_read(fd, &number, sizeof number, s) == sizeof number) {
        number++;
        CHECK_EQ(sched_write_all(fd, &number, sizeof number, s), sizeof number);
    }
    CHECK_EQ(sched_close(fd), 0);
    waits_ended++;
}

static void asks(void *closure, struct scheduler *s)
{
    int fd = (int)(long)closure, answer;
    for (int i = 0; i < MESSAGES; i++) {
        CHECK_EQ(sched_send(fd, &i, sizeof i, 0, s), sizeof i);
        CHECK_EQ(sched_recv(fd, &answer, sizeof answer, MSG_WAITALL, s), sizeof answer);
        CHECK_EQ(answer, i + 1);
    }
    CHECK_EQ(sched_close(fd), 0);
    waits_ended++;
}

static void fills(void *closure, struct scheduler *s)
{
    int fd = (int)(long)closure;
    static unsigned char bytes[PIPED];
    for (int i = 0; i < PIPED; i++)
        bytes[i] = (unsigned char)(i / 7);
    CHECK_EQ(sched_write(fd, bytes, PIPED, s), PIPED);
    CHECK_EQ(sched_close(fd), 0);
    waits_ended++;
}

static void drains(void *closure, struct scheduler *s)
{
    int fd = (int)(long)closure, at = 0;
    unsigned char bytes[1000];
    ssize_t n;
    while ((n = sched_read(fd, bytes, sizeof bytes, s)) > 0)
        for (int i = 0; i < n; i++, at++)
            CHECK_EQ(bytes[i], (unsigned char)(at / 7));
    CHECK_EQ(n, 0);
    CHECK_EQ(at, PIPED);
    CHECK_EQ(sched_close(fd), 0);
    waits_ended++;
}

static void waits_for_close(void *closure, struct scheduler *s)
{
    char byte;
    CHECK_ERRNO((int)sched_read((int)(long)closure, &byte, 1, s), EBADF);
    waits_ended++;
}

static void waits_for_cancel(void *closure, struct scheduler *s)
{
    char byte;
    CHECK_ERRNO((int)sched_read((int)(long)closure, &byte, 1, s), ECANCELED);
    waits_ended++;
}

static void no_epoll_root(void *closure, struct scheduler *s)
{
    int pair[2], ends[2], silent[2], closed[2], number;
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, closed), 0);
    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(pipe(silent), 0);
    CHECK_EQ(sched_spawn(answers, (void *)(long)pair[0], s), 0);
    CHECK_EQ(sched_spawn(asks, (void *)(long)pair[1], s), 0);
    CHECK_EQ(sched_spawn(drains, (void *)(long)ends[0], s), 0);
    CHECK_EQ(sched_spawn(fills, (void *)(long)ends[1], s), 0);
    CHECK_EQ(sched_spawn(waits_for_close, (void *)(long)closed[0], s), 0);
    CHECK_EQ(sched_group_spawn(&waiters, waits_for_cancel, (void *)(long)silent[0], s), 0);
    sched_time deadline = sched_now() + 2 * SCHED_MILLISECOND;
    CHECK_ERRNO((int)sched_read_until(silent[0], &number, sizeof number, deadline, s), ETIMEDOUT);
    CHECK(sched_now() >= deadline);
    CHECK_ERRNO(sched_poll(silent[0], POLLIN, sched_now(), s), ETIMEDOUT);
    CHECK_EQ(sched_poll(silent[1], POLLOUT, SCHED_FOREVER, s), POLLOUT);
    CHECK_EQ(sched_close(closed[0]), 0); /* no descriptor is made from here on, so its number stays free */
    sched_group_cancel(&waiters);
    CHECK_ERRNO(sched_group_wait(&waiters, s), ECANCELED);
}

static const struct {
    const char *name;
    long call[4];
    unsigned short calls;
} denied[] = {
    {"epoll_create1", {SYS_epoll_create1}, 1},
    {"eventfd2", {SYS_eventfd2}, 1},
    {"epoll_ctl", {SYS_epoll_ctl}, 1},
    {"epoll_pwait", {SYS_epoll_pwait}, 1},
    {"epoll_pwait2", {441}, 1},
    {"preadv2", {SYS_preadv2, SYS_pwritev2}, 2},
    {"all of epoll", {SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, 441}, 4},
};

struct denial {
    int which, error;
};

static void no_epoll_body(void *arg)
{
    const struct denial *denial = arg;
    alarm(30); /* a hang ends the child */
    printf("%s, errno %d\n", denied[denial->which].name, denial->error);
    fflush(stdout);
    deny(denied[denial->which].call, denied[denial->which].calls, (unsigned)denial->error);
    run(4, no_epoll_root);
    CHECK(waits_ended >= 5); /* the group was perhaps cancelled before its task began */
}

CASE(no_epoll)
{
    static const int errors[] = {EPERM, ENOSYS};
    for (size_t i = 0; i < sizeof denied / sizeof *denied; i++)
        for (int k = 0; k < 2; k++) {
            struct denial denial = {(int)i, errors[k]};
            in_child(no_epoll_body, &denial);
            CHECK_CHILD_PASSED();
        }
}
