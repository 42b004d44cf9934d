/* kept: threads that wait for the next run, SCHED_WARM. */
#include "case.h"
#include "warm.h"
#include "child.h"
#include "proc.h"
#include "modes.h"
#include <stdatomic.h>
#include <sys/prctl.h>

/* warm: The threads of a run are kept and are the threads of the next ones: over 1,000 runs no
 * other thread ever works, and there are never more.
 * ctest: static
 * ctest: matrix idle=park threads=4 env=SCHED_WARM=1min
 * ctest: matrix kind=lifo,steal deque=mutex,split idle=nap,spin threads=4 env=SCHED_WARM=1min */
enum { WARM_RUNS = 1000 / SMALLER };

CASE(warm)
{
    setenv("SCHED_WARM", "1min", 1);
    struct party first = {.guests = threads_of(4)};
    give_party(&first);
    CHECK_EQ(thread_count(), first.guests);
    for (int i = 0; i < first.guests; i++)
        CHECK_EQ(party_had(&first, first.thread[i]), 1);
    for (int run = 0; run < WARM_RUNS; run++) {
        struct party party = {.guests = first.guests - (first.guests > 2) * run % 3};
        give_party(&party);
        for (int i = 0; i < party.guests; i++) {
            CHECK_EQ(party_had(&party, party.thread[i]), 1);
            CHECK_EQ(party_had(&first, party.thread[i]), 1);
        }
        CHECK_EQ(thread_count(), first.guests);
    }
}

/* warm_fork: A child made by fork beside resting threads has none of them; its runs make their own,
 * and it ends by exit like any process. The parent's continue resting.
 * ctest: static
 * ctest: matrix idle=park deque=mutex,split threads=1,4 */
static void end_child(void)
{
    check_say("<handler>");
}

static void in_forked(int depth);

static void fork_child(int depth)
{
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(20);
        in_forked(depth);
        exit(7);
    }
    int status = wait_for(pid);
    CHECK(!WIFSIGNALED(status)); /* SIGALRM: it hung */
    CHECK_EQ(status, 7 << 8);
}

static void in_forked(int depth)
{
    struct party party = {.guests = threads_of(4)};
    CHECK_EQ(thread_count(), 1);
    if (depth % 2) { /* uses the library, or does not */
        for (int run = 0; run < 3; run++) {
            give_party(&party);
            CHECK_EQ(thread_count(), party.guests);
        }
    }
    if (depth > 0)
        fork_child(depth - 1);
}

static void fork_body(void *arg)
{
    struct party first = {.guests = threads_of(4)}, second = first;
    atexit(end_child);
    setenv("SCHED_WARM", "1min", 1);
    give_party(&first);
    for (int depth = 0; depth < 4; depth++) {
        fork_child(depth);
        CHECK_EQ(thread_count(), first.guests);
    }
    give_party(&second);
    for (int i = 0; i < second.guests; i++)
        CHECK_EQ(party_had(&first, second.thread[i]), 1);
}

CASE(warm_fork)
{
    CHECK_IN_CHILD(fork_body, NULL);
    CHECK_CHILD_SAID("<handler>");
}

/* warm_race: Threads whose time is up at the very moment a run wants them, or a fork or the
 * process's end comes: every run is complete, every child works and ends, and in the end no thread
 * is left.
 * ctest: static
 * ctest: matrix kind=lifo,steal,cont idle=park deque=mutex,split threads=2,4 timeout=60 */
enum { RACE_CALLERS = 2, RACE_RUNS = 300, FORKS = 15, TASKS = 6 };

static atomic_int left;

static void leaf(void *closure, struct scheduler *s)
{
    atomic_fetch_add((atomic_int *)closure, 1);
}

static void root(void *closure, struct scheduler *s)
{
    CHECK_TIMES(TASKS, sched_spawn(leaf, closure, s));
}

static void run(void)
{
    atomic_int ran = 0;
    CHECK_EQ(sched_init(4, 4, root, &ran), 0);
    CHECK_EQ(ran, TASKS);
}

static void *race_caller(void *arg)
{
    uint64_t x = 88172645463325252u + (uintptr_t)arg;
    for (int i = 0; i < RACE_RUNS; i++) {
        run();
        /* About as long as the threads are kept. */
        double end = now() + 1e-6 * (double)(next_random(&x) % 300);
        while (i % 4 && now() < end)
            sched_yield();
    }
    atomic_fetch_sub(&left, 1);
    return NULL;
}

static void fork_one(void)
{
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(20);
        run();
        run();
        exit(7);
    }
    int status = wait_for(pid);
    CHECK(!WIFSIGNALED(status)); /* SIGALRM: it hung */
    CHECK_EQ(status, 7 << 8);
}

static void race_body(void *ends_early)
{
    pthread_t threads[RACE_CALLERS];
    atomic_store(&left, RACE_CALLERS);
    for (long i = 0; i < RACE_CALLERS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, race_caller, (void *)i), 0);
    if (ends_early) {
        pause_us(3000 + 100 * (long)ends_early);
        exit(8); /* while runs begin and end */
    }
    for (int i = 0; i < FORKS && left > 0; i++)
        fork_one();
    for (int i = 0; i < RACE_CALLERS; i++)
        pthread_join(threads[i], NULL);
    CHECK(threads_become(1));
}

CASE(warm_race)
{
    setenv("SCHED_WARM", "150us", 1);
    CHECK_IN_CHILD(race_body, NULL);
    for (long i = 1; i <= 8; i++) {
        in_child(race_body, (void *)i);
        CHECK_CHILD_EXITED(8);
    }
}

/* warm_taken: Runs at the same time, of several threads or one inside another, never share a
 * thread: each takes resting ones that are free, and makes the others.
 * ctest: matrix idle=park deque=mutex,split threads=4
 * ctest: matrix kind=steal deque=split idle=spin threads=4 */
enum { TAKEN_CALLERS = 3, TAKEN_RUNS = 50 };

static struct party parties[TAKEN_CALLERS];
static pthread_barrier_t barrier;

static void meet(struct party *party, int i)
{
    if (i == 0)
        pthread_barrier_wait(&barrier); /* one of each run, and nobody leaves before: all are full */
}

static void *taken_caller(void *arg)
{
    struct party *party = arg;
    for (int run = 0; run < TAKEN_RUNS; run++) {
        give_party(party);
        pthread_barrier_wait(&barrier);
        if (party == parties)
            for (int a = 0; a < TAKEN_CALLERS; a++)
                for (int i = 0; i < parties[a].guests; i++)
                    for (int b = 0; b < TAKEN_CALLERS; b++)
                        CHECK_EQ(party_had(&parties[b], parties[a].thread[i]), a == b);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

/* In a task of the outer run, while all its workers are busy. */
static void inner(struct party *party, int i)
{
    if (i != 0)
        return;
    struct party nested = {.guests = party->guests};
    give_party(&nested);
    for (int k = 0; k < nested.guests; k++)
        CHECK_EQ(party_had(party, nested.thread[k]), nested.thread[k] == thread_id());
}

CASE(warm_taken)
{
    pthread_t threads[TAKEN_CALLERS];
    CHECK_EQ(pthread_barrier_init(&barrier, NULL, TAKEN_CALLERS), 0);
    for (int i = 0; i < TAKEN_CALLERS; i++) {
        parties[i].guests = threads_of(4);
        parties[i].look = meet;
    }
    for (int i = 1; i < TAKEN_CALLERS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, taken_caller, &parties[i]), 0);
    taken_caller(&parties[0]);
    for (int i = 1; i < TAKEN_CALLERS; i++)
        pthread_join(threads[i], NULL);

    struct party outer = {.guests = threads_of(4), .look = inner};
    for (int run = 0; run < TAKEN_RUNS; run++)
        give_party(&outer);
    CHECK(threads_become(1));
}

/* warm_takes_over: A thread that is kept is to the next run like a new one: it has the affinity and
 * the rounding mode that the caller has then, its own signal mask and name, whatever tasks have
 * changed.
 * ctest: static libs=m
 * ctest: matrix idle=park deque=mutex,split,chaselev threads=4 env=SCHED_WARM=1min
 * ctest: matrix kind=steal deque=split idle=nap,backoff,spin threads=16 env=SCHED_WARM=1min */
static cpu_set_t wanted;
static int rounding, pid;
static int seen[MOST_WORKERS];

/* One name per worker, and each thread's mask blocks what it should. */
static void name_is_right(int guests)
{
    char name[32] = "";
    int worker = 0, end = 0;
    CHECK_EQ(prctl(PR_GET_NAME, name), 0);
    if (thread_id() == pid) {
        CHECK(strcmp(name, "the caller") == 0);
        return;
    }
    if (sscanf(name, "sched/%d%n", &worker, &end) != 1 || name[end]) {
        check_say(name);
        check_failed(__FILE__, __LINE__, "the name is sched/N");
    }
    CHECK(worker > 0 && worker < guests);
    CHECK_EQ(__atomic_fetch_add(&seen[worker], 1, __ATOMIC_SEQ_CST), 0);
}

static void look(struct party *party, int i)
{
    cpu_set_t mask;
    sigset_t signals;
    CHECK_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
    CHECK(CPU_EQUAL(&mask, &wanted));
    CHECK_EQ(mode_now(), rounding);
    name_is_right(party->guests);
    if (thread_id() == pid)
        return;
    CHECK_EQ(pthread_sigmask(SIG_BLOCK, NULL, &signals), 0);
    CHECK(sigismember(&signals, SIGUSR1));
    CHECK(!sigismember(&signals, SIGPROF));

    /* The next run does not see these changes. */
    sigemptyset(&signals);
    sigaddset(&signals, SIGPROF);
    CHECK_EQ(pthread_sigmask(SIG_SETMASK, &signals, NULL), 0);
    fesetround(FE_TOWARDZERO);
    for (int cpu = 0, kept = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &mask) && kept++)
            CPU_CLR(cpu, &mask);
    CHECK_EQ(sched_setaffinity(0, sizeof mask, &mask), 0);
    CHECK_EQ(prctl(PR_SET_NAME, "renamed"), 0);
}

CASE(warm_takes_over)
{
    static const int roundings[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD};
    cpu_set_t all;
    int most = threads_of(4);

    pid = (int)getpid();
    setenv("SCHED_WARM", "1min", 1);
    CHECK_EQ(prctl(PR_SET_NAME, "the caller"), 0);
    CHECK_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    int cpu = 0;
    for (int run = 0; run < 40; run++) {
        /* In turn: all processors, then each alone. */
        wanted = all;
        if (run % 4) {
            do
                cpu = (cpu + 1) % CPU_SETSIZE;
            while (!CPU_ISSET(cpu, &all));
            CPU_ZERO(&wanted);
            CPU_SET(cpu, &wanted);
        }
        CHECK_EQ(sched_setaffinity(0, sizeof wanted, &wanted), 0);
        rounding = roundings[run % 3];
        fesetround(rounding);
        memset(seen, 0, sizeof seen);
        struct party party = {.guests = most - (most > 3 && run % 5 == 0), .look = look};
        /* SCHED_THREADS says how many there are, if it is set. */
        if (getenv("SCHED_THREADS"))
            party.guests = most;
        give_party(&party);
        CHECK_EQ(mode_now(), rounding);
        for (int worker = 1; worker < party.guests; worker++)
            CHECK_EQ(seen[worker], 1);
    }
}

/* warm_time: SCHED_WARM says how long threads are kept: they end when it is over, without a further
 * call; with 0 they have ended, their thread-local data destroyed, when sched_init returns; a run
 * that keeps no threads takes none from the cache, and leaves the resting ones alone.
 * ctest: static
 * ctest: matrix idle=park deque=mutex,split threads=4 */
static pthread_key_t key;
static atomic_int destroyed;

static void destroy(void *value)
{
    atomic_fetch_add(&destroyed, 1);
}

static void set_key(struct party *party, int i)
{
    CHECK_EQ(pthread_setspecific(key, party), 0);
}

static void none(void *arg)
{
    setenv("SCHED_WARM", "0", 1);
    CHECK_EQ(pthread_key_create(&key, destroy), 0);
    struct party party = {.guests = threads_of(4), .look = set_key};
    for (int run = 1; run <= 20; run++) {
        give_party(&party);
        CHECK_EQ(destroyed, run * (party.guests - 1)); /* the caller lives on */
    }
    CHECK(threads_become(1));
}

static void some(void *time)
{
    struct party party = {.guests = threads_of(4)};
    if (time)
        setenv("SCHED_WARM", time, 1);
    give_party(&party);
    CHECK(threads_become(1));
    give_party(&party); /* again, on new ones */
    CHECK(threads_become(1));
}

/* Runs beside threads that rest for a minute. */
static void none_beside(void *arg)
{
    struct party first = {.guests = threads_of(4)}, second = first;
    setenv("SCHED_WARM", "1min", 1);
    give_party(&first);
    setenv("SCHED_WARM", "0", 1);
    give_party(&second);
    for (int i = 0; i < second.guests; i++)
        CHECK(second.thread[i] == (int)getpid() || !party_had(&first, second.thread[i]));
    CHECK(threads_become(first.guests));
    setenv("SCHED_WARM", "100ms", 1);
    give_party(&second); /* takes these threads, and keeps them for a shorter time */
    for (int i = 0; i < second.guests; i++)
        CHECK_EQ(party_had(&first, second.thread[i]), 1);
    CHECK(threads_become(1));
}

CASE(warm_time)
{
    static const char *const times[] = {NULL, "", "100ms", "500us", "1us", "0ms", "0min"};
    CHECK_IN_CHILD(none, NULL);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        CHECK_IN_CHILD(some, (void *)(uintptr_t)times[i]);
    CHECK_IN_CHILD(none_beside, NULL);
}
