/* forks: sched_fork and sched_join. */
#include "case.h"
#include "block.h"
#include "child.h"
#include "aside.h"
#include "fib.h"
#include "marks.h"
#include "null.h"
#include "pool.h"
#include <sched_tasks.h>
#include <stdatomic.h>
#include <sys/mman.h>

/* fork_blocks: A task that blocks until another task of the run has run does not stop the run,
 * while there is a worker that waits for its end: that runs the other, and is woken for it if it
 * sleeps already.
 * ctest: debug
 * ctest: matrix with=threads threads=2,4,16 */
enum { BLOCKS_ROUNDS = 3 };
enum { FORK, GROUP };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int opened;
static atomic_int blocks_guests, blocks_leave, begun, done;

static void blocks_guest(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&blocks_guests, 1);
    while (!blocks_leave)
        pause_us(100);
}

static void open_it(void *closure, struct scheduler *s)
{
    pthread_mutex_lock(&mutex);
    opened++;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
}

static void wait_for_it(int times)
{
    pthread_mutex_lock(&mutex);
    while (opened < times)
        pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
}

/* Blocks for a task that was spawned beside it, one that it spawns itself when its waiter has gone to
 * sleep, and one that comes from outside then. */
static void blocks_child(void *closure, struct scheduler *s)
{
    begun = 1;
    wait_for_it(1);
    pause_us(3000);
    CHECK_EQ(sched_spawn(open_it, NULL, s), 0);
    wait_for_it(2);
    done = 1; /* to the stranger */
    wait_for_it(3);
    for (int i = 0; i < 20; i++) { /* awake or falling asleep */
        pause_us(i * 10);
        CHECK_EQ(sched_spawn(open_it, NULL, s), 0);
        wait_for_it(4 + i);
    }
}

static void *blocks_stranger(void *s)
{
    while (!done)
        pause_us(100);
    pause_us(3000);
    CHECK_EQ(sched_spawn(open_it, NULL, s), 0);
    return NULL;
}

/* All but this worker and the child's are kept busy, so only the waiter can open. */
static void blocks_root(void *closure, struct scheduler *s)
{
    int workers = threads_of(4);
    sched_group g = SCHED_GROUP_INIT;
    sched_task t;
    opened = 0;
    blocks_guests = blocks_leave = begun = done = 0;
    CHECK_TIMES(workers - 2, sched_spawn(blocks_guest, NULL, s));
    while (blocks_guests < workers - 2)
        pause_us(50);
    if ((long)closure == FORK)
        sched_fork(&t, blocks_child, NULL, s);
    else
        CHECK_EQ(sched_group_spawn(&g, blocks_child, NULL, s), 0);
    while (!begun)
        pause_us(50);
    pthread_t thread = begin_thread(blocks_stranger, s);
    CHECK_EQ(sched_spawn(open_it, NULL, s), 0);
    if ((long)closure == FORK)
        sched_join(&t, s);
    else
        CHECK_EQ(sched_group_wait(&g, s), 0);
    CHECK_EQ(opened, 23);
    blocks_leave = 1;
    pthread_join(thread, NULL);
}

CASE(fork_blocks)
{
    for (int round = 0; round < BLOCKS_ROUNDS; round++) {
        CHECK_EQ(sched_init(4, 10, blocks_root, (void *)FORK), 0);
        CHECK_EQ(sched_init(4, 10, blocks_root, (void *)GROUP), 0);
    }
}

/* fork_counted: SCHED_OVERFLOW=refuse: a fork that finds no room runs the child at once, also where
 * a thread forks that is not a worker, one in a blocking section among them; the statistics count
 * each child once.
 * ctest: debug
 * ctest: matrix overflow=refuse threads=1,2 */
enum { FORKS = 40, COUNTED_QLEN = 2 };

static struct scheduler *run_of;
static atomic_int counted_ran;

static void counted_child(void *closure, struct scheduler *s)
{
    CHECK(closure == NULL);
    counted_ran++;
}

static void counted_forks(struct scheduler *s)
{
    sched_task tasks[FORKS];
    for (int i = 0; i < FORKS; i++)
        sched_fork(&tasks[i], counted_child, NULL, s);
    for (int i = FORKS; i-- > 0;)
        sched_join(&tasks[i], s);
}

static void *counted_thread(void *arg)
{
    counted_forks(run_of);
    return arg;
}

static void counted_root(void *closure, struct scheduler *s)
{
    run_of = s;
    counted_forks(s);
    begin(s);
    if (has_threads()) /* where no other worker can run the queued tasks */
        counted_forks(s);
    pthread_t other = begin_thread(counted_thread, NULL);
    if (has_threads())
        CHECK_EQ(pthread_join(other, NULL), 0);
    end(s);
    while (!has_threads() && pthread_tryjoin_np(other, NULL) != 0)
        sched_task_yield(s);
}

CASE(fork_counted)
{
    struct sched_stats stats;
    CHECK_EQ(sched_init(2, COUNTED_QLEN, counted_root, NULL), 0);
    CHECK_EQ(counted_ran, FORKS * (!has_threads() ? 2 : 3));
    CHECK_EQ(sched_last_stats(&stats, sizeof stats), 0);
    CHECK_EQ(stats.tasks, counted_ran + 1);
}

/* fork_debug: Debug builds of the library find descriptors that are NULL, joined twice, never
 * forked, of another run, copied, or not joined, and end the process with a message.
 * ctest: debug=only
 * ctest: matrix few idle=park threads=1,4 */
static sched_task t;

static void forks_null(void *closure, struct scheduler *s)
{
    sched_fork(NULL, nothing, closure, s);
}

static void joins_null(void *closure, struct scheduler *s)
{
    sched_join(NULL, s);
}

static void joins_twice(void *closure, struct scheduler *s)
{
    sched_fork(&t, nothing, closure, s);
    sched_join(&t, s);
    sched_join(&t, s);
}

static void never_forks(void *closure, struct scheduler *s)
{
    sched_join(&t, s);
}

static void joins(void *closure, struct scheduler *s)
{
    sched_join(&t, s);
}

static void forks_outside(void *closure, struct scheduler *s)
{
    sched_fork(&t, nothing, closure, s);
    sched_init(4, 10, joins, NULL);
}

static void copies(void *closure, struct scheduler *s)
{
    sched_task copy;
    sched_fork(&t, nothing, closure, s);
    copy = t;
    sched_join(&copy, s);
}

static void never_joins(void *closure, struct scheduler *s)
{
    sched_fork(&t, nothing, closure, s);
}

static void child_never_joins(void *closure, struct scheduler *s)
{
    sched_task child;
    sched_fork(&child, never_joins, closure, s);
    sched_join(&child, s);
}

static void member_never_joins(void *closure, struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    CHECK_EQ(sched_group_spawn(&g, never_joins, closure, s), 0);
    CHECK_EQ(sched_group_wait(&g, s), 0);
}

static void debug_run(void *root)
{
    memset(&t, 0, sizeof t);
    alarm(20);
    sched_init(4, 10, *(taskfunc *)root, NULL);
}

CASE(fork_debug)
{
    static const struct {
        taskfunc root;
        const char *says;
    } cases[] = {
        {forks_null, "sched_fork: t is NULL"},
        {joins_null, "sched_join: t is NULL"},
        {joins_twice, "sched_join: the task was joined already"},
        {never_forks, "sched_join: the descriptor was not forked"},
        {forks_outside, "sched_join: the task was forked in another run"},
        {copies, "its descriptor was copied"},
        {never_joins, "a task (never_joins), or one that it has joined, did not join"},
        {child_never_joins, "_joins), or one that it has joined, did not join"},
        {member_never_joins, "a task (never_joins), or one that it has joined, did not join"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        taskfunc root = cases[i].root;
        in_child(debug_run, &root);
        CHECK_CHILD_ABORTED("libsched");
        CHECK_CHILD_SAID(cases[i].says);
    }
}

/* fork_deep: A chain of forks, each child forking the next: as deep as the stacks allow, run by
 * their parents or, where these wait for a thief, handed from worker to worker.
 * ctest: static
 * ctest: matrix refuse */
enum { DEEP = 6000 / SMALLER, HANDED = 500 / SMALLER };

struct level {
    long depth, sum;
    int hand; /* wait for a thief */
    atomic_int begun;
};

static void go_down(void *closure, struct scheduler *s)
{
    struct level *level = closure;
    level->begun = 1;
    level->sum = level->depth;
    if (level->depth == 0)
        return;
    struct level below = {.depth = level->depth - 1, .hand = level->hand};
    sched_task t;
    sched_fork(&t, go_down, &below, s);
    for (unsigned turns = 0; level->hand && turns < 2000 && !below.begun;)
        spin(&turns);
    sched_join(&t, s);
    level->sum += below.sum;
}

static void descend(long depth, int hand)
{
    struct level top = {.depth = depth, .hand = hand};
    CHECK_EQ(sched_init(4, 10, go_down, &top), 0);
    CHECK_EQ(top.sum, depth * (depth + 1) / 2);
}

CASE(fork_deep)
{
    descend(DEEP, 0);
    descend(HANDED, threads_of(4) > 1);
}

/* fork_elsewhere: Forks and joins in other places than a task's own: with the s of another worker
 * of the run, from a thread that is not a worker, in a run within a forked task, and there into the
 * outer run.
 * ctest: static debug
 * ctest: matrix refuse */
static void check_fib(struct scheduler *s)
{
    long n = 10;
    fib(&n, s);
    CHECK_EQ(n, 55);
}

/* --- another worker's s --------------------------------------------------- */

static struct scheduler *_Atomic shown;

static void show(void *closure, struct scheduler *s)
{
    shown = s;
}

static void with_anothers(void *closure, struct scheduler *s)
{
    sched_task t;
    shown = NULL;
    sched_fork(&t, show, NULL, s);
    for (unsigned turns = 0; threads_of(4) > 1 && !shown;)
        spin(&turns);
    sched_join(&t, s);
    if (!spawn_calls()) /* there the caller of sched_fork moves to another worker */
        CHECK((shown != s) == (threads_of(4) > 1));
    check_fib(shown);
    sched_fork(&t, show, NULL, shown); /* forked with one, joined with the other */
    sched_join(&t, s);
    sched_fork(&t, show, NULL, s);
    sched_join(&t, shown);
}

/* --- no worker ------------------------------------------------------------ */

static atomic_int elsewhere_forked;

static void three(void *closure, struct scheduler *s)
{
    *(int *)closure = 3;
}

static void *elsewhere_stranger(void *run)
{
    sched_task t;
    int result = 0;
    sched_fork(&t, three, &result, run);
    elsewhere_forked = 1;
    sched_join(&t, run); /* perhaps when the run has ended */
    CHECK_EQ(result, 3);
    return NULL;
}

static void *deep_stranger(void *run)
{
    check_fib(run);
    return elsewhere_stranger(run);
}

static pthread_t elsewhere_thread;

static void host(void *closure, struct scheduler *s)
{
    elsewhere_forked = 0;
    CHECK_EQ(pthread_create(&elsewhere_thread, NULL, elsewhere_stranger, s), 0);
    while (!elsewhere_forked)
        pause_us(50);
}

/* If other workers run the stranger's tasks, the run can be held open until the stranger has
 * finished. */
static void patient_host(void *closure, struct scheduler *s)
{
    if (threads_of(4) == 1)
        return;
    CHECK_EQ(pthread_create(&elsewhere_thread, NULL, deep_stranger, s), 0);
    pthread_join(elsewhere_thread, NULL);
}

/* --- a run within --------------------------------------------------------- */

static struct scheduler *outer;
static int inner_thread;

static void inner(void *closure, struct scheduler *s)
{
    check_fib(s);
    if (thread_id() != inner_thread)
        return; /* the outer run's worker is busy with this one */
    check_fib(outer);
    long a = 9, b = 8;
    sched_task ours, theirs;
    sched_fork(&ours, fib, &a, s);
    sched_fork(&theirs, fib, &b, outer);
    sched_join(&ours, s);
    sched_join(&theirs, outer);
    CHECK_EQ(a, 34);
    CHECK_EQ(b, 21);
}

static void starts(void *closure, struct scheduler *s)
{
    inner_thread = thread_id();
    CHECK_EQ(sched_init(2, 10, inner, closure), 0);
}

static void nests(void *closure, struct scheduler *s)
{
    sched_task t;
    outer = s;
    starts(closure, s);
    sched_fork(&t, starts, closure, s);
    for (int i = 0; i < 3; i++)
        check_fib(s);
    sched_join(&t, s);
}

CASE(fork_elsewhere)
{
    CHECK_EQ(sched_init(4, 10, with_anothers, NULL), 0);
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(sched_init(4, 10, host, NULL), 0);
        pthread_join(elsewhere_thread, NULL);
    }
    CHECK_EQ(sched_init(4, 10, patient_host, NULL), 0);
    CHECK_EQ(sched_init(4, 10, nests, NULL), 0);
}

/* fork_fib: fork; call; join: fib without a cut-off. Each forked task is counted once, whoever ran
 * it.
 * ctest: static debug
 * ctest: matrix refuse stats=2584
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace stats=2584 */
enum { FORK_FIB_N = 17, FIB_N = 1597 }; /* fib(N) forks fib(N + 1) - 1 tasks */

CASE(fork_fib)
{
    long n = FORK_FIB_N;
    CHECK_EQ(sched_init(4, 10, fib, &n), 0);
    CHECK_EQ(n, FIB_N);
}

/* fork_first: fork() at any moment of the process's first sched_init, in another thread: the
 * child's own sched_init works.
 * ctest:
 * ctest: env=SCHED_KIND=lifo */
enum { TRIES = 60 };

static void task(void *closure, struct scheduler *s)
{
    *(volatile int *)closure = 1;
}

static void *runner(void *arg)
{
    int ran = 0;
    CHECK_EQ(sched_init(2, 4, task, &ran), 0);
    CHECK(ran);
    return arg;
}

static void *bystander(void *arg)
{
    for (;;)
        pause();
    return arg;
}

/* A process of its own, where nobody has called the library before. */
static void body(void *delay)
{
    pthread_t thread;
    for (int i = 0; i < 2; i++) /* with more threads membarrier takes longer to register */
        CHECK_EQ(pthread_create(&thread, NULL, bystander, NULL), 0);
    CHECK_EQ(pthread_create(&thread, NULL, runner, NULL), 0);
    for (double end = now() + 1e-6 * (double)(long)delay; now() < end;)
        ;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(20);
        runner(NULL);
        _exit(0);
    }
    int status = wait_for(pid);
    CHECK(!WIFSIGNALED(status)); /* SIGALRM: it hung */
    CHECK_EQ(status, 0);
    pthread_join(thread, NULL);
}

CASE(fork_first)
{
    for (long i = 0; i < TRIES; i++) { /* 0 to 3.5 ms, denser at the start */
        CHECK_IN_CHILD(body, (void *)(i * i));
    }
}

/* fork_full: SCHED_OVERFLOW=refuse: a fork that finds no room runs the child at once, and it is
 * joined as any other; group spawns are refused with EAGAIN, and change nothing.
 * ctest: debug
 * ctest: matrix overflow=refuse */
enum { FULL_N = 40, FULL_QLEN = 5 };

static int refuse;

/* The tasks that a child forks which runs at once find no room either. */
static void branch(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    sched_task t;
    sched_fork(&t, mark_number, (void *)(FULL_N + i), s);
    mark(i);
    sched_join(&t, s);
}

static void full_forks(void *closure, struct scheduler *s)
{
    sched_task tasks[FULL_N];
    for (long i = 0; i < FULL_N; i++) {
        sched_fork(&tasks[i], branch, (void *)i, s);
        if (refuse && threads_of(4) == 1)
            CHECK_EQ(marks[i], i >= FULL_QLEN || spawn_calls()); /* which has them called in any case */
    }
    for (int i = 0; i < FULL_N; i++) {
        sched_join(&tasks[i], s);
        CHECK_EQ(marks[i], 1);
        CHECK_EQ(marks[FULL_N + i], 1);
    }
}

/* In kind cont each of these waits in the queue for the next to return. */
static void nest(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    sched_task t;
    mark(i);
    if (i + 1 == 2 * FULL_N)
        return;
    sched_fork(&t, nest, (void *)(i + 1), s);
    if (threads_of(4) == 1 && spawn_calls())
        CHECK_EQ(marks[2 * FULL_N - 1], 1); /* also where there is no room, it has been called */
    sched_join(&t, s);
    CHECK_EQ(marks[i + 1], 1);
}

static long accepted;

static void spawns(void *closure, struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    long before = 0;
    for (int tries = 0; tries < FULL_N; tries++) {
        set_errno(0);
        if (sched_group_spawn(&g, mark_number, (void *)accepted, s) == 0)
            accepted++;
        else
            CHECK_EQ(get_errno(), EAGAIN);
    }
    CHECK(accepted >= FULL_QLEN);
    if (refuse && threads_of(4) == 1)
        CHECK_EQ(accepted, spawn_calls() ? FULL_N : FULL_QLEN);
    CHECK_EQ(sched_group_wait(&g, s), 0);
    for (; before < accepted; before++)
        CHECK_EQ(marks[before], 1);
}

CASE(fork_full)
{
    refuse = getenv("SCHED_OVERFLOW") != NULL;
    CHECK_EQ(sched_init(4, FULL_QLEN, full_forks, NULL), 0);
    check_marks(2 * FULL_N);
    CHECK_EQ(sched_init(4, FULL_QLEN, nest, NULL), 0);
    check_marks(2 * FULL_N);
    CHECK_EQ(sched_init(4, FULL_QLEN, spawns, NULL), 0);
    check_marks(accepted);
}

/* fork_misuse: sched_fork and sched_join have no errors to report: misuse ends the process with a
 * message.
 * ctest: static debug
 * ctest: matrix few idle=park threads=1,4 */
static struct scheduler *kept;

static void null_function(void *closure, struct scheduler *s)
{
    sched_fork(&t, NULL, NULL, s);
}

static void misuse_keep(void *closure, struct scheduler *s)
{
    kept = s;
}

/* In a child by fork(2) the run has ended: its tasks run in the parent only. */
static void join_in_child(void *closure, struct scheduler *s)
{
    sched_fork(&t, nothing, closure, s);
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        alarm(20);
        sched_join(&t, s);
        _exit(0); /* a thief had done it before */
    }
    int status = wait_for(pid);
    sched_join(&t, s);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT)
        abort();
    CHECK_EQ(status, 0);
    CHECK(threads_of(4) > 1 || spawn_calls()); /* which has it called before the fork */
    check_say("sched_join: the run of s has ended\n"); /* not to be provoked here */
    abort();
}

static void misuse_run(void *root)
{
    sched_init(4, 10, *(taskfunc *)root, NULL);
}

static void ended(void *unused)
{
    CHECK_EQ(sched_init(4, 10, misuse_keep, NULL), 0);
    sched_fork(&t, nothing, NULL, kept);
}

CASE(fork_misuse)
{
    static taskfunc roots[] = {null_function, join_in_child};
    in_child(misuse_run, &roots[0]);
    CHECK_CHILD_ABORTED("sched_fork: f is NULL");
    in_child(ended, NULL);
    CHECK_CHILD_ABORTED("sched_fork: the run of s has ended");
    in_child(misuse_run, &roots[1]);
    CHECK_CHILD_ABORTED("sched_join: the run of s has ended");
}

/* fork_order: All of a thousand descriptors are joined, in the order of forking, its opposite or
 * any other, and beside spawned tasks: when a join returns, its task has run, once, and what it
 * wrote is seen.
 * ctest: static debug
 * ctest: matrix */
enum { ORDER_N = 1000, ORDERS = 4 };

struct order_child {
    sched_task task;
    long i, result;
};

static void order_leaf(void *closure, struct scheduler *s)
{
    struct order_child *child = closure;
    mark(child->i);
    child->result = 3 * child->i;
}

static void shuffle(int order[ORDER_N], int how)
{
    uint64_t x = 88172645463325252u;
    for (int k = 0; k < ORDER_N; k++)
        order[k] = how == 1 ? ORDER_N - 1 - k : k;
    for (int k = ORDER_N - 1; how >= 2 && k > 0; k--) {
        int other = (int)(next_random(&x) % (uint64_t)(k + 1)), kept = order[k];
        order[k] = order[other];
        order[other] = kept;
    }
}

/* In the last order the joins are among the forks, and every third fork follows a spawn. */
static void order_root(void *closure, struct scheduler *s)
{
    static struct order_child children[ORDER_N];
    int how = (int)(long)closure, joined = 0, order[ORDER_N];
    char forked[ORDER_N] = {0};
    shuffle(order, how);
    for (int i = 0; i < ORDER_N; i++) {
        children[i].i = i;
        children[i].result = 0;
        if (how == 3 && i % 3 == 0)
            CHECK_EQ(sched_spawn(mark_number, (void *)(long)(ORDER_N + i / 3), s), 0);
        sched_fork(&children[i].task, order_leaf, &children[i], s);
        forked[i] = 1;
        while (how == 3 && joined < ORDER_N && i % 7 == 0 && forked[order[joined]]) {
            sched_join(&children[order[joined]].task, s);
            CHECK_EQ(children[order[joined]].result, 3 * order[joined]);
            joined++;
        }
    }
    for (; joined < ORDER_N; joined++) {
        sched_join(&children[order[joined]].task, s);
        CHECK_EQ(children[order[joined]].result, 3 * order[joined]);
    }
}

CASE(fork_order)
{
    for (long how = 0; how < ORDERS; how++) {
        CHECK_EQ(sched_init(4, 10, order_root, (void *)how), 0);
        check_marks(how == 3 ? ORDER_N + (ORDER_N + 2) / 3 : ORDER_N);
    }
}

/* fork_over: A join whose child is over returns at once. It runs no other task first, because that
 * task might take long, or wait for the joining task. A wait for a group without tasks also returns
 * at once.
 * ctest: debug
 * ctest: matrix with=threads without=calls threads=2,4 */
enum { OVER_ROUNDS = 20 };

static atomic_int over_guests, over_leave, joined, over_ran;

/* Keeps its worker from looking for tasks. */
static void over_guest(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&over_guests, 1);
    while (!over_leave)
        pause_us(50);
}

/* The other worker that is left runs it, and is then busy with a guest from its own queue. */
static void over_child(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(over_guest, NULL, s), 0);
}

static void other(void *closure, struct scheduler *s)
{
    CHECK(joined);
    atomic_fetch_add(&over_ran, 1);
}

static void over_root(void *closure, struct scheduler *s)
{
    int workers = threads_of(4);
    sched_group g = SCHED_GROUP_INIT;
    sched_task t;
    over_guests = over_leave = joined = 0;
    CHECK_TIMES(workers - 2, sched_spawn(over_guest, NULL, s));
    while (over_guests < workers - 2)
        pause_us(50);
    sched_fork(&t, over_child, NULL, s);
    while (over_guests < workers - 1)
        pause_us(50);
    /* Now all others are busy. The child has returned, since it was its guest's spawner; its end is
     * noted before that worker takes another task. */
    CHECK_EQ(sched_spawn(other, NULL, s), 0);
    CHECK_EQ(sched_spawn(other, NULL, s), 0);
    CHECK_EQ(sched_group_wait(&g, s), 0);
    sched_join(&t, s);
    joined = 1;
    over_leave = 1;
}

CASE(fork_over)
{
    for (int round = 1; round <= OVER_ROUNDS; round++) {
        CHECK_EQ(sched_init(4, 10, over_root, NULL), 0);
        CHECK_EQ(over_ran, 2 * round);
    }
}

/* fork_overwritten: A forked task that was not joined, and whose descriptor was overwritten or
 * unmapped before the task began: the process ends with a message, and not with SIGSEGV alone.
 * ctest: static
 * ctest: matrix few without=calls idle=park threads=1 */
static size_t page;
static char *filling; /* the new words of the descriptor; NULL: the descriptor is unmapped */

static void forgets(void *closure, struct scheduler *s)
{
    char *memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    sched_fork((sched_task *)memory, nothing, NULL, s);
    if (filling == NULL)
        munmap(memory, page);
    for (size_t at = 0; filling && at < sizeof(sched_task); at += sizeof filling)
        memcpy(memory + at, &filling, sizeof filling);
}

static void overwritten_run(void *arg)
{
    alarm(60);
    sched_init(1, 10, forgets, NULL); /* nobody begins the task before it is overwritten */
}

CASE(fork_overwritten)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    skip("the sanitizer handles SIGSEGV");
#endif
    page = (size_t)sysconf(_SC_PAGESIZE);
    char *const fillings[] = {NULL, (char *)16, (char *)&page, (char *)0x4141414141414140};
    for (size_t i = 0; i < sizeof fillings / sizeof *fillings; i++) {
        filling = fillings[i];
        in_child(overwritten_run, NULL);
        check_child(__FILE__, __LINE__, WIFSIGNALED(child.status), "end by a signal");
        CHECK_CHILD_SAID("libsched: sched_fork: the descriptor of a task was overwritten");
        CHECK_CHILD_SAID("a sched_join is missing");
    }
}

/* fork_pool: The thread that has made a pool forks tasks with an s of the pool and joins them,
 * without being a task. The pool's workers run them; the thread itself runs the tasks that nobody
 * has begun, except in kind serial. It may also call sched_for. With NULL the tasks belong to the
 * default pool.
 * ctest: static debug
 * ctest: matrix deque=split,mutex,chaselev,ring idle=park,spin threads=1,2,4 */
enum { POOL_N = 100 };

static int main_thread;
static atomic_int foreign;

static void pool_keep(void *closure, struct scheduler *s)
{
    *(struct scheduler **)closure = s;
}

static void pool_forked(void *n, struct scheduler *s)
{
    foreign += thread_id() == main_thread;
    fib(n, s);
}

static void pool_forks(struct scheduler *s, int backwards)
{
    static sched_task tasks[POOL_N];
    static long numbers[POOL_N];
    for (int i = 0; i < POOL_N; i++) {
        numbers[i] = 10;
        sched_fork(&tasks[i], pool_forked, &numbers[i], s);
    }
    for (int i = 0; i < POOL_N; i++) {
        int at = backwards ? POOL_N - 1 - i : i;
        sched_join(&tasks[at], s);
        CHECK_EQ(numbers[at], 55);
    }
    if (!has_threads())
        CHECK_EQ(foreign, 0);
}

CASE(fork_pool)
{
    struct scheduler *s;
    main_thread = thread_id();
    struct sched_pool *pool = pool_of(4);
    CHECK_EQ(sched_pool_run(pool, pool_keep, &s), 0);
    for (int round = 0; round < 4; round++) {
        pool_forks(s, round % 2);
        pool_forks(NULL, round % 2);
    }
    atomic_long sum = 0;
    CHECK_EQ(sched_for(0, NUMBERS, 7, null_add, (void *)&sum, s), 0);
    CHECK_EQ(sum, NUMBERS * (NUMBERS - 1) / 2);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    pool_forks(NULL, 0);
}
