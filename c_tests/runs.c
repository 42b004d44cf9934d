/* runs: sched_init and a task's view of its run. */
#include "case.h"
#include "marks.h"
#include "proc.h"
#include "pool.h"
#include "modes.h"
#include <sys/time.h>
#include <stdatomic.h>
#include <sched_tasks.h>
#include <setjmp.h>
#include <execinfo.h>

/* again: Runs may follow one another at once, each complete when it returns.
 * ctest: matrix */
enum { AGAIN_RUNS = 25, AGAIN_N = 60 };

MARKING_TREE(again_task, 2, AGAIN_N)

CASE(again)
{
    for (int run = 0; run < AGAIN_RUNS; run++) {
        CHECK_EQ(sched_init(run % 5, run, again_task, (void *)0), 0);
        check_marks(AGAIN_N);
    }
}

/* alarm: A storm of SIGALRM, whose handler interrupts system calls (EINTR), disturbs nothing.
 * ctest: matrix threads=1,4 */
enum { N = 400 };

static atomic_int alarms;

static void on_alarm(int sig)
{
    atomic_fetch_add(&alarms, 1);
}

static void alarm_task(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    mark(i);
    for (long child = 3 * i + 1; child <= 3 * i + 3 && child < N; child++)
        CHECK_EQ(sched_spawn(alarm_task, (void *)child, s), 0);
    if (i % 16 == 0) /* let the others run out of work and sleep */
        for (double end = now() + 0.0005; now() < end;)
            ;
}

CASE(alarm)
{
    struct sigaction action = {.sa_handler = on_alarm}; /* no SA_RESTART */
    struct itimerval every = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};

    CHECK_EQ(sigaction(SIGALRM, &action, NULL), 0);
    CHECK_EQ(setitimer(ITIMER_REAL, &every, NULL), 0);
    CHECK_EQ(sched_init(4, 4, alarm_task, (void *)0), 0);
    check_marks(N);
    CHECK_EQ(sched_init(4, 4, alarm_task, (void *)0), 0);
    CHECK_EQ(setitimer(ITIMER_REAL, &never, NULL), 0);
    check_marks(N);
    CHECK(alarms > 0);
}

/* concurrent: sched_init from several threads at once: independent runs.
 * ctest: matrix */
enum { CALLERS = 3, CONCURRENT_RUNS = 3, CONCURRENT_N = 100 };

static void concurrent_task(void *closure, struct scheduler *s)
{
    long i = (long)closure, base = i - i % CONCURRENT_N, at = i % CONCURRENT_N;
    mark(i);
    for (long child = 3 * at + 1; child <= 3 * at + 3 && child < CONCURRENT_N; child++)
        CHECK_EQ(sched_spawn(concurrent_task, (void *)(base + child), s), 0);
}

static void *caller(void *arg)
{
    for (long run = 0; run < CONCURRENT_RUNS; run++) {
        long base = ((long)arg * CONCURRENT_RUNS + run) * CONCURRENT_N;
        CHECK_EQ(sched_init(3, 10, concurrent_task, (void *)base), 0);
        for (long i = 0; i < CONCURRENT_N; i++)
            CHECK_EQ(marks[base + i], 1);
    }
    return NULL;
}

CASE(concurrent)
{
    pthread_t threads[CALLERS];
    for (long i = 0; i < CALLERS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, caller, (void *)i), 0);
    for (int i = 0; i < CALLERS; i++)
        pthread_join(threads[i], NULL);
    check_marks(CALLERS * CONCURRENT_RUNS * CONCURRENT_N);
}

/* closures: Closures may be NULL or integers: the library hands them on and never looks inside.
 * ctest: matrix few idle=park threads=1,4 */
static void *const closures[] = {
    NULL, (void *)1, (void *)-1, (void *)42, (void *)INTPTR_MAX, (void *)INTPTR_MIN, (void *)7, (void *)2,
};
enum { KINDS = sizeof closures / sizeof *closures, EACH = 50 };

static atomic_int got[KINDS], roots;

static void closures_leaf(void *closure, struct scheduler *s)
{
    CHECK(s != NULL);
    for (int i = 0; i < KINDS; i++)
        if (closures[i] == closure) {
            atomic_fetch_add(&got[i], 1);
            return;
        }
    CHECK(!"a closure that was never given");
}

static void closures_root(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&roots, 1);
    CHECK(closure == (roots == 1 ? NULL : (void *)-5));
    for (int i = 0; i < KINDS * EACH; i++)
        CHECK_EQ(sched_spawn(closures_leaf, closures[i % KINDS], s), 0);
}

CASE(closures)
{
    CHECK_EQ(sched_init(2, 0, closures_root, NULL), 0);
    CHECK_EQ(sched_init(2, 0, closures_root, (void *)-5), 0);
    CHECK_EQ(roots, 2);
    for (int i = 0; i < KINDS; i++)
        CHECK_EQ(got[i], 2 * EACH);
}

/* tree: A binary tree of tasks: the count is exact, in the program and in the statistics.
 * ctest: matrix stats=4095
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace stats=4095 */
static atomic_long tree_ran;

static void node(void *closure, struct scheduler *s)
{
    long depth = (long)closure;
    atomic_fetch_add(&tree_ran, 1);
    if (depth == 0)
        return;
    CHECK_EQ(sched_spawn(node, (void *)(depth - 1), s), 0);
    CHECK_EQ(sched_spawn(node, (void *)(depth - 1), s), 0);
}

CASE(tree)
{
    CHECK_EQ(sched_init(4, 64, node, (void *)11), 0);
    CHECK_EQ(tree_ran, 4095);
}

/* handed: A task may hand its s to another task through a global, and that one may spawn with it
 * from another worker; stale copies from other workers stay good while the run lasts.
 * ctest: matrix */
static struct scheduler *_Atomic handed;

static void handed_leaf(void *closure, struct scheduler *s)
{
    mark((long)closure);
    /* From now on others spawn with this worker's pointer. */
    handed = s;
}

static void user(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    mark(i);
    CHECK_EQ(sched_spawn(handed_leaf, (void *)(i + N), handed), 0);
    if (i % 2 == 0)
        CHECK_EQ(sched_spawn(handed_leaf, (void *)(i + 2 * N), handed), 0);
}

static void handed_root(void *closure, struct scheduler *s)
{
    handed = s;
    for (long i = 0; i < N; i++)
        CHECK_EQ(sched_spawn(user, (void *)i, handed), 0);
}

CASE(handed)
{
    CHECK_EQ(sched_init(4, 10, handed_root, NULL), 0);
    for (long i = 1; i < N; i += 2) /* the ones that were not spawned */
        mark(i + 2 * N);
    check_marks(3 * N);
}

/* order: With one worker the order is exact: last in first out for lifo, steal and serial, first in
 * first out for fifo, for the queue, and for the ring as long as nothing overflows; for cont the
 * order of calls, each child before what follows its spawn.
 * ctest: matrix threads=1 plain
 * ctest: env=SCHED_KIND=serial env=SCHED_THREADS=4 */
enum { ORDER_MOST = 2000 };

static long order_ran[ORDER_MOST], order_count;
static long first_child[ORDER_MOST], order_children[ORDER_MOST];

static void order_task(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    CHECK(order_count < ORDER_MOST);
    order_ran[order_count++] = i;
    for (long c = 0; c < order_children[i]; c++)
        CHECK_EQ(sched_spawn(order_task, (void *)(first_child[i] + c), s), 0);
}

CASE(order)
{
    /* A random tree: each task has 0 to 5 children, numbered in the order they are spawned. */
    const char *deque = getenv("SCHED_DEQUE");
    int ring = kind_is("steal") && deque && strcmp(deque, "ring") == 0;
    int queued = ring || kind_is("fifo") || (kind_is("steal") && deque && strcmp(deque, "queue") == 0);
    long N = ring ? 256 : ORDER_MOST;
    uint64_t seed = 42;
    long made = 1;
    for (long i = 0; i < N && made < N; i++) {
        order_children[i] = (long)(next_random(&seed) % 6);
        if (i + 1 >= made)
            order_children[i] += 1;
        if (made + order_children[i] > N)
            order_children[i] = N - made;
        first_child[i] = made;
        made += order_children[i];
    }
    CHECK_EQ(made, N);

    /* The same on paper, with one array that is used from its end, or from its start. */
    static long queue[ORDER_MOST], expected[ORDER_MOST];
    long head = 0, tail = 0, n = 0;
    queue[tail++] = 0;
    while (head < tail) {
        long i = queued ? queue[head++] : queue[--tail];
        expected[n++] = i;
        for (long c = 0; c < order_children[i]; c++)
            queue[tail++] = first_child[i] + (spawn_calls() ? order_children[i] - 1 - c : c);
    }

    CHECK_EQ(sched_init(1, 3, order_task, (void *)0), 0);
    CHECK_EQ(order_count, N);
    for (long i = 0; i < N; i++)
        CHECK_EQ(order_ran[i], expected[i]);
}

/* serial: SCHED_KIND=serial: one thread, the caller's, whatever was asked for; the order of a
 * stack, or with SCHED_SEED a random one that the same seed repeats.
 * ctest: env=SCHED_KIND=serial
 * ctest: env=SCHED_KIND=serial env=SCHED_THREADS=16 */
enum { SERIAL_N = 300 };

static long order[SERIAL_N], serial_count;

static void serial_task(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    CHECK(on_caller());
    CHECK_EQ(thread_count(), 1);
    mark(i);
    CHECK(serial_count < SERIAL_N);
    order[serial_count++] = i;
    for (long child = 3 * i + 1; child <= 3 * i + 3 && child < SERIAL_N; child++)
        CHECK_EQ(sched_spawn(serial_task, (void *)child, s), 0);
}

static void serial_run(const char *seed, long into[SERIAL_N])
{
    if (seed)
        setenv("SCHED_SEED", seed, 1);
    else
        unsetenv("SCHED_SEED");
    serial_count = 0;
    CHECK_EQ(sched_init(8, 1, serial_task, (void *)0), 0);
    CHECK_EQ(serial_count, SERIAL_N);
    check_marks(SERIAL_N);
    memcpy(into, order, sizeof order);
    /* A task never runs before the one that spawned it. */
    long when[SERIAL_N];
    for (long i = 0; i < SERIAL_N; i++)
        when[order[i]] = i;
    for (long i = 1; i < SERIAL_N; i++)
        CHECK(when[i] > when[(i - 1) / 3]);
}

CASE(serial)
{
    static const char *const seeds[] = {"1", "2", "3", "12345678901234567890"};
    static long plain[SERIAL_N], again[SERIAL_N], first[4][SERIAL_N];

    serial_run(NULL, plain);
    long stack[SERIAL_N], depth = 1, at = 0;
    stack[0] = 0;
    while (depth > 0) {
        long i = stack[--depth];
        CHECK_EQ(plain[at++], i);
        for (long child = 3 * i + 1; child <= 3 * i + 3 && child < SERIAL_N; child++)
            stack[depth++] = child;
    }
    for (int i = 0; i < 4; i++) {
        serial_run(seeds[i], first[i]);
        CHECK(memcmp(first[i], plain, sizeof plain) != 0);
        for (int j = 0; j < i; j++)
            CHECK(memcmp(first[i], first[j], sizeof plain) != 0);
    }
    for (int i = 0; i < 4; i++) {
        serial_run(seeds[i], again);
        CHECK_EQ(memcmp(again, first[i], sizeof again), 0);
    }
    serial_run(NULL, again);
    CHECK_EQ(memcmp(again, plain, sizeof again), 0);
}

/* worker_index: sched_worker_index: each worker has a number of its own, less than
 * sched_worker_count. The number is the same for every s of the run. A pool counts the places of
 * threads from outside, too. A thread that is not a worker has no number: it gets EINVAL, for NULL
 * as well. After the run both functions give EINVAL.
 * ctest: static
 * ctest: matrix */
enum { WORKER_INDEX_MOST = 128, WORKER_INDEX_N = 400 };

static int wanted;
static atomic_int here[WORKER_INDEX_MOST], worker_index_ran;
static struct scheduler *_Atomic root_s, *_Atomic late;
static atomic_int foreign_done;

static void worker_index_task(void *closure, struct scheduler *s)
{
    int i = sched_worker_index(s), mine = thread_id();
    CHECK(i >= 0 && i < wanted);
    CHECK_EQ(sched_worker_count(s), wanted);
    CHECK_EQ(sched_worker_count(root_s), wanted);
    CHECK_EQ(sched_worker_index(root_s), i);
    CHECK_EQ(atomic_exchange(&here[i], mine), 0); /* nobody else has it now */
    if (worker_index_ran % 7 == 0)
        pause_us(50);
    CHECK_EQ(sched_worker_index(s), i);
    CHECK_EQ(atomic_exchange(&here[i], 0), mine);
    atomic_fetch_add(&worker_index_ran, 1);
    late = s;
}

static void nested(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_worker_count(s), threads_of(1));
    CHECK(sched_worker_index(s) >= 0);
    if (on_caller()) { /* it is a worker of both */
        CHECK_EQ(sched_worker_index(root_s), 0);
        CHECK_EQ(sched_worker_count(root_s), wanted);
    }
}

static void worker_index_count(void *closure, struct scheduler *s)
{
    wanted = sched_worker_count(s);
}

static void *worker_index_foreigner(void *s)
{
    CHECK_ERRNO(sched_worker_index(s), EINVAL);
    CHECK_EQ(sched_worker_count(s), wanted);
    foreign_done = 1;
    return NULL;
}

static void worker_index_root(void *closure, struct scheduler *s)
{
    root_s = s;
    if (closure == NULL && on_caller())
        CHECK_EQ(sched_worker_index(s), 0);
    CHECK_TIMES(WORKER_INDEX_N, sched_spawn(worker_index_task, NULL, s));
    run_thread(worker_index_foreigner, s);
    CHECK_EQ(foreign_done, 1);
    if (closure == NULL)
        CHECK_EQ(sched_init(1, 1, nested, NULL), 0);
}

CASE(worker_index)
{
    wanted = threads_of(4);
    CHECK_ERRNO(sched_worker_index(NULL), EINVAL);
    CHECK_EQ(sched_init(4, 10, worker_index_root, NULL), 0);
    CHECK_EQ(worker_index_ran, WORKER_INDEX_N);
    CHECK_ERRNO(sched_worker_index(late), EINVAL);
    CHECK_ERRNO(sched_worker_count(late), EINVAL);

    struct sched_pool *pool = pool_of(4);
    CHECK_EQ(sched_pool_run(pool, worker_index_count, NULL), 0);
    CHECK(wanted >= threads_of(4) && wanted <= WORKER_INDEX_MOST); /* and the places of threads from outside */
    CHECK_EQ(sched_pool_run(pool, worker_index_root, &pool), 0);
    CHECK_EQ(worker_index_ran, 2 * WORKER_INDEX_N);
    CHECK_ERRNO(sched_worker_index(late), EINVAL); /* this thread does not belong to the pool */
    CHECK_EQ(sched_worker_count(late), wanted);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    CHECK_ERRNO(sched_worker_count(late), EINVAL);
}

/* worker_values: A value for each worker, as the manual says to keep one: plain memory, which a
 * task finds by sched_worker_index after each call that spawns, forks, waits, yields or blocks, and
 * leaves before the next. No other task comes between, and nothing is lost, wherever the tasks
 * continue. Other calls leave the number as it is.
 * ctest: matrix
 * ctest: matrix with=deques idle=park threads=2,4 env=SCHED_WARM=0 */
enum { WORKER_VALUES_N = 300 / SMALLER + 10, STEPS = 15 };

struct part {
    long begun, ended, calls;
    char apart[104];
};

static struct part *parts;
static int workers;
static long calls;
static sched_mutex mutex = SCHED_MUTEX_INIT;
static sched_sem sem = SCHED_SEM_INIT(2);
static sched_sem unawaited = SCHED_SEM_INIT(0); /* so that a unit is still there after its post */
static sched_cond cond = SCHED_COND_INIT;
static int sink;

/* The calling task's use of its worker's part, until its next call. */
static void use(struct scheduler *s)
{
    int i = sched_worker_index(s);
    CHECK(i >= 0 && i < workers);
    struct part *mine = &parts[i];
    long begun = ++mine->begun;
    CHECK_EQ(begun, mine->ended + 1);
    for (int k = 0; k < 50; k++)
        __atomic_store_n(&sink, k, __ATOMIC_RELAXED);
    struct sched_stats stats;
    CHECK_EQ(sched_stats(s, &stats, sizeof stats), 0);
    CHECK_EQ(sched_worker_count(s), workers);
    CHECK_EQ(sched_sem_post(&unawaited), 0);
    CHECK_EQ(sched_cond_signal(&cond), 0);
    CHECK_EQ(sched_sem_trywait(&unawaited), 0);
    CHECK_EQ(sched_worker_index(s), i);
    mine->calls++;
    CHECK_EQ(mine->begun, begun);
    mine->ended++;
}

static void worker_values_leaf(void *closure, struct scheduler *s)
{
    use(s);
}

static void range(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    for (; lo < hi; lo++)
        use(s);
}

static void fold(size_t lo, size_t hi, void *sum, void *ctx, struct scheduler *s)
{
    *(size_t *)sum += hi - lo;
    range(lo, hi, ctx, s);
}

static void plus(void *into, const void *from, void *ctx)
{
    *(size_t *)into += *(const size_t *)from;
}

static void worker_values_task(void *closure, struct scheduler *s)
{
    sched_task t;
    sched_group g = SCHED_GROUP_INIT;
    size_t zero = 0, sum;
    use(s);
    CHECK_EQ(sched_spawn(worker_values_leaf, NULL, s), 0);
    use(s);
    CHECK_EQ(sched_spawn_copy(worker_values_leaf, &t, 1, s), 0);
    use(s);
    sched_fork(&t, worker_values_leaf, NULL, s);
    use(s);
    sched_join(&t, s);
    use(s);
    CHECK_EQ(sched_group_spawn(&g, worker_values_leaf, NULL, s), 0);
    use(s);
    CHECK_EQ(sched_group_wait(&g, s), 0);
    use(s);
    sched_task_yield(s);
    use(s);
    CHECK_EQ(sched_for(0, 4, 1, range, NULL, s), 0);
    use(s);
    CHECK_EQ(sched_reduce(0, 4, 2, sizeof zero, &zero, fold, plus, NULL, &sum, s), 0);
    CHECK_EQ(sum, 4);
    use(s);
    CHECK_EQ(sched_mutex_lock(&mutex, s), 0);
    use(s);
    CHECK_EQ(sched_mutex_unlock(&mutex), 0);
    use(s);
    CHECK_EQ(sched_sem_wait(&sem, s), 0);
    use(s);
    CHECK_EQ(sched_sem_post(&sem), 0);
    if ((long)closure % 16 == 0) {
        int begun = sched_block_begin(s) == 0;
        if (begun && has_threads())
            CHECK_ERRNO(sched_worker_index(s), EINVAL);
        if (begun)
            CHECK_EQ(sched_block_end(s), 0);
    }
    use(s);
    sched_task_yield(s);
    use(s);
}

static void worker_values_root(void *closure, struct scheduler *s)
{
    workers = sched_worker_count(s);
    parts = calloc((size_t)workers, sizeof *parts);
    CHECK(parts != NULL);
    for (long i = 0; i < WORKER_VALUES_N; i++)
        CHECK_EQ(sched_spawn(worker_values_task, (void *)i, s), 0);
}

CASE(worker_values)
{
    CHECK_EQ(sched_init(4, 0, worker_values_root, NULL), 0);
    for (int i = 0; i < workers; i++) {
        calls += parts[i].calls;
        CHECK_EQ(parts[i].begun, parts[i].ended);
        CHECK_EQ(parts[i].calls, parts[i].ended);
    }
    CHECK_EQ(calls, WORKER_VALUES_N * (STEPS + 4 + 4 + 4)); /* its own, four leaves, a loop, a reduction */
    free(parts);
}

/* batches: SCHED_STEAL=half: a thief takes several tasks in few thefts, where one takes them one by
 * one. SCHED_OVERFLOW=one, half: a queue never holds more than qlen tasks, a ring 256, and yet all
 * are accepted, and run. SCHED_GLOBAL=all: a worker takes what came from outside, and others have
 * to steal it from it. With each deque that has them, each in a run of its own.
 * ctest: debug
 * ctest: */
enum { BATCHES_TASKS = 200, FLOOD = 3000, QLEN = 16, RING = 256, OUTSIDE = 20 };

static atomic_int batches_ran, spawned;

static struct sched_stats batches_run(int nthreads, int qlen, taskfunc f)
{
    struct sched_stats stats;
    batches_ran = spawned = 0;
    CHECK_EQ(sched_init(nthreads, qlen, f, NULL), 0);
    CHECK_EQ(sched_last_stats(&stats, sizeof stats), 0);
    return stats;
}

static void batches_leaf(void *closure, struct scheduler *s)
{
    while (!spawned) /* the first one */
        pause_us(50);
    mark((long)closure);
    batches_ran++;
}

/* The other worker takes all, and begins when they are all there. */
static void blocker(void *closure, struct scheduler *s)
{
    for (long i = 0; i < BATCHES_TASKS; i++)
        CHECK_EQ(sched_spawn(batches_leaf, (void *)i, s), 0);
    spawned = 1;
    while (batches_ran < BATCHES_TASKS)
        pause_us(50);
}

static void steals(const char *deque, int half)
{
    setenv("SCHED_DEQUE", deque, 1);
    setenv("SCHED_STEAL", half ? "half" : "one", 1);
    struct sched_stats stats = batches_run(2, BATCHES_TASKS, blocker);
    check_marks(BATCHES_TASKS);
    CHECK_EQ(stats.stolen_tasks, BATCHES_TASKS);
    if (half)
        CHECK(stats.steals <= 16); /* 1, and then half of what is left */
    else
        CHECK_EQ(stats.steals, BATCHES_TASKS);
    unsetenv("SCHED_STEAL");
}

static void flood(void *closure, struct scheduler *s)
{
    spawned = 1;
    for (long i = 0; i < FLOOD; i++)
        CHECK_EQ(sched_spawn(batches_leaf, (void *)i, s), 0);
}

static void overflows(const char *deque, const char *how, size_t most)
{
    setenv("SCHED_DEQUE", deque, 1);
    setenv("SCHED_OVERFLOW", how, 1);
    for (int threads = 1; threads <= 3; threads += 2) {
        struct sched_stats stats = batches_run(threads, QLEN, flood);
        check_marks(FLOOD);
        CHECK(stats.queue_peak <= most);
        if (threads == 1)
            CHECK(stats.queue_peak > most / 4);
    }
    unsetenv("SCHED_OVERFLOW");
}

static atomic_int begun, all_there;

/* Keeps the second worker until all have been spawned. */
static void second(void *closure, struct scheduler *s)
{
    begun = 1;
    while (all_there < 2)
        pause_us(50);
}

/* The oldest of those from outside: runs until the others have run, on the other worker. */
static void oldest(void *closure, struct scheduler *s)
{
    all_there = 2;
    while (batches_ran < OUTSIDE)
        pause_us(50);
}

static void *stranger(void *s)
{
    CHECK_EQ(sched_spawn(second, NULL, s), 0);
    while (!begun)
        pause_us(50);
    CHECK_EQ(sched_spawn(oldest, NULL, s), 0);
    for (long i = 0; i < OUTSIDE; i++)
        CHECK_EQ(sched_spawn(batches_leaf, (void *)i, s), 0);
    all_there = 1;
    return NULL;
}

static pthread_t batches_foreigner;

static void batches_first(void *closure, struct scheduler *s)
{
    spawned = 1;
    begun = all_there = 0;
    CHECK_EQ(pthread_create(&batches_foreigner, NULL, stranger, s), 0);
    while (!all_there)
        pause_us(50);
}

static void takes(const char *deque, int all)
{
    setenv("SCHED_DEQUE", deque, 1);
    setenv("SCHED_GLOBAL", all ? "all" : "one", 1);
    struct sched_stats stats = batches_run(2, QLEN, batches_first);
    CHECK_EQ(pthread_join(batches_foreigner, NULL), 0);
    check_marks(OUTSIDE);
    CHECK_EQ(stats.stolen_tasks, all ? OUTSIDE : 0);
    unsetenv("SCHED_GLOBAL");
}

CASE(batches)
{
    static const char *const deques[] = {"mutex", "spin", "sem", "fair", "adaptive", "queue", "ring", "split", "chaselev"};
    for (int i = 0; i < 9; i++) {
        int shares = i < 7, ring = i == 6;
        for (int half = 0; half <= shares; half++)
            steals(deques[i], half);
        takes(deques[i], 0);
        takes(deques[i], 1);
        if (shares) {
            overflows(deques[i], "one", ring ? RING : QLEN);
            overflows(deques[i], "half", ring ? RING : QLEN);
        }
    }
}

/* longjmp: longjmp to a setjmp of the same task, over suspension points, wherever the task
 * continues: its variables are there.
 * ctest: matrix */
enum { LONGJMP_TASKS = 20, LONGJMP_ROUNDS = 20 };

static atomic_int longjmp_ended, longjmp_children;

static void longjmp_child(void *closure, struct scheduler *s)
{
    sched_task_yield(s);
    longjmp_children++;
}

__attribute__((noinline)) static void inner(jmp_buf again, struct scheduler *s)
{
    sched_task t;
    CHECK_EQ(sched_spawn(longjmp_child, NULL, s), 0);
    sched_fork(&t, longjmp_child, NULL, s);
    sched_task_yield(s);
    sched_join(&t, s);
    longjmp(again, 1);
}

__attribute__((noinline)) static void middle(jmp_buf again, struct scheduler *s)
{
    volatile char room[200] = {1};
    inner(again, s);
    room[0]++;
}

static void jumps(void *closure, struct scheduler *s)
{
    jmp_buf again;
    volatile int rounds = 0;
    volatile long mine = (long)closure;
    (void)setjmp(again);
    CHECK_EQ(mine, (long)closure);
    if (rounds++ < LONGJMP_ROUNDS)
        middle(again, s);
    CHECK_EQ(rounds, LONGJMP_ROUNDS + 1);
    longjmp_ended++;
}

static void longjmp_root(void *closure, struct scheduler *s)
{
    for (long i = 0; i < LONGJMP_TASKS; i++)
        CHECK_EQ(sched_spawn(jumps, (void *)i, s), 0);
}

CASE(longjmp)
{
    CHECK_EQ(sched_init(4, 10, longjmp_root, NULL), 0);
    CHECK_EQ(longjmp_ended, LONGJMP_TASKS);
    CHECK_EQ(longjmp_children, 2 * LONGJMP_TASKS * LONGJMP_ROUNDS);
}

/* signals: The created threads block every signal but the synchronous ones, SIGPROF, and those of a
 * write that the caller accepts; the caller keeps its mask, its name and its affinity, before,
 * during and after the run.
 * ctest: matrix deque=mutex,split,chaselev idle=park,nap threads=1,4,16 */
static atomic_int checked, got_signals;
static int pid, cpus;
static unsigned long long mine; /* the caller's mask, as /proc shows it */

/* The value of a line "Name: …" of /proc/self/task/TID/status. */
static void status_of(int tid, const char *key, char *value, size_t size)
{
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/self/task/%d/status", tid);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    *value = 0;
    while (fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0 && line[strlen(key)] == ':') {
            char *from = line + strlen(key) + 1;
            from += strspn(from, " \t");
            from[strcspn(from, "\n")] = 0;
            snprintf(value, size, "%s", from);
        }
    fclose(file);
    CHECK(*value != 0);
}

/* While it creates the threads the caller may block all signals, so that they inherit it:
 * seen from another thread its mask must come to be as before. */
static void caller_is_as_before(void)
{
    char value[128];
    cpu_set_t set;
    unsigned long long blocked = 0;
    status_of(pid, "Name", value, sizeof value);
    CHECK(strcmp(value, "the caller") == 0);
    for (struct patience p = patience_of(20); is_patient(&p); pause_us(500)) {
        status_of(pid, "SigBlk", value, sizeof value);
        blocked = strtoull(value, NULL, 16);
        if (blocked == mine || thread_id() == pid)
            break;
    }
    CHECK_EQ(blocked, mine);
    CHECK_EQ(sched_getaffinity(pid, sizeof set, &set), 0);
    CHECK_EQ(CPU_COUNT(&set), cpus);
}

static void created_is_right(void)
{
    static const int open[] = {SIGSEGV, SIGBUS,  SIGFPE,  SIGILL,  SIGTRAP,
                               SIGSYS,  SIGABRT, SIGPROF, SIGPIPE, SIGXFSZ};
    sigset_t mask;
    CHECK_EQ(pthread_sigmask(SIG_BLOCK, NULL, &mask), 0);
    for (int sig = 1; sig <= 64; sig++) {
        int blocked = 1;
        for (size_t i = 0; i < sizeof open / sizeof *open; i++)
            blocked &= sig != open[i];
        if (sig == SIGPIPE && mine >> (SIGPIPE - 1) & 1)
            blocked = 1;
        if (sig == SIGKILL || sig == SIGSTOP || sig == 32 || sig == 33)
            continue; /* cannot be blocked; the C library's own */
        if (sigismember(&mask, sig) != blocked) {
            char text[80];
            snprintf(text, sizeof text, "signal %d blocked: %d, expected %d\n", sig, !blocked, blocked);
            check_say(text);
            _exit(1);
        }
    }
}

static void on_signal(int sig)
{
    atomic_fetch_add(&got_signals, 1);
    if (thread_id() != pid) {
        check_say("a signal for the process reached a created thread\n");
        _exit(1);
    }
}

static void each(void *closure, struct scheduler *s)
{
    if (thread_id() != pid)
        created_is_right();
    caller_is_as_before();
    CHECK_EQ(kill(pid, SIGUSR1), 0);
    atomic_fetch_add(&checked, 1);
    pause_us(100);
}

static void signals_root(void *closure, struct scheduler *s)
{
    CHECK_TIMES(30, sched_spawn(each, closure, s));
}

CASE(signals)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t mask;
    cpu_set_t set;

    pid = (int)getpid();
    CHECK_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    cpus = CPU_COUNT(&set);
    CHECK_EQ(pthread_setname_np(pthread_self(), "the caller"), 0);
    CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
    sigemptyset(&mask);
    static const int added[] = {SIGUSR2, SIGPIPE}; /* the second time kept threads take over the new mask */
    for (size_t i = 0; i < sizeof added / sizeof *added; i++) {
        sigaddset(&mask, added[i]);
        mine |= 1ull << (added[i] - 1);
        CHECK_EQ(pthread_sigmask(SIG_SETMASK, &mask, NULL), 0);
        checked = got_signals = 0;

        caller_is_as_before();
        CHECK_EQ(sched_init(4, 4, signals_root, NULL), 0);
        CHECK_EQ(checked, 30);
        CHECK(got_signals > 0);
        caller_is_as_before();
    }
}

/* sigprof: A sampling profiler: SIGPROF by the process's processor time, as often as the kernel
 * sends it, whose handler walks the stack of whatever it has interrupted: tasks on their stacks,
 * switches, idle workers, the end of runs. Nothing is lost, every walk ends, and the threads of the
 * library are sampled, too.
 * ctest: matrix deque=split,mutex idle=park,spin threads=4 timeout=60
 * ctest: matrix with=deques deque=split idle=park threads=4 env=SCHED_WARM=0 timeout=60 */
enum { SIGPROF_N = 2000 / SMALLER, FRAMES = 64, WANTED = 30 };

static atomic_int samples, elsewhere;

static void on_sample(int signal)
{
    void *frames[FRAMES];
    int before = errno;
    CHECK(backtrace(frames, FRAMES) > 0);
    atomic_fetch_add(&samples, 1);
    if (!on_caller())
        atomic_fetch_add(&elsewhere, 1);
    errno = before;
}

/* A tree whose tasks wait for their children and give way. */
static void sigprof_task(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    sched_group children = SCHED_GROUP_INIT;
    volatile unsigned long x = 1;
    for (long child = 3 * i + 1; child <= 3 * i + 3 && child < SIGPROF_N; child++)
        CHECK_EQ(sched_group_spawn(&children, sigprof_task, (void *)child, s), 0);
    for (int k = 0; k < 2000; k++)
        x = x * 3 + 1;
    sched_task_yield(s);
    CHECK_EQ(sched_group_wait(&children, s), 0);
    mark(i);
}

CASE(sigprof)
{
    void *frames[FRAMES];
    struct sigaction action = {.sa_handler = on_sample, .sa_flags = SA_RESTART};
    struct itimerval every = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    int is_wide = threads_of(4) > 1;

    backtrace(frames, FRAMES); /* loads the libraries that it needs */
    CHECK_EQ(sigaction(SIGPROF, &action, NULL), 0);
    CHECK_EQ(setitimer(ITIMER_PROF, &every, NULL), 0);
    struct patience p = patience_of(40);
    while (samples < WANTED || (is_wide && elsewhere == 0)) {
        CHECK(is_patient(&p));
        CHECK_EQ(sched_init(4, 16, sigprof_task, (void *)0), 0);
        check_marks(SIGPROF_N);
    }
    CHECK_EQ(setitimer(ITIMER_PROF, &never, NULL), 0);
}

/* version: sched_version: three numbers, and the same text at each call; those of the header are
 * the same.
 * ctest: static */
#if SCHED_VERSION_NUMBER < 10000 /* 1.0.0, the first version */
#error "SCHED_VERSION_NUMBER"
#endif

CASE(version)
{
    const char *version = sched_version();
    int major, minor, patch, end = 0;
    CHECK(version != NULL);
    CHECK_EQ(sscanf(version, "%d.%d.%d%n", &major, &minor, &patch, &end), 3);
    CHECK_EQ(version[end], 0);
    CHECK(major >= 0 && minor >= 0 && minor < 100 && patch >= 0 && patch < 100);
    CHECK(sched_version() == version);
    CHECK(strcmp(SCHED_VERSION_STRING, version) == 0);
    CHECK_EQ(SCHED_VERSION_NUMBER, major * 10000 + minor * 100 + patch);
}

/* registers: What a task has in registers is its own, whoever continues with it after a spawn: its
 * child, another child that has waited, or a thief.
 * ctest: static debug libs=m
 * ctest: matrix
 * ctest: matrix deque=split idle=park join=help */
enum { REGISTERS_ROUNDS = 400 / SMALLER, ROOTS = 3 };

/* Six values that live across calls, where a compiler has registers for such, and a copy in memory. */
struct kept {
    uint64_t a, b, c, d, e, f;
};

/* Nothing is known of them from here on. */
#define FORGET(k)                                                                                \
    __asm__ volatile("" : "+r"((k).a), "+r"((k).b), "+r"((k).c), "+r"((k).d), "+r"((k).e), "+r"((k).f))

static atomic_long registers_ended;
static sched_sem free_units;
static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST};

static struct kept values(uint64_t seed)
{
    return (struct kept){seed, seed * 3, seed * 5, seed * 7, seed * 11, seed * 13};
}

static void check(struct kept k, uint64_t seed)
{
    CHECK_EQ(k.a, seed);
    CHECK_EQ(k.b, seed * 3);
    CHECK_EQ(k.c, seed * 5);
    CHECK_EQ(k.d, seed * 7);
    CHECK_EQ(k.e, seed * 11);
    CHECK_EQ(k.f, seed * 13);
}

static void registers_leaf(void *closure, struct scheduler *s)
{
    struct kept k = values((uintptr_t)closure);
    FORGET(k);
    sched_worker_index(s);
    FORGET(k);
    check(k, (uintptr_t)closure);
    registers_ended++;
}

/* In turn a child waits, one spawns, one lets that which waits continue, and one gives way. */
static void registers_child(void *closure, struct scheduler *s)
{
    volatile uint64_t seed = (uintptr_t)closure;
    struct kept k = values(seed);
    FORGET(k);
    if (seed % 4 == 0)
        CHECK_EQ(sched_sem_wait(&free_units, s), 0);
    else if (seed % 4 == 1)
        CHECK_EQ(sched_spawn(registers_leaf, (void *)(uintptr_t)(seed + 1000000), s), 0);
    else if (seed % 4 == 2)
        CHECK_EQ(sched_sem_post(&free_units), 0);
    else
        sched_task_yield(s);
    FORGET(k);
    check(k, seed);
    registers_ended++;
}

static void registers_root(void *closure, struct scheduler *s)
{
    volatile uint64_t base = (uintptr_t)closure;
    for (volatile uint64_t round = 0; round < REGISTERS_ROUNDS; round++) {
        uint64_t seed = base + round;
        struct kept k = values(seed);
        int tuned = round % 3 == 2;
        if (tuned)
            CHECK_EQ(fesetround(modes[seed % 4]), 0);
        FORGET(k);
        CHECK_EQ(sched_spawn(registers_child, (void *)(uintptr_t)seed, s), 0);
        FORGET(k);
        check(k, base + round);
        CHECK_EQ(mode_now(), tuned ? modes[k.a % 4] : FE_TONEAREST);
        CHECK_EQ(fesetround(FE_TONEAREST), 0);
    }
    registers_ended++;
}

static void registers_first(void *closure, struct scheduler *s)
{
    for (uintptr_t i = 0; i < ROOTS; i++)
        CHECK_EQ(sched_spawn(registers_root, (void *)(i * 4 * REGISTERS_ROUNDS), s), 0);
}

CASE(registers)
{
    CHECK_EQ(sched_sem_init(&free_units, 0), 0);
    CHECK_EQ(sched_init(4, 4, registers_first, NULL), 0);
    CHECK_EQ(registers_ended, ROOTS * (1 + REGISTERS_ROUNDS + REGISTERS_ROUNDS / 4));
}
