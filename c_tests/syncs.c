/* syncs: barriers, and synchronisation between runs and threads. */
#include "case.h"
#include "sync.h"
#include "pool.h"

/* barrier: As many tasks as there are workers may all wait for each other, run after run: each
 * worker runs one of them, however many there are for a processor.
 * ctest: matrix with=threads idle=park threads=2,4,16,64
 * ctest: matrix kind=lifo,steal,cont deque=mutex,split idle=nap,backoff,spin threads=16,64
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace */
enum { RUNS = 10, BARRIER_ROUNDS = 3 };

static pthread_barrier_t barrier;
static int waited;

static void guest(void *closure, struct scheduler *s)
{
    for (int round = 0; round < BARRIER_ROUNDS; round++)
        pthread_barrier_wait(&barrier);
    __atomic_fetch_add(&waited, 1, __ATOMIC_RELAXED);
}

static void barrier_root(void *closure, struct scheduler *s)
{
    for (long i = 1; i < (long)closure; i++)
        CHECK_EQ(sched_spawn(guest, NULL, s), 0);
    guest(NULL, s);
}

/* Out of the same deque only the last spawner's: each spawns one more, then waits. */
static void chain(void *closure, struct scheduler *s)
{
    long left = (long)closure;
    if (left > 1)
        CHECK_EQ(sched_spawn(chain, (void *)(left - 1), s), 0);
    guest(NULL, s);
}

CASE(barrier)
{
    long workers = threads_of(4);
    CHECK_EQ(pthread_barrier_init(&barrier, NULL, (unsigned)workers), 0);
    for (int run = 1; run <= RUNS; run++) {
        CHECK_EQ(sched_init(4, 4, run % 2 ? barrier_root : chain, (void *)workers), 0);
        CHECK_EQ(waited, run * workers);
    }
}

/* sync_barrier: Any number of tasks meet at a barrier, on any number of workers. One of them gets
 * another return value. Each sees the others' earlier writes.
 * ctest: static debug
 * ctest: matrix refuse args=20,20
 * ctest: matrix idle=park threads=1,4 args=100,1000
 * ctest: matrix idle=park args=20,20 join=help */
static int tasks, rounds;
static atomic_int *steps;
static sched_barrier barrier_all;
static atomic_int barrier_chosen, barrier_ended;

static void walks(void *closure, struct scheduler *s)
{
    long me = (long)closure;
    for (int i = 0; i < rounds; i++) {
        steps[me] = i + 1;
        int rc = sched_barrier_wait(&barrier_all, s);
        CHECK(rc == 0 || rc == 1);
        barrier_chosen += rc;
        int other = (int)((me + i + 1) % tasks);
        CHECK(steps[other] >= i + 1 && steps[other] <= i + 2);
        if (i % 2 == 0)
            CHECK(sched_barrier_wait(&barrier_all, s) >= 0);
    }
    barrier_ended++;
}

static void sync_barrier_root(void *closure, struct scheduler *s)
{
    spawn_all(tasks, walks, s);
}

CASE(sync_barrier)
{
    tasks = argc > 1 ? atoi(argv[1]) : 20;
    rounds = argc > 2 ? atoi(argv[2]) / SMALLER : 20;
    steps = calloc((size_t)tasks, sizeof *steps);
    CHECK(steps != NULL);
    CHECK_EQ(sched_barrier_init(&barrier_all, (size_t)tasks), 0);
    run(4, sync_barrier_root);
    CHECK_EQ(barrier_ended, tasks);
    CHECK_EQ(barrier_chosen, rounds);
    free(steps);
}

/* sync_errors: What mutex, condition, semaphore and barrier refuse.
 * ctest: static debug
 * ctest: matrix few idle=park threads=2 */
static sched_mutex m = SCHED_MUTEX_INIT;
static sched_cond c = SCHED_COND_INIT;
static sched_sem sem = SCHED_SEM_INIT(1), full;
static sched_barrier one = SCHED_BARRIER_INIT(1), none, two = SCHED_BARRIER_INIT(2);
static struct scheduler *errors_ended;

static void errors_root(void *closure, struct scheduler *s)
{
    errors_ended = s;
    CHECK_ERRNO(sched_mutex_lock(NULL, s), EINVAL);
    CHECK_ERRNO(sched_mutex_trylock(NULL), EINVAL);
    CHECK_ERRNO(sched_mutex_unlock(NULL), EINVAL);
    CHECK_ERRNO(sched_mutex_unlock(&m), EPERM);
    CHECK_EQ(sched_mutex_lock(&m, s), 0);
    CHECK_ERRNO(sched_mutex_trylock(&m), EBUSY);
    CHECK_EQ(sched_mutex_unlock(&m), 0);
    CHECK_ERRNO(sched_mutex_unlock(&m), EPERM);
    CHECK_EQ(sched_mutex_trylock(&m), 0);
    CHECK_EQ(sched_mutex_unlock(&m), 0);

    CHECK_ERRNO(sched_cond_wait(NULL, &m, s), EINVAL);
    CHECK_ERRNO(sched_cond_wait(&c, NULL, s), EINVAL);
    CHECK_ERRNO(sched_cond_wait(&c, &m, s), EPERM);
    CHECK_EQ(sched_cond_signal(&c), 0);
    CHECK_EQ(sched_cond_broadcast(&c), 0);
    CHECK_ERRNO(sched_cond_signal(NULL), EINVAL);
    CHECK_ERRNO(sched_cond_broadcast(NULL), EINVAL);

    CHECK_ERRNO(sched_sem_wait(NULL, s), EINVAL);
    CHECK_ERRNO(sched_sem_trywait(NULL), EINVAL);
    CHECK_ERRNO(sched_sem_post(NULL), EINVAL);
    CHECK_EQ(sched_sem_wait(&sem, s), 0);
    CHECK_ERRNO(sched_sem_trywait(&sem), EAGAIN);
    CHECK_ERRNO(sched_sem_init(&full, SIZE_MAX / 2 + 1), EINVAL);
    CHECK_EQ(sched_sem_init(&full, SIZE_MAX / 2), 0);
    CHECK_ERRNO(sched_sem_post(&full), EOVERFLOW);
    CHECK_EQ(sched_sem_wait(&full, s), 0);
    CHECK_EQ(sched_sem_post(&full), 0);

    CHECK_ERRNO(sched_barrier_wait(NULL, s), EINVAL);
    CHECK_ERRNO(sched_barrier_wait(&none, s), EINVAL);
    CHECK_EQ(sched_barrier_wait(&one, s), 1);
    CHECK_EQ(sched_barrier_wait(&one, s), 1);

    CHECK_ERRNO(sched_mutex_init(NULL), EINVAL);
    CHECK_ERRNO(sched_cond_init(NULL), EINVAL);
    CHECK_ERRNO(sched_sem_init(NULL, 1), EINVAL);
    CHECK_ERRNO(sched_barrier_init(NULL, 1), EINVAL);
    CHECK_ERRNO(sched_barrier_init(&one, 0), EINVAL);
}

CASE(sync_errors)
{
    run(2, errors_root);
    /* The run has ended: a call that need not wait succeeds, the others are refused, and nothing
     * has changed. */
    CHECK_EQ(sched_mutex_lock(&m, errors_ended), 0);
    CHECK_ERRNO(sched_mutex_lock(&m, errors_ended), EINVAL);
    CHECK_ERRNO(sched_cond_wait(&c, &m, errors_ended), EINVAL);
    CHECK_EQ(sched_mutex_unlock(&m), 0);
    CHECK_ERRNO(sched_sem_wait(&sem, errors_ended), EINVAL);
    CHECK_EQ(sched_sem_post(&sem), 0);
    CHECK_EQ(sched_sem_wait(&sem, errors_ended), 0);
    CHECK_ERRNO(sched_barrier_wait(&two, errors_ended), EINVAL);
}

/* sync_foreign: Threads that are not workers use mutex, condition, semaphore and barrier with
 * tasks: they sleep.
 * ctest: matrix idle=park,nap
 * ctest: matrix idle=park threads=2 join=help */
enum { THREADS = 3, FOREIGN_TASKS = 5, FOREIGN_ROUNDS = 30, BOTH = THREADS + FOREIGN_TASKS };
static sched_cond turned = SCHED_COND_INIT;
static sched_barrier foreign_all = SCHED_BARRIER_INIT(BOTH);
static sched_sem ping = SCHED_SEM_INIT(0), pong = SCHED_SEM_INIT(0);
static long foreign_count, foreign_chosen;
static struct scheduler *run_of;

static void both(struct scheduler *s)
{
    for (int i = 0; i < FOREIGN_ROUNDS; i++) {
        CHECK_EQ(sched_mutex_lock(&m, s), 0);
        long mine = ++foreign_count;
        if (mine % BOTH != 0)
            while (foreign_count < (mine / BOTH + 1) * BOTH)
                CHECK_EQ(sched_cond_wait(&turned, &m, s), 0);
        else
            CHECK_EQ(sched_cond_broadcast(&turned), 0);
        CHECK_EQ(sched_mutex_unlock(&m), 0);
        int rc = sched_barrier_wait(&foreign_all, s);
        CHECK(rc >= 0);
        if (rc == 1)
            foreign_chosen++;
    }
}

static void *thread(void *arg)
{
    for (int i = 0; i < FOREIGN_ROUNDS; i++) {
        CHECK_EQ(sched_sem_wait(&ping, run_of), 0);
        CHECK_EQ(sched_sem_post(&pong), 0);
    }
    both(run_of);
    return NULL;
}

static void task(void *closure, struct scheduler *s)
{
    both(s);
}

static void foreign_root(void *closure, struct scheduler *s)
{
    pthread_t *threads = closure;
    run_of = s;
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, thread, NULL), 0);
    for (int i = 0; i < THREADS * FOREIGN_ROUNDS; i++) {
        CHECK_EQ(sched_sem_post(&ping), 0);
        CHECK_EQ(sched_sem_wait(&pong, s), 0); /* no task else: the run continues for this one */
    }
    spawn_all(FOREIGN_TASKS, task, s);
}

CASE(sync_foreign)
{
    pthread_t threads[THREADS];
    CHECK_EQ(sched_init(4, 10, foreign_root, threads), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    CHECK_EQ(foreign_count, BOTH * FOREIGN_ROUNDS);
    CHECK_EQ(foreign_chosen, FOREIGN_ROUNDS);
}

/* sync_runs: Tasks of two pools, and of runs that tasks have started, wait for each other: by
 * mutex, semaphore and barrier.
 * ctest: matrix idle=park,nap
 * ctest: matrix idle=park threads=2 join=help */
enum { RUNS_ROUNDS = 40, RUNS_TASKS = 4 };
static sched_barrier runs_all = SCHED_BARRIER_INIT(2 * RUNS_TASKS);
static sched_sem to[2] = {SCHED_SEM_INIT(0), SCHED_SEM_INIT(0)};
static sched_sem handed = SCHED_SEM_INIT(0);
static long runs_count;

static void player(void *closure, struct scheduler *s)
{
    long me = (long)closure;
    for (int i = 0; i < RUNS_ROUNDS; i++) {
        CHECK_EQ(sched_sem_wait(&to[me], s), 0);
        CHECK_EQ(sched_sem_post(&to[1 - me]), 0);
    }
}

static void meets(void *closure, struct scheduler *s)
{
    for (int i = 0; i < RUNS_ROUNDS; i++) {
        CHECK_EQ(sched_mutex_lock(&m, s), 0);
        runs_count++;
        sched_task_yield(s);
        CHECK_EQ(sched_mutex_unlock(&m), 0);
        CHECK(sched_barrier_wait(&runs_all, s) >= 0);
        if (i % 10 == 0)
            CHECK(sched_barrier_wait(&runs_all, s) >= 0);
    }
}

struct outer {
    struct scheduler *s;
    int n;
};

static void gives(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_sem_post(&handed), 0);
}

/* A task of a run of its own, on top of another run's task: waits as a task of either run. */
static void within(void *closure, struct scheduler *s)
{
    struct outer *outer = closure;
    for (int i = 0; i < outer->n; i++) {
        CHECK_EQ(sched_spawn(gives, NULL, s), 0);
        CHECK_EQ(sched_sem_wait(&handed, s), 0);
        if (sched_worker_index(outer->s) < 0)
            continue; /* the other run may have no thread but the one below */
        CHECK_EQ(sched_spawn(gives, NULL, outer->s), 0);
        CHECK_EQ(sched_sem_wait(&handed, outer->s), 0); /* its stack is covered: it helps */
        CHECK_EQ(sched_mutex_lock(&m, outer->s), 0);
        CHECK_EQ(sched_mutex_unlock(&m), 0);
    }
}

static void starts(void *closure, struct scheduler *s)
{
    struct outer outer = {s, 20};
    CHECK_EQ(sched_init(2, 10, within, &outer), 0);
}

CASE(sync_runs)
{
    struct sched_pool *pool[] = {pool_of(2), pool_of(2)};
    for (long i = 0; i < 2; i++)
        CHECK_EQ(sched_pool_submit(pool[i], player, (void *)i), 0);
    CHECK_EQ(sched_sem_post(&to[0]), 0);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(sched_pool_wait(pool[i]), 0); /* a task that waits is left */
    CHECK_EQ(sched_sem_trywait(&to[0]), 0);
    for (int i = 0; i < 2 * RUNS_TASKS; i++)
        CHECK_EQ(sched_pool_submit(pool[i % 2], meets, NULL), 0);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(sched_pool_destroy(pool[i]), 0);
    CHECK_EQ(runs_count, 2 * RUNS_TASKS * RUNS_ROUNDS);
    run(2, starts);
}
