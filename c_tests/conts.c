/* conts: kind cont, where a spawn calls the task and its caller can be taken. */
#include "case.h"
#include "proc.h"
#include "stats_line.h"
#include "child.h"
#include "fenced.h"
#include "modes.h"
#include "pool.h"
#include <sched_tasks.h>
#include <stdatomic.h>
#include <pthread.h>

/* cont_above: Kind cont: a task that gives way, or waits, keeps no stacks for children that it may
 * have later, however deep those before have gone: many such tasks need a stack each.
 * ctest: matrix with=calls idle=park threads=1,4 env=SCHED_STACK=64K
 * ctest: matrix with=calls idle=park threads=1,4 env=SCHED_STACK=64K args=waits */
enum { TASKS = 300, ABOVE_DEPTH = 30, ABOVE_MOST_KB = (TASKS + 2 * ABOVE_DEPTH + 300) * 400 };

static atomic_int there;
static sched_sem go_on;
static int above_waits;

static void above_deeper(void *closure, struct scheduler *s)
{
    long left = (long)closure;
    if (left > 0)
        CHECK_EQ(sched_spawn(above_deeper, (void *)(left - 1), s), 0);
}

static void task(void *closure, struct scheduler *s)
{
    above_deeper(closure, s);
    there++;
    if (above_waits)
        CHECK_EQ(sched_sem_wait(&go_on, s), 0);
    else
        while (there < TASKS)
            sched_task_yield(s);
}

static void above_root(void *closure, struct scheduler *s)
{
    long before = status_kb("VmSize");
    CHECK_TIMES(TASKS, sched_spawn(task, (void *)(long)ABOVE_DEPTH, s));
    while (there < TASKS)
        sched_task_yield(s);
    long more = status_kb("VmSize") - before;
    if (more >= ABOVE_MOST_KB)
        CHECK_EQ(more, ABOVE_MOST_KB);
    for (int i = 0; i < TASKS && above_waits; i++)
        CHECK_EQ(sched_sem_post(&go_on), 0);
}

CASE(cont_above)
{
    above_waits = argc > 1;
    one_heap();
    CHECK_EQ(sched_sem_init(&go_on, 0), 0);
    CHECK_EQ(sched_init(4, 4, above_root, NULL), 0);
    CHECK_EQ(there, TASKS);
}

/* cont_chain: Kind cont: a chain of a million tasks that each spawn the next takes few stacks. Then
 * tasks are called at once again, and in the serial order as deep as libsched(7) says.
 * ctest: matrix with=calls idle=park threads=1,2,4 timeout=60
 * ctest: matrix with=calls deque=split idle=nap,spin threads=2 timeout=60 */
enum { CHAIN_LENGTH = 1000000, NESTED = 1000, LEAVES = 1000, GENERATIONS = 3000, FEW = 10, CHAIN_MOST_KB = 32 << 10 };

static atomic_long ran;
static int alone; /* one worker */
static atomic_int open_generations, in_order;

static void chain_link_of_chain(void *closure, struct scheduler *s)
{
    long left = (long)closure;
    atomic_fetch_add_explicit(&ran, 1, memory_order_relaxed);
    if (left > 1)
        CHECK_EQ(sched_spawn(chain_link_of_chain, (void *)(left - 1), s), 0);
}

COUNTING_TASK(chain_leaf, ran)

/* Spawns the next; after that, in serial order, all deeper ones have ended. */
static void nested(void *closure, struct scheduler *s)
{
    long deeper = (long)closure, before = ran;
    if (deeper > 0) {
        CHECK_EQ(sched_spawn(nested, (void *)(deeper - 1), s), 0);
        if (in_order)
            CHECK_EQ(ran, before + deeper);
    }
    ran++;
}

/* A chain whose tasks wait: each begins anew to count how deeply it spawns. The partner answers. Tasks of the chain
 * that have not ended are in the queue, which must not hold too many of them: then children are queued, too. */
static sched_sem asked = SCHED_SEM_INIT(0), answered = SCHED_SEM_INIT(0);

static void generation(void *closure, struct scheduler *s)
{
    long left = (long)closure;
    open_generations++;
    CHECK_EQ(sched_sem_post(&asked), 0);
    CHECK_EQ(sched_sem_wait(&answered, s), 0);
    long before = ran;
    in_order = alone && open_generations < NESTED;
    CHECK_EQ(sched_spawn(nested, (void *)(long)(FEW - 1), s), 0);
    if (in_order)
        CHECK_EQ(ran, before + FEW);
    if (left > 1)
        CHECK_EQ(sched_spawn(generation, (void *)(left - 1), s), 0);
    open_generations--;
}

static void partner(void *closure, struct scheduler *s)
{
    for (int i = 0; i < GENERATIONS; i++) {
        CHECK_EQ(sched_sem_wait(&asked, s), 0);
        CHECK_EQ(sched_sem_post(&answered), 0);
    }
}

static void chain_root(void *closure, struct scheduler *s)
{
    alone = sched_worker_count(s) == 1;
    CHECK_EQ(sched_spawn(chain_link_of_chain, (void *)(long)CHAIN_LENGTH, s), 0);
    if (alone)
        CHECK_EQ(ran, CHAIN_LENGTH);
    for (int i = 0; i < LEAVES; i++) {
        CHECK_EQ(sched_spawn(chain_leaf, NULL, s), 0);
        if (alone)
            CHECK_EQ(ran, CHAIN_LENGTH + i + 1);
    }
    in_order = alone;
    CHECK_EQ(sched_spawn(nested, (void *)(long)(NESTED - 1), s), 0);
    CHECK_EQ(sched_spawn(partner, NULL, s), 0);
    CHECK_EQ(sched_spawn(generation, (void *)(long)GENERATIONS, s), 0);
}

CASE(cont_chain)
{
    for (int round = 0; round < 3; round++) {
        ran = 0;
        CHECK_EQ(sched_init(2, 4, chain_root, NULL), 0);
        CHECK_EQ(ran, CHAIN_LENGTH + LEAVES + NESTED + GENERATIONS * FEW);
    }
    if (status_kb("VmHWM") >= CHAIN_MOST_KB)
        CHECK_EQ(status_kb("VmHWM"), CHAIN_MOST_KB);
}

/* cont_chain_waits: Kind cont: in a chain whose tasks spawn the next and then wait, no more than
 * some 1024 spawners are queued: each task that waits at the end of the chain does not begin to
 * call the next 1024 at once.
 * ctest: matrix with=calls deque=split idle=park threads=1,2 */
/* The spawners, and the few tasks that are queued for other reasons. */
enum { CHAIN_WAITS_LENGTH = 6000, QUEUED = 1024 + 64 };

static sched_sem turn = SCHED_SEM_INIT(0);
static long shared_ran;

static void chain_waits_link_of_chain(void *closure, struct scheduler *s)
{
    long left = (long)closure;
    if (left > 1)
        CHECK_EQ(sched_spawn(chain_waits_link_of_chain, (void *)(left - 1), s), 0);
    else
        CHECK_EQ(sched_sem_post(&turn), 0);
    CHECK_EQ(sched_sem_wait(&turn, s), 0);
    shared_ran++;
    CHECK_EQ(sched_sem_post(&turn), 0);
}

CASE(cont_chain_waits)
{
    gather_stats();
    CHECK_EQ(sched_init(2, 4, chain_waits_link_of_chain, (void *)(long)CHAIN_WAITS_LENGTH), 0);
    CHECK_EQ(shared_ran, CHAIN_WAITS_LENGTH);
    const char *line = gathered_stats();
    CHECK_EQ(stat_number(line, "tasks"), CHAIN_WAITS_LENGTH);
    long queued = stat_number(line, "queue_peak");
    if (queued > QUEUED)
        CHECK_EQ(queued, QUEUED);
}

/* cont_deep: Kind cont: tasks that spawn as their last act lie below each other, thousands deep;
 * where no memory is left for stacks they are queued, and all run.
 * ctest: matrix with=calls idle=park threads=1,2,4 timeout=60
 * ctest: matrix with=calls idle=park threads=1,4 args=little timeout=60 */
enum { DEEP_DEPTH = 5000 };

static void deep_link_of_chain(void *closure, struct scheduler *s)
{
    long left = (long)closure;
    atomic_fetch_add(&ran, 1);
    if (left > 1)
        CHECK_EQ(sched_spawn(deep_link_of_chain, (void *)(left - 1), s), 0);
}

static void chain(void *arg)
{
    if (arg != NULL) { /* room for some stacks only */
        limit_space(256 << 10);
    }
    for (int round = 1; round <= 3; round++) {
        CHECK_EQ(sched_init(2, 4, deep_link_of_chain, (void *)(long)DEEP_DEPTH), 0);
        CHECK_EQ(ran, (long)round * DEEP_DEPTH);
    }
}

CASE(cont_deep)
{
    in_child(chain, argc > 1 ? argv[1] : NULL);
    CHECK_CHILD_PASSED();
}

/* cont_flood: Kind cont: ten million tasks spawned in a row take no more room than one.
 * ctest: matrix with=calls idle=park threads=1,2 timeout=60
 * ctest: matrix with=calls deque=split idle=nap,spin threads=2 timeout=60 */
enum { FLOOD_N = 10000000, FLOOD_MOST_KB = 32 << 10 };

static void flood_leaf(void *closure, struct scheduler *s)
{
    atomic_fetch_add_explicit(&ran, 1, memory_order_relaxed);
}

static void flood_root(void *closure, struct scheduler *s)
{
    CHECK_TIMES(FLOOD_N, sched_spawn(flood_leaf, NULL, s));
}

CASE(cont_flood)
{
    CHECK_EQ(sched_init(2, 4, flood_root, NULL), 0);
    CHECK_EQ(ran, FLOOD_N);
    if (status_kb("VmHWM") >= FLOOD_MOST_KB)
        CHECK_EQ(status_kb("VmHWM"), FLOOD_MOST_KB);
}

/* cont_fork: Kind cont: a task that was made to continue, and has others of its run behind it in
 * the queue, returns in a child process that it made by fork. That ends with a message, and none of
 * the others continues there.
 * ctest: debug
 * ctest: matrix with=calls threads=1 */
enum { WAITERS = 3 };

static sched_sem free_units;
static pid_t process;
static int fork_went_on;

static void fork_waits(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_sem_wait(&free_units, s), 0);
    if (getpid() != process)
        check_say("a task of the parent's went on\n");
    fork_went_on++;
}

static void fork_root(void *closure, struct scheduler *s)
{
    CHECK_TIMES(WAITERS, sched_spawn(fork_waits, NULL, s));
    CHECK_TIMES(WAITERS, sched_sem_post(&free_units));
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0)
        return;
    int status = wait_for(pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void fork_run(void *arg)
{
    process = getpid();
    CHECK_EQ(sched_sem_init(&free_units, 0), 0);
    CHECK_EQ(sched_init(1, 4, fork_root, NULL), 0);
    CHECK_EQ(fork_went_on, WAITERS);
}

CASE(cont_fork)
{
    in_child(fork_run, NULL);
    CHECK_CHILD_PASSED();
    CHECK_CHILD_SAID("returned in a child");
    CHECK(strstr(child.said, "went on") == NULL);
}

/* cont_late: Kind cont: a child that computes without touching the scheduler keeps its worker, and
 * the spawner continues in another, which may have slept; also where membarrier is denied.
 * ctest: matrix with=calls threads=2,4
 * ctest: matrix with=calls threads=2 args=fenced */
enum { LATE_ROUNDS = 30 };

static atomic_int late_went_on, late_ran;

static void computes(void *closure, struct scheduler *s)
{
    int round = (int)(long)closure;
    /* No system call here, as in a loop that computes: the kernel shares the processors. */
    for (struct patience p = patience_of(20); late_went_on < round;)
        if (!is_patient(&p)) {
            check_say("nobody went on with the spawner\n");
            _exit(1);
        }
    atomic_fetch_add(&late_ran, 1);
}

static void late_root(void *closure, struct scheduler *s)
{
    for (long round = 1; round <= LATE_ROUNDS; round++) {
        sched_task t;
        if (round % 2)
            CHECK_EQ(sched_spawn(computes, (void *)round, s), 0);
        else
            sched_fork(&t, computes, (void *)round, s);
        late_went_on = (int)round;
        if (round % 2 == 0)
            sched_join(&t, s);
        if (round % 5 == 0) /* the others go to sleep meanwhile */
            pause_us(3000);
    }
}

static void late_run(void)
{
    CHECK_EQ(sched_init(2, 4, late_root, NULL), 0);
    CHECK_EQ(late_ran, LATE_ROUNDS);
}

CASE(cont_late)
{
    run_or_run_fenced(late_run, argc);
}

/* cont_order: Kind cont with one worker: every spawn and every fork is a call. The program runs in
 * its serial order, tasks that others fork, copy or group included, and a join finds its child
 * over.
 * ctest: matrix with=calls threads=1
 * ctest: matrix with=calls threads=1 idle=park join=help
 * ctest: matrix with=calls threads=1 idle=park env=SCHED_SEED=3 */
enum { ORDER_DEPTH = 6 };

static long step;

/* The steps that a tree of this depth takes: one before its children and one after each. */
static long steps(long depth)
{
    return depth == 0 ? 1 : 1 + 4 * (steps(depth - 1) + 1);
}

static void node(void *closure, struct scheduler *s);

static void copied(void *arg, struct scheduler *s)
{
    node(*(void **)arg, s);
}

static void node(void *closure, struct scheduler *s)
{
    long depth = (long)closure, at = ++step;
    void *below = (void *)(depth - 1);
    sched_task t;
    sched_group g = SCHED_GROUP_INIT;
    if (depth == 0)
        return;
    for (int child = 0; child < 4; child++) {
        switch (child) {
        case 0:
            CHECK_EQ(sched_spawn(node, below, s), 0);
            break;
        case 1:
            sched_fork(&t, node, below, s);
            break;
        case 2:
            CHECK_EQ(sched_group_spawn(&g, node, below, s), 0);
            break;
        default:
            CHECK_EQ(sched_spawn_copy(copied, &below, sizeof below, s), 0);
        }
        at += steps(depth - 1) + 1;
        CHECK_EQ(++step, at);
    }
    sched_join(&t, s);
    CHECK_EQ(sched_group_wait(&g, s), 0);
    CHECK_EQ(step, at);
}

CASE(cont_order)
{
    for (long depth = 0; depth <= ORDER_DEPTH; depth++) {
        step = 0;
        CHECK_EQ(sched_init(1, 4, node, (void *)depth), 0);
        CHECK_EQ(step, steps(depth));
    }
}

/* cont_refuse: Kind cont with SCHED_OVERFLOW=refuse: qlen is how many spawners may wait for their
 * children on one worker; a spawn beyond gives -1 with EAGAIN and calls nothing, and what was
 * accepted has run.
 * ctest: matrix with=calls idle=park threads=1 overflow=refuse */
enum { REFUSE_QLEN = 50 };

static long depth, deepest, refused, refuse_ran, accepted;

static void refuse_deeper(void *closure, struct scheduler *s)
{
    refuse_ran++;
    if (++depth > deepest)
        deepest = depth;
    for (int i = 0; i < 2 && accepted < 1000; i++) {
        errno = 0;
        if (sched_spawn(refuse_deeper, NULL, s) == 0) {
            accepted++;
        } else {
            CHECK_EQ(errno, EAGAIN);
            refused++;
        }
    }
    depth--;
}

CASE(cont_refuse)
{
    CHECK_EQ(sched_init(1, REFUSE_QLEN, refuse_deeper, NULL), 0);
    CHECK_EQ(deepest, REFUSE_QLEN + 1);
    CHECK(refused > 0);
    CHECK_EQ(refuse_ran, accepted + 1);
}

/* cont_refused: Kind cont: a spawn that is refused leaves the stack for the child to the next: a
 * thousand take no more stacks than one.
 * ctest: matrix with=calls idle=park threads=1 overflow=refuse */
enum { REFUSED_N = 1000, REFUSED_QLEN = 4, REFUSED_DEPTH = 3, REFUSED_MOST_KB = 64 << 10 };

COUNTING_TASK(refused_leaf, shared_ran)

/* Spawns this deep, and then more than the queue has room for. */
static void refused_deeper(void *closure, struct scheduler *s)
{
    long left = (long)closure;
    if (left > 1) {
        CHECK_EQ(sched_spawn(refused_deeper, (void *)(left - 1), s), 0);
    } else {
        long before = status_kb("VmSize"), more;
        for (int i = 0; i < REFUSED_N; i++)
            CHECK_ERRNO(sched_spawn(refused_leaf, NULL, s), EAGAIN);
        more = status_kb("VmSize") - before;
        if (more >= REFUSED_MOST_KB)
            CHECK_EQ(more, REFUSED_MOST_KB);
    }
    shared_ran++;
}

static void refused_root(void *closure, struct scheduler *s)
{
    CHECK_TIMES(REFUSED_DEPTH, sched_spawn(refused_deeper, (void *)(long)REFUSED_QLEN, s));
}

CASE(cont_refused)
{
    CHECK_EQ(sched_init(1, REFUSED_QLEN, refused_root, NULL), 0);
    CHECK_EQ(shared_ran, REFUSED_DEPTH * REFUSED_QLEN);
}

/* cont_round: Kind cont: a child begins with its spawner's rounding mode, as if it were called, or
 * with the run's. The child keeps the mode with which it began. The spawner, which continues after
 * the child or on another worker, keeps its own mode. Where the two part, whatever runs next in the
 * child's place has the run's mode.
 * ctest: debug libs=m
 * ctest: matrix with=calls threads=1,4 */
enum { ROUND_ROUNDS = 200, PARTINGS = 100, STRANGERS = 10, CHILDREN = 1000 };
static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST};

/* In turn a child waits, and the next lets it go on: before its spawner. */
static void round_child(void *closure, struct scheduler *s)
{
    long round = (long)closure;
    int mode = mode_now();
    CHECK(mode == modes[round % 4] || mode == FE_TONEAREST);
    if (round % 2 == 0)
        CHECK_EQ(sched_sem_wait(&free_units, s), 0);
    else
        CHECK_EQ(sched_sem_post(&free_units), 0);
    CHECK_EQ(mode_now(), mode);
}

static void round_root(void *closure, struct scheduler *s)
{
    for (long round = 0; round < ROUND_ROUNDS; round++) {
        int mode = modes[round % 4];
        CHECK_EQ(fesetround(mode), 0);
        CHECK_EQ(sched_spawn(round_child, (void *)round, s), 0);
        CHECK_EQ(mode_now(), mode);
    }
    CHECK_EQ(fesetround(FE_TONEAREST), 0);
}

/* Lasts until its spawner has continued beside it. */
static void last_longer(void *closure, struct scheduler *s)
{
    int mode = mode_now();
    CHECK(mode == FE_UPWARD || mode == FE_TONEAREST);
    while (!atomic_load((atomic_int *)closure))
        sched_task_yield(s);
    CHECK_EQ(mode_now(), mode);
}

static void part(void *closure, struct scheduler *s)
{
    CHECK_EQ(mode_now(), FE_TONEAREST);
    CHECK_EQ(fesetround(FE_UPWARD), 0);
    CHECK_EQ(sched_spawn(last_longer, closure, s), 0);
    CHECK_EQ(mode_now(), FE_UPWARD);
    CHECK_EQ(fesetround(FE_TONEAREST), 0);
    atomic_store((atomic_int *)closure, 1);
}

static void partings(void *closure, struct scheduler *s)
{
    atomic_int *parted = closure;
    for (int i = 0; i < PARTINGS; i++)
        CHECK_EQ(sched_spawn(part, &parted[i], s), 0);
}

static void is_nearest(void *closure, struct scheduler *s)
{
    CHECK_EQ(mode_now(), FE_TONEAREST);
    atomic_fetch_add((atomic_int *)closure, 1);
}

static atomic_int strangers;

static void *spawn_strangers(void *s)
{
    CHECK_TIMES(STRANGERS, sched_spawn(is_nearest, &strangers, s));
    return NULL;
}

/* Tasks from outside come before a child, which is put off, from time to time. */
static void put_off(void *closure, struct scheduler *s)
{
    run_thread(spawn_strangers, s);
    CHECK_EQ(fesetround(FE_UPWARD), 0);
    CHECK_TIMES(CHILDREN, sched_spawn(nothing, NULL, s));
    CHECK_EQ(mode_now(), FE_UPWARD);
    CHECK_EQ(fesetround(FE_TONEAREST), 0);
}

CASE(cont_round)
{
    CHECK_EQ(sched_sem_init(&free_units, 0), 0);
    CHECK_EQ(sched_init(1, 4, round_root, NULL), 0);
    atomic_int parted[PARTINGS] = {0};
    CHECK_EQ(sched_init(0, 4, partings, parted), 0);
    CHECK_EQ(sched_init(0, 4, put_off, NULL), 0);
    CHECK_EQ(strangers, STRANGERS);
}

/* cont_trim: Kind cont: a deep recursion has a stack for each level, and they are kept for the next
 * one; but not by a pool whose tasks have all ended, and not by a run that has ended.
 * ctest: matrix with=calls idle=park threads=1,4 env=SCHED_STACK=64K */
/* The least address space of a stack, in KB. The library keeps some hundred stacks. */
enum { TRIM_DEPTH = 3000, STACK_KB = 64 };

static long before, at_most;

static void trim_deeper(void *closure, struct scheduler *s)
{
    long left = (long)closure;
    if (left == 0) {
        at_most = status_kb("VmSize");
        return;
    }
    sched_task t;
    sched_fork(&t, trim_deeper, (void *)(left - 1), s);
    sched_join(&t, s);
}

static void returned(const char *when)
{
    CHECK(at_most - before > TRIM_DEPTH * STACK_KB);
    for (int i = 0; status_kb("VmSize") - before > (at_most - before) / 2; i++) {
        if (i == 2000) {
            fprintf(stderr, "%s: %ld KB more than before; within the recursion %ld\n", when,
                    status_kb("VmSize") - before, at_most - before);
            CHECK(!"the stacks are unmapped");
        }
        usleep(10000);
    }
}

CASE(cont_trim)
{
    one_heap();
    before = status_kb("VmSize");
    struct sched_pool *pool = pool_of(0);
    for (int round = 0; round < 3; round++) {
        CHECK_EQ(sched_pool_submit(pool, trim_deeper, (void *)(long)TRIM_DEPTH), 0);
        CHECK_EQ(sched_pool_wait(pool), 0);
        returned("a pool without tasks");
    }
    CHECK_EQ(sched_pool_destroy(pool), 0);
    CHECK_EQ(sched_init(0, 0, trim_deeper, (void *)(long)TRIM_DEPTH), 0);
    returned("after a run");
}
