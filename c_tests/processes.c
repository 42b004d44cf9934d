/* processes: fork(2) beside runs, in tasks and in handlers. */
#include "case.h"
#include "child.h"
#include "nodes.h"
#include "where.h"
#include "pool.h"
#include "proc.h"
#include "fib.h"
#include "raw_fork.h"
#include "seccomp.h"
#include "stats_line.h"
#include <stdatomic.h>

/* fork: fork() in a task, or beside a running scheduler: the child may sched_init anew, the
 * parent's s is EINVAL there, and the parent's run continues unharmed. A child that returns from
 * the forked task aborts with a message.
 * ctest: matrix deque=mutex,split,chaselev idle=park,nap threads=1,4 */
static struct scheduler *_Atomic running;
static atomic_int forked_beside;

/* The child's calls with its parent's run, and with a run of its own. */
static void fork_from(struct scheduler *s)
{
    pid_t pid = fork();
    if (pid == 0) {
        CHECK_ERRNO(sched_spawn(node, (void *)3, s), EINVAL);
        run_nodes();
        CHECK_ERRNO(sched_spawn(node, (void *)3, s), EINVAL);
        CHECK_EQ(sched_init(2, 4, node, (void *)4), 0);
        CHECK_EQ(ran, 63 + 31);
        _exit(9);
    }
    int status = wait_for(pid);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 9);
    CHECK_EQ(sched_spawn(node, (void *)4, s), 0); /* the parent's run continues */
}

static void in_task(void *deed)
{
    volatile int done = 0;
    ((struct deed *)deed)->done = &done;
    ran = 0;
    CHECK_EQ(sched_init(4, 4, seek_place, deed), 0);
    CHECK_EQ(ran, 31);
    CHECK_EQ(sched_init(4, 4, node, (void *)6), 0);
    CHECK_EQ(ran, 31 + 127);
}

static void busy(void *closure, struct scheduler *s)
{
    running = s;
    for (int i = 0; !forked_beside; i++) {
        if (i % 8 == 0) /* some traffic on the queues at the moment of the fork */
            CHECK_EQ(sched_spawn(node, (void *)0, s), 0);
        pause_us(20);
    }
}

static void *forker(void *arg)
{
    while (!running)
        pause_us(50);
    for (int i = 0; i < 3; i++)
        fork_from(running);
    forked_beside = 1;
    return arg;
}

static void beside(void *arg)
{
    pthread_t thread = begin_thread(forker, NULL);
    CHECK_EQ(sched_init(4, 4, busy, NULL), 0);
    pthread_join(thread, NULL);
    CHECK(ran > 3 * 31);
}

static void fork_and_return(struct scheduler *s)
{
    pid_t pid = fork();
    if (pid == 0)
        return;
    int status = wait_for(pid);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
        check_say("<the child did not abort>");
    CHECK_EQ(sched_spawn(node, (void *)4, s), 0);
}

CASE(fork)
{
    int alone = threads_of(4) == 1;
    for (int caller = alone; caller < 2; caller++) {
        struct deed deed = {fork_from, caller, NULL};
        CHECK_IN_CHILD(in_task, &deed);
    }
    CHECK_IN_CHILD(beside, NULL);
    for (int caller = alone; caller < 2; caller++) {
        struct deed deed = {fork_and_return, caller, NULL};
        CHECK_IN_CHILD(in_task, &deed);
        CHECK(strstr(child.said, "did not abort") == NULL);
        CHECK_CHILD_SAID("fork");
    }
}

/* fork_generations: Free stacks are a forked child's, too: ten generations of processes, each of
 * which has runs with many waiting tasks and then forks, take no more address space than two;
 * likewise if each forks beside a pool with such runs, or in a task.
 * ctest: matrix kind=steal,lifo,cont deque=mutex,split idle=park threads=1,4 */
enum { WAITING = 120, GENERATIONS = 10, BESIDE = 1, IN_TASK = 2 };

static atomic_int arrived;
static struct sched_pool *pool;

static void generations_waits(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&arrived, 1);
    while (arrived < WAITING)
        sched_task_yield(s);
}

static void generations_root(void *closure, struct scheduler *s)
{
    CHECK_TIMES(WAITING, sched_spawn(generations_waits, closure, s));
}

static void generation(int left, int how, long first);

static void generations_fork_child(int left, int how, long first)
{
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(30);
        generation(left - 1, how, first);
        _exit(7);
    }
    CHECK_EQ(wait_for(pid), 7 << 8);
}

struct next {
    int left, how;
    long first;
};

static void fork_in_task(void *closure, struct scheduler *s)
{
    struct next *next = closure;
    generations_fork_child(next->left, next->how, next->first);
}

static void generation(int left, int how, long first)
{
    arrived = 0;
    if (how == BESIDE) {
        pool = pool_of(4);
        CHECK_EQ(sched_pool_run(pool, generations_root, NULL), 0);
    } else {
        CHECK_EQ(sched_init(4, 4, generations_root, NULL), 0);
    }
    CHECK_EQ(arrived, WAITING);
    long size = status_kb("VmSize");
    if (left == GENERATIONS - 1)
        first = size;
    /* For each generation half of what a run takes: threads of the parents leave stacks behind, and tasks that fork. */
    long more = 8L * 1024 * WAITING / 2 * (GENERATIONS - 1 - left);
    if (first && size > first + more)
        CHECK_EQ(size, first + more);
    struct next next = {left, how, first};
    if (left > 0 && how == IN_TASK)
        CHECK_EQ(sched_init(1, 4, fork_in_task, &next), 0);
    else if (left > 0)
        generations_fork_child(left, how, first);
    if (how == BESIDE)
        CHECK_EQ(sched_pool_destroy(pool), 0);
}

static void generations_body(void *how)
{
    one_heap();
    setenv("SCHED_STACK", "8M", 1);
    generation(GENERATIONS, *(int *)how, 0);
}

CASE(fork_generations)
{
    for (int how = 0; how <= IN_TASK; how++)
        CHECK_IN_CHILD(generations_body, &how);
}

/* fork_process: fork(2) among forks: the child process may start runs of its own and fork there, in
 * the task itself, in a child of the task or beside tasks in flight; the parent's joins continue. A
 * group of the parent's run cannot be waited for in the child.
 * ctest: debug
 * ctest: matrix idle=park threads=1,4 */
static void process(void *closure, struct scheduler *s)
{
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        long n = 12;
        alarm(20);
        CHECK_EQ(sched_init(4, 10, fib, &n), 0);
        CHECK_EQ(n, 144);
        _exit(0);
    }
    CHECK_EQ(wait_for(pid), 0);
}

static void process_root(void *closure, struct scheduler *s)
{
    sched_task tasks[6];
    long n[6];
    for (int i = 0; i < 6; i++) {
        n[i] = 12;
        sched_fork(&tasks[i], i % 2 ? process : fib, &n[i], s);
    }
    process(closure, s);
    for (int i = 5; i >= 0; i--) {
        sched_join(&tasks[i], s);
        CHECK_EQ(n[i], i % 2 ? 12 : 144);
    }
}

/* The group is not over as long as its own task waits. */
static void process_waits(void *closure, struct scheduler *s)
{
    sched_group *g = closure;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(20);
        CHECK_ERRNO(sched_group_spawn(g, nothing, NULL, s), EINVAL);
        CHECK_ERRNO(sched_group_wait(g, s), EINVAL);
        _exit(0);
    }
    CHECK_EQ(wait_for(pid), 0);
}

static void groups(void *closure, struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    CHECK_EQ(sched_group_spawn(&g, process_waits, &g, s), 0);
    CHECK_EQ(sched_group_wait(&g, s), 0);
}

CASE(fork_process)
{
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(sched_init(4, 10, process_root, NULL), 0);
        CHECK_EQ(sched_init(4, 10, groups, NULL), 0);
    }
}

/* fork_raw: A child made by _Fork or clone, for which no fork handler is called, beside resting
 * threads, a pool or a run in flight: it may have runs and pools of its own; those of its parent
 * give EINVAL.
 * ctest: sleeps
 * ctest: static
 * ctest: matrix deque=mutex,split idle=park threads=1,4 */
static atomic_int over;

static void run_in(struct sched_pool *p)
{
    ran = 0;
    CHECK_EQ(sched_pool_run(p, node, (void *)5), 0);
    CHECK_EQ(ran, 63);
}

static void check_parents(void)
{
    if (pool)
        CHECK_ERRNO(sched_pool_submit(pool, node, (void *)3), EINVAL);
    if (running)
        CHECK_ERRNO(sched_spawn(node, (void *)3, running), EINVAL);
}

static void in_forked(int way, int depth);

static void raw_fork_child(int way, int depth)
{
    pid_t pid = raw_fork(way);
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(20);
        in_forked(way, depth);
        _exit(7);
    }
    CHECK_EQ(wait_for(pid), 7 << 8); /* SIGALRM: the child hung */
}

static void in_forked(int way, int depth)
{
    check_parents();
    run_nodes();
    check_parents();
    struct sched_pool *own = pool_of(4);
    run_in(own);
    if (depth > 0)
        raw_fork_child(way, depth - 1);
    CHECK_EQ(sched_pool_destroy(own), 0);
    run_nodes();
}

static void keep_open(void *closure, struct scheduler *s)
{
    running = s;
    while (!over)
        pause_us(1000);
}

static void *keeper(void *arg)
{
    CHECK_EQ(sched_init(2, 4, keep_open, NULL), 0);
    return arg;
}

CASE(fork_raw)
{
    setenv("SCHED_WARM", "1min", 1);
    run_nodes();
    for (int way = 0; way < 2; way++)
        raw_fork_child(way, 2);
    pool = pool_of(4);
    pthread_t thread = begin_thread(keeper, NULL);
    while (!running)
        pause_us(50);
    for (int way = 0; way < 2; way++)
        raw_fork_child(way, 2);
    over = 1;
    pthread_join(thread, NULL);
    run_in(pool);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    run_nodes();
}

/* fork_raw_task: In a child that a task makes by _Fork or clone, for which no fork handler is
 * called, the s of another worker gives EINVAL: the child has none of the workers. Its parent's run
 * continues.
 * ctest: static
 * ctest: matrix with=threads without=calls idle=park threads=2,4 */
static struct scheduler *_Atomic other;
static atomic_int raw_task_runs;

static void count(void *closure, struct scheduler *s)
{
    (void)closure, (void)s;
    atomic_fetch_add(&raw_task_runs, 1);
}

static void leave_s(void *closure, struct scheduler *s)
{
    if (s != closure)
        atomic_store(&other, s);
}

static void try_other(int way)
{
    pid_t pid = raw_fork(way);
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(20);
        CHECK_ERRNO(sched_spawn(count, NULL, other), EINVAL);
        _exit(7);
    }
    CHECK_EQ(wait_for(pid), 7 << 8);
}

static void raw_task_root(void *closure, struct scheduler *s)
{
    while (!atomic_load(&other)) {
        CHECK_EQ(sched_spawn(leave_s, s, s), 0);
        pause_us(1000);
    }
    for (int way = 0; way < 2; way++) {
        try_other(way);
        CHECK_EQ(sched_spawn(count, NULL, other), 0); /* a look in the parent */
        try_other(way);
    }
}

CASE(fork_raw_task)
{
    CHECK_EQ(sched_init(0, 1024, raw_task_root, NULL), 0);
    CHECK_EQ(raw_task_runs, 2);
}

/* fork_same_pid: A forked child that has its parent's number, in a namespace of its own: a
 * container's process 1 that calls unshare(CLONE_NEWPID) and forks. It is a child all the same;
 * also where the kernel cannot empty pages at a fork (before Linux 4.14).
 * ctest: static
 * ctest: matrix deque=mutex,split idle=park threads=1,4 */
/* Process 1 of a namespace; so are its descendants, each of one of its own. */
static void first(int depth)
{
    CHECK_EQ(getpid(), 1);
    run_nodes();
    if (depth == 0)
        return;
    CHECK_EQ(unshare(CLONE_NEWPID), 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(20);
        first(depth - 1);
        _exit(7);
    }
    CHECK_EQ(wait_for(pid), 7 << 8); /* SIGALRM: the child hung */
    /* A thread cannot be made any more: the next child is of another namespace. */
}

static void same_pid_body(void *old_kernel)
{
    setenv("SCHED_WARM", "1min", 1);
    if (unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0)
        skip("namespaces are refused here");
    if (old_kernel)
        no_advice(18); /* MADV_WIPEONFORK */
    pid_t pid = fork();
    if (pid < 0)
        skip("a namespace of processes is refused here");
    if (pid == 0) {
        first(2);
        _exit(7);
    }
    CHECK_EQ(wait_for(pid), 7 << 8);
}

CASE(fork_same_pid)
{
    static int yes;
    in_child(same_pid_body, NULL);
    CHECK_CHILD_PASSED();
    in_child(same_pid_body, &yes);
    CHECK_CHILD_PASSED();
}

/* fork_stats: fork() while another thread's runs print their statistics: the child's own run with
 * SCHED_STATS works.
 * ctest: matrix deque=mutex,split,chaselev idle=park threads=4 */
enum { RUNNERS = 2 };

static const double SECONDS = 0.5;

static void *runner(void *arg)
{
    while (!over)
        CHECK_EQ(sched_init(4, 4, nothing, arg), 0);
    return arg;
}

static void stats_body(void *arg)
{
    pthread_t threads[RUNNERS];
    for (int i = 0; i < RUNNERS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, runner, arg), 0);
    for (double end = now() + SECONDS; now() < end;) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            alarm(20);
            CHECK_EQ(sched_init(1, 4, nothing, arg), 0);
            _exit(0);
        }
        int status = wait_for(pid);
        CHECK(!WIFSIGNALED(status)); /* SIGALRM: the child hung */
        CHECK_EQ(status, 0);
    }
    over = 1;
    for (int i = 0; i < RUNNERS; i++)
        pthread_join(threads[i], NULL);
}

CASE(fork_stats)
{
    gather_stats();
    in_child(stats_body, NULL);
    gathered_stats();
    CHECK_CHILD_EXITED(0);
}

/* atfork: A program's own pthread_atfork handlers may take a lock that a thread holds while it
 * calls sched_init, and may call sched_init themselves, registered before the library's first use
 * or after it.
 * ctest: matrix deque=mutex,split,chaselev idle=park threads=1,4 */
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static atomic_int holding, forking, atfork_ran;

COUNTING_TASK(atfork_task, atfork_ran)

static void atfork_run(void)
{
    int before = atfork_ran;
    CHECK_EQ(sched_init(4, 4, atfork_task, NULL), 0);
    CHECK(atfork_ran > before);
}

static void lock_it(void)
{
    forking = 1;
    CHECK_EQ(pthread_mutex_lock(&held), 0);
}

static void unlock_it(void)
{
    CHECK_EQ(pthread_mutex_unlock(&held), 0);
}

/* Its run comes while the fork waits for the lock, all handlers before that one done. */
static void *holder(void *arg)
{
    CHECK_EQ(pthread_mutex_lock(&held), 0);
    holding = 1;
    while (!forking)
        pause_us(50);
    pause_us(2000);
    atfork_run();
    CHECK_EQ(pthread_mutex_unlock(&held), 0);
    return arg;
}

static void fork_once(void)
{
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(20);
        atfork_run();
        _exit(0);
    }
    CHECK_EQ(wait_for(pid), 0);
}

static void with_lock(void *used_before)
{
    alarm(20); /* a deadlock ends the child */
    if (used_before)
        atfork_run();
    pthread_atfork(lock_it, unlock_it, unlock_it);
    atfork_run();
    pthread_t thread = begin_thread(holder, NULL);
    while (!holding)
        pause_us(50);
    fork_once();
    pthread_join(thread, NULL);
    atfork_run();
}

static void with_run(void *used_before)
{
    alarm(20);
    if (used_before)
        atfork_run();
    pthread_atfork(atfork_run, atfork_run, atfork_run);
    atfork_run();
    fork_once();
    atfork_run();
}

CASE(atfork)
{
    static int before;
    void (*bodies[])(void *) = {with_lock, with_run};
    for (int i = 0; i < 4; i++)
        CHECK_IN_CHILD(bodies[i / 2], i % 2 ? &before : NULL);
}

/* atfork_busy: A program's fork handler starts a run in the child, before the library's own
 * handler, while other threads were in the middle of runs.
 * ctest: matrix kind=steal,lifo,serial,cont deque=mutex,split idle=park threads=2 timeout=60 */
enum { FORKS = 150 };

static void atfork_busy_run(void)
{
    CHECK_EQ(sched_init(2, 4, nothing, NULL), 0);
}

static void *atfork_busy_runs(void *arg)
{
    while (!over)
        atfork_busy_run();
    return arg;
}

static void in_the_child(void)
{
    alarm(20); /* a hang ends the child */
    atfork_busy_run();
}

CASE(atfork_busy)
{
    pthread_t threads[2];
    pthread_atfork(NULL, NULL, in_the_child);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, atfork_busy_runs, NULL), 0);
    for (int i = 0; i < FORKS; i++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0)
            _exit(0);
        CHECK_EQ(wait_for(pid), 0);
    }
    over = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}
