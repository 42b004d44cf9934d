/* groups: sched_group_spawn, sched_group_wait and sched_group_cancel. */
#include "case.h"
#include "null.h"
#include "pool.h"
#include "marks.h"
#include <sched_tasks.h>
#include <stdatomic.h>

/* group_cancel: A cancelled group: tasks that have not begun never begin, and running tasks may
 * ask. Only the next wait returns ECANCELED, when all tasks are over; then the group is as new.
 * Other groups are not cancelled.
 * ctest: static debug
 * ctest: matrix */
enum { CANCEL_N = 200 };

static sched_group cancel_g, other;
static atomic_int cancel_ran, asked, begun;

COUNTING_TASK(count, cancel_ran)

static void asks(void *closure, struct scheduler *s)
{
    begun = 1;
    for (unsigned turns = 0; !sched_group_cancelled(&cancel_g);)
        spin(&turns);
    asked = 1;
}

static void cancels(void *closure, struct scheduler *s)
{
    count(closure, s);
    sched_group_cancel(&cancel_g);
}

static void *cancel_stranger(void *arg)
{
    while (!begun)
        pause_us(50);
    sched_group_cancel(&cancel_g);
    return NULL;
}

static void cancel_spawn(sched_group *group, taskfunc f, int n, struct scheduler *s)
{
    CHECK_TIMES(n, sched_group_spawn(group, f, NULL, s));
}

static void as_new(struct scheduler *s)
{
    CHECK_EQ(sched_group_cancelled(&cancel_g), 0);
    CHECK_EQ(sched_group_wait(&cancel_g, s), 0);
    cancel_ran = 0;
    cancel_spawn(&cancel_g, count, 10, s);
    CHECK_EQ(sched_group_wait(&cancel_g, s), 0);
    CHECK_EQ(cancel_ran, 10);
    cancel_ran = 0;
}

static void cancel_root(void *closure, struct scheduler *s)
{
    as_new(s);

    /* Cancelled before any of its tasks: none runs. The other group's tasks run. */
    sched_group_cancel(&cancel_g);
    CHECK_EQ(sched_group_cancelled(&cancel_g), 1);
    CHECK_EQ(sched_group_cancelled(&other), 0);
    cancel_spawn(&cancel_g, count, CANCEL_N, s);
    CHECK_ERRNO(sched_group_wait(&cancel_g, s), ECANCELED);
    CHECK_EQ(cancel_ran, 0);
    as_new(s);
    cancel_spawn(&other, count, CANCEL_N, s);
    sched_group_cancel(&cancel_g);
    CHECK_EQ(sched_group_wait(&other, s), 0);
    CHECK_EQ(cancel_ran, CANCEL_N);

    /* Without tasks, and twice: once is said. */
    sched_group_cancel(&cancel_g);
    CHECK_ERRNO(sched_group_wait(&cancel_g, s), ECANCELED);
    as_new(s);

    /* By one of its own: that one ran, perhaps not all. With one worker the others had not begun. */
    cancel_spawn(&cancel_g, cancels, CANCEL_N, s);
    CHECK_ERRNO(sched_group_wait(&cancel_g, s), ECANCELED);
    CHECK(cancel_ran >= 1 && cancel_ran <= CANCEL_N);
    if (threads_of(4) == 1)
        CHECK_EQ(cancel_ran, 1);
    as_new(s);

    /* From outside, while a task runs that ends on request. */
    begun = asked = 0;
    pthread_t thread = begin_thread(cancel_stranger, NULL);
    cancel_spawn(&cancel_g, asks, 1, s);
    CHECK_ERRNO(sched_group_wait(&cancel_g, s), ECANCELED);
    CHECK_EQ(asked, 1);
    pthread_join(thread, NULL);
    as_new(s);
}

CASE(group_cancel)
{
    CHECK_TIMES(3, sched_init(4, 10, cancel_root, NULL));
}

/* group_copy: sched_group_spawn_copy and sched_pool_submit_copy: each task has a copy of its own,
 * of 0 to SCHED_COPY_MAX bytes, aligned for any type, made before the call returns; a group waits
 * for its own, and cancels them. What they refuse, with EINVAL, changes nothing.
 * ctest: static debug
 * ctest: matrix deque=split,mutex,chaselev,ring idle=park threads=1,2,4 */
struct message {
    unsigned char first, rest[SCHED_COPY_MAX - 1];
};

static atomic_long sum;
static sched_group cancelled = SCHED_GROUP_INIT;
static struct sched_pool *pool;

static void fill(struct message *m, size_t size, unsigned char first)
{
    memset(m, 255, sizeof *m);
    for (size_t i = 0; i < size; i++)
        ((unsigned char *)m)[i] = (unsigned char)(first + i);
}

/* The first byte says how long it is. */
static void check(void *copy, struct scheduler *s)
{
    unsigned char *bytes = copy;
    CHECK_EQ((uintptr_t)copy % _Alignof(max_align_t), 0);
    for (int i = 0; i < bytes[0]; i++) {
        CHECK_EQ(bytes[i], (unsigned char)(bytes[0] + i));
        if (i > 0)
            bytes[i] = 0; /* it is the task's */
    }
    atomic_fetch_add(&sum, bytes[0]);
}

static void check_most(void *copy, struct scheduler *s)
{
    unsigned char *bytes = copy;
    for (int i = 0; i < SCHED_COPY_MAX; i++)
        CHECK_EQ(bytes[i], (unsigned char)(1 + i));
    atomic_fetch_add(&sum, 1);
}

COUNTING_TASK(copy_nothing, sum)

static void never(void *copy, struct scheduler *s)
{
    CHECK(!"called");
}

static void copies(sched_group *g, struct scheduler *s)
{
    struct message m;
    long wanted = sum;
    for (int size = 1; size < 256; size++) {
        fill(&m, (size_t)size, (unsigned char)size);
        CHECK_EQ(sched_group_spawn_copy(g, check, &m, (size_t)size, s), 0);
        memset(&m, 0, sizeof m);
        wanted += size;
    }
    fill(&m, sizeof m, 1);
    CHECK_EQ(sched_group_spawn_copy(g, check_most, &m, SCHED_COPY_MAX, s), 0);
    CHECK_EQ(sched_group_spawn_copy(g, copy_nothing, NULL, 0, s), 0);
    CHECK_EQ(sched_group_wait(g, s), 0);
    CHECK_EQ(sum, wanted + 2);
}

static void in_pool(void)
{
    struct message m;
    sum = 0;
    long wanted = 0;
    for (int size = 1; size < 256; size++) {
        fill(&m, (size_t)size, (unsigned char)size);
        CHECK_EQ(sched_pool_submit_copy(pool, check, &m, (size_t)size), 0);
        wanted += size;
    }
    fill(&m, sizeof m, 1);
    CHECK_EQ(sched_pool_submit_copy(pool, check_most, &m, SCHED_COPY_MAX), 0);
    CHECK_EQ(sched_pool_submit_copy(pool, copy_nothing, NULL, 0), 0);
    CHECK_EQ(sched_pool_wait(pool), 0);
    CHECK_EQ(sum, wanted + 2);
}

static void errors(sched_group *g, struct scheduler *s)
{
    char byte = 0;
    CHECK_ERRNO(sched_group_spawn_copy(NULL, never, &byte, 1, s), EINVAL);
    CHECK_ERRNO(sched_group_spawn_copy(g, NULL, &byte, 1, s), EINVAL);
    CHECK_ERRNO(sched_group_spawn_copy(g, never, NULL, 1, s), EINVAL);
    CHECK_ERRNO(sched_group_spawn_copy(g, never, &byte, SCHED_COPY_MAX + 1, s), EINVAL);
    CHECK_ERRNO(sched_group_spawn_copy(g, never, &byte, SIZE_MAX, s), EINVAL);
    CHECK_EQ(sched_group_wait(g, s), 0);
}

static void copy_root(void *closure, struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    *(struct scheduler **)closure = s;
    copies(&g, s);
    errors(&g, s);
    sched_group_cancel(&cancelled);
    for (int i = 0; i < 10; i++)
        CHECK_EQ(sched_group_spawn_copy(&cancelled, never, &i, sizeof i, s), 0);
    CHECK_ERRNO(sched_group_wait(&cancelled, s), ECANCELED);
}

CASE(group_copy)
{
    sched_group g = SCHED_GROUP_INIT;
    struct scheduler *ended;
    char byte = 0;
    CHECK_EQ(sched_init(4, 10, copy_root, &ended), 0);
    CHECK_ERRNO(sched_group_spawn_copy(&g, never, &byte, 1, ended), EINVAL);
    CHECK_EQ(sched_group_wait(&g, ended), 0);
    copies(&g, NULL); /* from outside */
    errors(&g, NULL);
    pool = pool_of(4);
    in_pool();
    CHECK_ERRNO(sched_pool_submit_copy(NULL, never, &byte, 1), EINVAL);
    CHECK_ERRNO(sched_pool_submit_copy(pool, NULL, &byte, 1), EINVAL);
    CHECK_ERRNO(sched_pool_submit_copy(pool, never, NULL, 1), EINVAL);
    CHECK_ERRNO(sched_pool_submit_copy(pool, never, &byte, SCHED_COPY_MAX + 1), EINVAL);
    CHECK_EQ(sched_pool_destroy(pool), 0);
}

/* group_elsewhere: A thread that is not a worker, two threads at a time, and a task of another run
 * wait for a group. Its tasks are also spawned from outside and with another worker's s.
 * ctest: debug
 * ctest: matrix */
enum { ELSEWHERE_N = 100, SLOW = 8 };

static sched_group elsewhere_g;
static struct scheduler *run;
static atomic_int spawned, elsewhere_through, slow_done;

static void elsewhere_slow(void *closure, struct scheduler *s)
{
    pause_us(300);
    atomic_fetch_add(&slow_done, 1);
}

static void elsewhere_spawn(long from, long to, struct scheduler *s)
{
    for (long i = from; i < to; i++)
        CHECK_EQ(sched_group_spawn(&elsewhere_g, mark_number, (void *)i, s), 0);
}

/* --- from outside --------------------------------------------------------- */

/* Perhaps the run ends before the wait does. */
static void *elsewhere_stranger(void *arg)
{
    elsewhere_spawn(0, ELSEWHERE_N, run);
    spawned = 1;
    CHECK_EQ(sched_group_wait(&elsewhere_g, run), 0);
    for (long i = 0; i < ELSEWHERE_N; i++)
        CHECK_EQ(marks[i], 1);
    return NULL;
}

static pthread_t elsewhere_thread;

static void host(void *closure, struct scheduler *s)
{
    run = s;
    spawned = 0;
    CHECK_EQ(pthread_create(&elsewhere_thread, NULL, elsewhere_stranger, NULL), 0);
    while (!spawned)
        pause_us(50);
}

/* --- two at a time -------------------------------------------------------- */

static void *elsewhere_waits(void *arg)
{
    CHECK_EQ(sched_group_wait(&elsewhere_g, run), 0);
    CHECK_EQ(slow_done, SLOW);
    return NULL;
}

static void waits_too(void *closure, struct scheduler *s)
{
    elsewhere_waits(closure);
    atomic_fetch_add(&elsewhere_through, 1);
}

/* This task, two more (on other workers, or on top of this one) and two threads. */
static void crowd(void *closure, struct scheduler *s)
{
    pthread_t threads[2];
    sched_task tasks[2];
    run = s;
    slow_done = elsewhere_through = 0;
    CHECK_TIMES(SLOW, sched_group_spawn(&elsewhere_g, elsewhere_slow, NULL, s));
    for (int i = 0; i < 2; i++) {
        sched_fork(&tasks[i], waits_too, closure, s);
        CHECK_EQ(pthread_create(&threads[i], NULL, elsewhere_waits, NULL), 0);
    }
    elsewhere_waits(closure);
    for (int i = 0; i < 2; i++) {
        sched_join(&tasks[i], s);
        pthread_join(threads[i], NULL);
    }
    CHECK_EQ(elsewhere_through, 2);
}

/* --- another run ---------------------------------------------------------- */

/* As a worker of this run it helps this run; the group's tasks are the outer run's. */
static void inner(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_group_wait(&elsewhere_g, s), 0);
    CHECK_EQ(slow_done, SLOW);
}

static void nests(void *closure, struct scheduler *s)
{
    if (threads_of(4) == 1)
        return; /* nobody to run the outer run's */
    slow_done = 0;
    CHECK_TIMES(SLOW, sched_group_spawn(&elsewhere_g, elsewhere_slow, NULL, s));
    CHECK_EQ(sched_init(2, 4, inner, closure), 0);
    CHECK_EQ(sched_group_wait(&elsewhere_g, s), 0);
}

/* --- another worker's s --------------------------------------------------- */

static void with_anothers(void *closure, struct scheduler *s)
{
    elsewhere_spawn(0, 10, run);
    elsewhere_spawn(10, 20, s);
}

static void handed(void *closure, struct scheduler *s)
{
    sched_group own = SCHED_GROUP_INIT;
    run = s;
    CHECK_EQ(sched_group_spawn(&own, with_anothers, closure, s), 0);
    CHECK_EQ(sched_group_wait(&own, s), 0);
    CHECK_EQ(sched_group_wait(&elsewhere_g, s), 0);
    check_marks(20);
}

CASE(group_elsewhere)
{
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(sched_init(4, 10, host, NULL), 0);
        pthread_join(elsewhere_thread, NULL);
        check_marks(ELSEWHERE_N);
        CHECK_EQ(sched_init(4, 10, crowd, NULL), 0);
        CHECK_EQ(sched_init(4, 10, nests, NULL), 0);
        CHECK_EQ(sched_init(4, 10, handed, NULL), 0);
    }
}

/* group_errors: The arguments that the functions of groups refuse with EINVAL: NULL for g or f, and
 * the s of a run that has ended; nothing has changed then. NULL is no cancelled group.
 * ctest: static debug
 * ctest: matrix few idle=park threads=1,4 */
static sched_group g = SCHED_GROUP_INIT;
static struct scheduler *kept;
static int ran;

COUNTING_TASK(errors_task, ran)

static void errors_root(void *closure, struct scheduler *s)
{
    kept = s;
    CHECK_ERRNO(sched_group_spawn(NULL, errors_task, NULL, s), EINVAL);
    CHECK_ERRNO(sched_group_spawn(&g, NULL, NULL, s), EINVAL);
    CHECK_ERRNO(sched_group_spawn(&g, NULL, NULL, NULL), EINVAL);
    CHECK_ERRNO(sched_group_wait(NULL, s), EINVAL);
    CHECK_ERRNO(sched_group_wait(NULL, NULL), EINVAL);
    sched_group_cancel(NULL);
    CHECK_EQ(sched_group_cancelled(NULL), 0);
    CHECK_EQ(sched_group_wait(&g, s), 0);
    CHECK_EQ(sched_group_spawn(&g, errors_task, NULL, s), 0);
    CHECK_EQ(sched_group_wait(&g, s), 0);
}

CASE(group_errors)
{
    for (int run = 1; run <= 3; run++) {
        CHECK_EQ(sched_init(4, 10, errors_root, NULL), 0);
        CHECK_EQ(ran, run);
        CHECK_ERRNO(sched_group_spawn(&g, errors_task, NULL, kept), EINVAL);
        CHECK_EQ(sched_group_wait(&g, kept), 0); /* it has no task */
    }
    CHECK_EQ(ran, 3);
}

/* group_init: SCHED_GROUP_INIT initializes all of a group, in each place where C allows an
 * initializer. */
#pragma GCC diagnostic error "-Wmissing-field-initializers"
#pragma GCC diagnostic error "-Wmissing-braces"

struct holder {
    int before;
    sched_group group;
    int after;
};

static sched_group of_file = SCHED_GROUP_INIT;
static struct holder held = {1, SCHED_GROUP_INIT, 2};
static sched_group many[2] = {SCHED_GROUP_INIT, SCHED_GROUP_INIT};

static int is_empty(const sched_group *g)
{
    static const sched_group zero;
    return memcmp(g, &zero, sizeof zero) == 0;
}

CASE(group_init)
{
    sched_group local = SCHED_GROUP_INIT;
    sched_group assigned;
    assigned = (sched_group)SCHED_GROUP_INIT;
    CHECK(is_empty(&of_file) && is_empty(&held.group) && is_empty(&many[0]) && is_empty(&many[1]));
    CHECK(is_empty(&local) && is_empty(&assigned));
    CHECK_EQ(held.before + held.after, 3);
}

/* group_many: A group may have any number of tasks, spawned by the waiting task and by the tasks
 * themselves; waits may be repeated, and the group used anew; groups within a group's tasks are
 * groups of their own.
 * ctest: static debug
 * ctest: matrix
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace */
enum { MANY_N = 700 / SMALLER, ROUNDS = 4, NESTED = 3 };

struct node {
    sched_group *group;
    long i;
};

static struct node nodes[MARKS / 1024];
static sched_group global = SCHED_GROUP_INIT, zero;

static void branch(void *closure, struct scheduler *s)
{
    struct node *node = closure;
    mark(node->i);
    for (long child = 2 * node->i + 1; child <= 2 * node->i + 2 && child < MANY_N; child++) {
        nodes[child] = (struct node){node->group, child};
        CHECK_EQ(sched_group_spawn(node->group, branch, &nodes[child], s), 0);
    }
    if (node->i % 100 == 0)
        pause_us(50);
}

static void tree(sched_group *group, struct scheduler *s)
{
    nodes[0] = (struct node){group, 0};
    CHECK_EQ(sched_group_spawn(group, branch, &nodes[0], s), 0);
    CHECK_EQ(sched_group_wait(group, s), 0);
    for (long i = 0; i < MANY_N; i++)
        CHECK_EQ(marks[i], 1);
    check_marks(MANY_N);
}

/* At each level a group of three, each with one of its own, down to leaves: 3 + 9 + 27 + 81. */
static void nest(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    sched_group g = SCHED_GROUP_INIT;
    mark(i);
    if (i >= 40)
        return;
    for (long k = 1; k <= NESTED; k++)
        CHECK_EQ(sched_group_spawn(&g, nest, (void *)(NESTED * i + k), s), 0);
    CHECK_EQ(sched_group_wait(&g, s), 0);
    for (long k = 1; k <= NESTED; k++)
        CHECK_EQ(marks[NESTED * i + k], 1);
}

static void many_root(void *closure, struct scheduler *s)
{
    sched_group local = SCHED_GROUP_INIT;
    CHECK_EQ(sched_group_wait(&local, s), 0); /* nothing to wait for */
    CHECK_EQ(sched_group_wait(&zero, s), 0);
    for (int round = 0; round < ROUNDS; round++) {
        tree(&local, s);
        tree(round % 2 ? &global : &zero, s);
        CHECK_EQ(sched_group_wait(&local, s), 0); /* once more */
    }
    for (long i = 0; i < MANY_N; i++) {
        CHECK_EQ(sched_group_spawn(&local, mark_number, (void *)i, s), 0);
        if (i % 50 == 0)
            CHECK_EQ(sched_group_wait(&local, s), 0);
    }
    CHECK_EQ(sched_group_wait(&local, s), 0);
    check_marks(MANY_N);
    nest((void *)0, s);
}

CASE(group_many)
{
    CHECK_EQ(sched_init(4, 10, many_root, NULL), 0);
    check_marks(121);
}

/* group_quiet: Several tasks and threads that wait for one group all sleep until it is over: the
 * process has hardly any context switches during the wait.
 * ctest: sleeps
 * ctest: matrix with=threads deque=mutex,split idle=park threads=2,4 join=suspend
 * ctest: matrix with=threads deque=mutex,split idle=park threads=4 join=help */
enum { WAITERS = 4, MS = 300, MOST = 200 };
static atomic_int ended, quiet_through, waiting;

static long switches(void)
{
    struct rusage used;
    CHECK_EQ(getrusage(RUSAGE_SELF, &used), 0);
    return used.ru_nvcsw;
}

/* Looks when the others have come to wait. */
static void quiet_slow(void *closure, struct scheduler *s)
{
    while (waiting < 2 * WAITERS + 1)
        pause_us(1000);
    pause_us(20000); /* and they fall asleep */
    long before = switches();
    pause_us(MS * 1000L);
    long in_between = switches() - before;
    if (in_between > MOST)
        fprintf(stderr, "%ld context switches in %d ms, %d were waiting\n", in_between, MS, waiting);
    CHECK(in_between <= MOST);
    ended = 1;
}

static void quiet_waits(struct scheduler *s)
{
    waiting++;
    CHECK_EQ(sched_group_wait(&g, s), 0);
    CHECK_EQ(ended, 1);
    quiet_through++;
}

static void quiet_task(void *closure, struct scheduler *s)
{
    quiet_waits(s);
}

static void *quiet_thread(void *arg)
{
    quiet_waits(run);
    return NULL;
}

static void quiet_root(void *closure, struct scheduler *s)
{
    pthread_t threads[WAITERS];
    run = s;
    CHECK_EQ(sched_group_spawn(&g, quiet_slow, NULL, s), 0);
    CHECK_TIMES(WAITERS, sched_spawn(quiet_task, NULL, s));
    for (int i = 0; i < WAITERS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, quiet_thread, NULL), 0);
    quiet_waits(s);
    for (int i = 0; i < WAITERS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

CASE(group_quiet)
{
    CHECK_EQ(sched_init(2, 10, quiet_root, NULL), 0);
    CHECK_EQ(quiet_through, 2 * WAITERS + 1);
}

/* group_signal: A signal handler may cancel a group and ask whether it was cancelled: its tasks
 * that have not begun will not.
 * ctest: matrix threads=1 */
static volatile sig_atomic_t before = -1, after = -1;

static void cancel(int sig)
{
    before = sched_group_cancelled(&g);
    sched_group_cancel(&g);
    after = sched_group_cancelled(&g);
}

static void member(void *closure, struct scheduler *s)
{
    if (++ran == 3)
        CHECK_EQ(raise(SIGUSR1), 0);
}

static void signal_root(void *closure, struct scheduler *s)
{
    CHECK_TIMES(10, sched_group_spawn(&g, member, NULL, s));
    CHECK_ERRNO(sched_group_wait(&g, s), ECANCELED);
}

CASE(group_signal)
{
    CHECK(signal(SIGUSR1, cancel) != SIG_ERR);
    CHECK_EQ(sched_init(1, 0, signal_root, NULL), 0);
    CHECK_EQ(before, 0);
    CHECK_EQ(after, 1);
    CHECK_EQ(ran, 3);
}

/* group_starve: Each worker runs a task that spawns into a group and waits for the group, in a
 * loop, until another task has run. This other task does run: in the first run a thread from
 * outside has spawned it, in the second run it has yielded.
 * ctest: debug
 * ctest: matrix few kind=steal deque=split,chaselev,mutex,ring threads=1,2 idle=park join=suspend */
static atomic_int is_enough, has_begun;

static void goes_on(void *closure, struct scheduler *s)
{
    while (!is_enough) {
        sched_group g = SCHED_GROUP_INIT;
        CHECK_EQ(sched_group_spawn(&g, nothing, NULL, s), 0);
        CHECK_EQ(sched_group_wait(&g, s), 0);
    }
}

static void ends_it(void *closure, struct scheduler *s)
{
    is_enough = 1;
}

static void yields(void *closure, struct scheduler *s)
{
    has_begun = 1;
    for (int i = 0; i < 3; i++)
        sched_task_yield(s);
    is_enough = 1;
}

static void *starve_stranger(void *s)
{
    CHECK_EQ(sched_spawn(ends_it, NULL, s), 0);
    return NULL;
}

static void loops(struct scheduler *s)
{
    for (int i = 1; i < threads_of(4); i++)
        CHECK_EQ(sched_spawn(goes_on, NULL, s), 0);
    goes_on(NULL, s);
}

static void from_outside(void *closure, struct scheduler *s)
{
    pthread_t thread = begin_thread(starve_stranger, s);
    loops(s);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

static void beside_one_that_yields(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(yields, NULL, s), 0);
    while (!has_begun)
        sched_task_yield(s);
    loops(s);
}

CASE(group_starve)
{
    CHECK_EQ(sched_init(4, 10, from_outside, NULL), 0);
    is_enough = 0;
    CHECK_EQ(sched_init(4, 10, beside_one_that_yields, NULL), 0);
}
