/* wakes: wake-ups, and sleeps. */
#include "case.h"
#include "few_wakes.h"
#include "fenced.h"
#include "where.h"
#include "cpu.h"
#include "child.h"
#include "marks.h"
#include <stdatomic.h>
#include <sched_tasks.h>
#include <sys/mman.h>

/* wake: A spawn wakes a sleeping worker: a task waits, on its worker, for a child that another
 * worker must run, over and over, the others asleep or about to be.
 * ctest: matrix refuse with=threads threads=2,4,16 */
enum { WAKE_ROUNDS = 40 };

static atomic_int ran;

COUNTING_TASK(wake_child, ran)

static void wake_root(void *closure, struct scheduler *s)
{
    unsigned turns = 0;
    for (int round = 1; round <= WAKE_ROUNDS; round++) {
        CHECK_EQ(sched_spawn(wake_child, NULL, s), 0);
        while (ran < round)
            spin(&turns);
        pause_us(round % 4 == 0 ? 1500 : 3 * round);
    }
}

CASE(wake)
{
    CHECK_EQ(sched_init(4, 4, wake_root, NULL), 0);
    CHECK_EQ(ran, WAKE_ROUNDS);
}

/* few_wakes: A chain of short tasks, on more workers than processors, wakes few of those that sleep
 * beside it, though there is a new task each time: far fewer wake-ups than tasks.
 * ctest: matrix kind=steal idle=park threads=8 */
/* At most some 130 wake-ups a run were seen; 9000 before searchers learned patience, though only hundreds where other
 * programs had the processors. */
enum { FEW_WAKES_TASKS = 20000, FEW_WAKES_WAKES = FEW_WAKES_TASKS / 40 };

static void chain(void *closure, struct scheduler *s)
{
    long left = (long)closure;
    for (double end = now() + 2e-6; now() < end;)
        ;
    if (left > 1)
        CHECK_EQ(sched_spawn(chain, (void *)(left - 1), s), 0);
}

CASE(few_wakes)
{
    long wakes = least_wakes(chain, (void *)(long)FEW_WAKES_TASKS, FEW_WAKES_TASKS);
    if (wakes >= FEW_WAKES_WAKES)
        CHECK_EQ(wakes, FEW_WAKES_WAKES);
}

/* few_wakes_shared: One task that spawns short ones, under one queue for all and with more workers
 * than processors, wakes few of those that sleep, though the queue runs empty again and again.
 * ctest: matrix with=threads without=deques idle=park threads=8 */
/* 1 wake-up for 7 to 20 tasks was seen before pushes relied on a worker that was woken. Now at most 1 for 120 with the
 * lock `sem`, for 700 with the others. */
enum { FEW_WAKES_SHARED_TASKS = 100000, FEW_WAKES_SHARED_WAKES = FEW_WAKES_SHARED_TASKS / 50 };

static void spawner(void *closure, struct scheduler *s)
{
    for (int i = 1; i < FEW_WAKES_SHARED_TASKS; i++)
        CHECK_EQ(sched_spawn(nothing, NULL, s), 0);
}

CASE(few_wakes_shared)
{
    long wakes = least_wakes(spawner, NULL, FEW_WAKES_SHARED_TASKS);
    if (wakes >= FEW_WAKES_SHARED_WAKES)
        CHECK_EQ(wakes, FEW_WAKES_SHARED_WAKES);
}

/* late: A worker spawns tasks and then computes without touching the scheduler until all have run:
 * the others reach every one of them, a thousand or a single one, also where membarrier is denied.
 * ctest: matrix kind=steal threads=2,4
 * ctest: matrix with=threads without=deques threads=2
 * ctest: matrix kind=steal deque=split,chaselev threads=2 args=fenced */
static void late_leaf(void *closure, struct scheduler *s)
{
    CHECK(thread_id() != *(int *)closure);
    atomic_fetch_add(&ran, 1);
}

static void late_root(void *closure, struct scheduler *s)
{
    static const int batches[] = {1, 1000, 2, 1, 3, 1000, 17, 1};
    int me = thread_id();
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        int wanted = ran + batches[i];
        CHECK_TIMES(batches[i], sched_spawn(late_leaf, &me, s));
        /* No system call here, as in a loop that computes: the kernel shares the processors. */
        for (struct patience p = patience_of(20); atomic_load_explicit(&ran, memory_order_relaxed) < wanted;)
            if (!is_patient(&p)) {
                char text[80];
                snprintf(text, sizeof text, "%d of %d tasks were not reached\n", wanted - ran, batches[i]);
                check_say(text);
                _exit(1);
            }
        if (i % 2) /* the others go to sleep meanwhile */
            pause_us(5000);
    }
}

static void run(void)
{
    CHECK_EQ(sched_init(2, 4, late_root, NULL), 0);
    CHECK_EQ(ran, 2025);
}

CASE(late)
{
    run_or_run_fenced(run, argc);
}

/* late_elsewhere: The same test for a worker that did not start the run: it gets a task, spawns
 * more, and computes until others have run them, while the first worker sleeps, or computes as
 * well.
 * ctest: matrix with=threads idle=park,nap threads=4
 * ctest: matrix with=deques deque=split idle=backoff,spin threads=4 */
enum { LATE_ELSEWHERE_TASKS = 1000 };

COUNTING_TASK(late_elsewhere_leaf, ran)

static void compute(struct scheduler *s)
{
    int wanted = ran + LATE_ELSEWHERE_TASKS;
    CHECK_TIMES(LATE_ELSEWHERE_TASKS, sched_spawn(late_elsewhere_leaf, NULL, s));
    for (struct patience p = patience_of(20); atomic_load_explicit(&ran, memory_order_relaxed) < wanted;)
        CHECK(is_patient(&p));
}

static int calls;

/* Several tasks may look for the right place; the deed is done once. */
static void once(struct scheduler *s)
{
    if (!__atomic_exchange_n(&calls, 1, __ATOMIC_SEQ_CST))
        compute(s);
}

CASE(late_elsewhere)
{
    for (int run = 1; run <= 5; run++) {
        volatile int done = 0;
        struct deed deed = {once, 0, &done};
        calls = 0;
        CHECK_EQ(sched_init(4, 4, seek_place, &deed), 0);
        CHECK_EQ(ran, run * LATE_ELSEWHERE_TASKS);
    }
}

/* idle_cpu: Idle workers that park cost next to nothing: when each has had a task, and then the
 * only one left sleeps for two seconds, the process uses less than 0.5 % of a processor.
 * ctest: sleeps
 * ctest: matrix with=deques deque=split,chaselev,mutex idle=park threads=8
 * ctest: matrix with=deques deque=split idle=park threads=2,64
 * ctest: matrix with=threads without=deques deque=mutex idle=park threads=8 */
static atomic_int idle_cpu_arrived;
static int workers;

/* Ends when every worker has one: a thread is only made when there is a task for it. */
static void idle_cpu_guest(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&idle_cpu_arrived, 1);
    while (idle_cpu_arrived < workers)
        pause_us(200);
}

static void idle_cpu_root(void *closure, struct scheduler *s)
{
    for (int i = 1; i < workers; i++)
        CHECK_EQ(sched_spawn(idle_cpu_guest, NULL, s), 0);
    idle_cpu_guest(closure, s);
    pause_us(100000); /* they look around and go to sleep */
    check_idle();
}

CASE(idle_cpu)
{
    workers = threads_of(4);
    CHECK_EQ(sched_init(4, 4, idle_cpu_root, NULL), 0);
}

/* spread: The workers run tasks at the same time: four tasks, each of which waits for the others.
 * ctest: matrix refuse with=threads threads=4,16 */
enum { SPREAD_ROUNDS = 10, PARTY = 4 };

static atomic_int spread_arrived[SPREAD_ROUNDS];

static void spread_guest(void *closure, struct scheduler *s)
{
    long round = (long)closure;
    unsigned turns = 0;
    atomic_fetch_add(&spread_arrived[round], 1);
    while (spread_arrived[round] < PARTY)
        spin(&turns);
}

static void spread_root(void *closure, struct scheduler *s)
{
    for (long round = 0; round < SPREAD_ROUNDS; round++) {
        for (int i = 1; i < PARTY; i++)
            CHECK_EQ(sched_spawn(spread_guest, (void *)round, s), 0);
        spread_guest((void *)round, s);
    }
}

CASE(spread)
{
    CHECK_EQ(sched_init(4, 4, spread_root, NULL), 0);
    for (int round = 0; round < SPREAD_ROUNDS; round++)
        CHECK_EQ(spread_arrived[round], PARTY);
}

/* starve: Two workers, and one computes without an end until a task it spawned has run: the other
 * must run it. No task may stay unreachable while a worker is idle.
 * ctest: matrix with=threads threads=2 */
enum { STARVE_ROUNDS = 20 };

COUNTING_TASK(helper, ran)

static void starve_root(void *closure, struct scheduler *s)
{
    for (int round = 1; round <= STARVE_ROUNDS; round++) {
        CHECK_EQ(sched_spawn(helper, NULL, s), 0);
        while (atomic_load_explicit(&ran, memory_order_relaxed) < round)
            ;
        if (round % 5 == 0)
            pause_us(2000);
    }
}

CASE(starve)
{
    CHECK_EQ(sched_init(2, 4, starve_root, NULL), 0);
    CHECK_EQ(ran, STARVE_ROUNDS);
}

/* stopped: SIGSTOP in the middle of everything, and SIGCONT a second later, several times: nothing
 * is lost, and the process ends.
 * ctest: sleeps
 * ctest: matrix kind=steal,fifo,cont deque=split,mutex idle=park,nap threads=4 timeout=120 */
enum { N = 2000, ROUNDS_SEEN = 3, STOPS = 3 };

static int *rounds; /* shared with the child */
static sched_mutex mutex = SCHED_MUTEX_INIT;
static long in_mutex;

/* A tree of tasks that wait, sleep, lock and yield. */
static void task(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    sched_group children = SCHED_GROUP_INIT;
    for (long child = 3 * i + 1; child <= 3 * i + 3 && child < N; child++)
        CHECK_EQ(sched_group_spawn(&children, task, (void *)child, s), 0);
    if (i % 64 == 0 && sched_block_begin(s) == 0) {
        pause_us(200);
        CHECK_EQ(sched_block_end(s), 0);
    }
    CHECK_EQ(sched_mutex_lock(&mutex, s), 0);
    in_mutex++;
    CHECK_EQ(sched_mutex_unlock(&mutex), 0);
    sched_task_yield(s);
    CHECK_EQ(sched_group_wait(&children, s), 0);
    mark(i);
}

/* Runs until the parent, which ends it by SIGTERM, has seen enough. */
static void run_for_ever(void)
{
    for (;;) {
        in_mutex = 0;
        CHECK_EQ(sched_init(4, 16, task, (void *)0), 0);
        CHECK_EQ(in_mutex, N);
        check_marks(N);
        __atomic_add_fetch(rounds, 1, __ATOMIC_SEQ_CST);
    }
}

static void wait_for_rounds(pid_t pid, int more)
{
    int wanted = __atomic_load_n(rounds, __ATOMIC_SEQ_CST) + more, status;
    for (struct patience p = patience_of(60); __atomic_load_n(rounds, __ATOMIC_SEQ_CST) < wanted; pause_us(1000)) {
        CHECK(is_patient(&p));
        CHECK_EQ(waitpid(pid, &status, WNOHANG), 0);
    }
}

CASE(stopped)
{
    int status;
    rounds = mmap(NULL, sizeof *rounds, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(rounds != MAP_FAILED);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0)
        run_for_ever();
    wait_for_rounds(pid, 1);
    for (int stop = 0; stop < STOPS; stop++) {
        CHECK_EQ(kill(pid, SIGSTOP), 0);
        CHECK_EQ(waitpid(pid, &status, WUNTRACED), pid);
        CHECK(WIFSTOPPED(status));
        int seen = *rounds;
        pause_us(stop == 0 ? 1100000 : 300000);
        CHECK_EQ(*rounds, seen);
        CHECK_EQ(kill(pid, SIGCONT), 0);
        wait_for_rounds(pid, ROUNDS_SEEN);
    }
    CHECK_EQ(kill(pid, SIGTERM), 0);
    status = wait_for(pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}
