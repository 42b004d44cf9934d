/* Whatever takes an s takes NULL: from main the default pool does the work, which is made at the first use, by
 * however many threads; in a task NULL is the run of that.
 * ctest: static debug
 * ctest: matrix deque=split,mutex,chaselev,ring idle=park,spin threads=1,2,4 */
#include "null.h"

enum { N = 500, THREADS = 6 };

static atomic_int ran;
static sched_mutex m = SCHED_MUTEX_INIT;
static sched_cond changed = SCHED_COND_INIT;
static sched_sem sem = SCHED_SEM_INIT(0);
static sched_barrier both = SCHED_BARRIER_INIT(2);
static sched_group group = SCHED_GROUP_INIT;
static long counted, turn;

static void count(void *closure, struct scheduler *s)
{
    CHECK(s != NULL);
    atomic_fetch_add(&ran, 1);
}

/* Waited for at the end. */
static void late(void *closure, struct scheduler *s)
{
    CHECK(s != NULL);
    CHECK_EQ(sched_sem_post(&sem), 0);
}

static void count_copy(void *copy, struct scheduler *s)
{
    CHECK_EQ(*(long *)copy, 77);
    count(copy, s);
    CHECK_EQ(sched_sem_post(&sem), 0);
}

static void count_locked(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_mutex_lock(&m, NULL), 0);
    counted++;
    sched_task_yield(NULL);
    counted++;
    CHECK_EQ(sched_mutex_unlock(&m), 0);
    count(closure, s);
}

static void answer(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_mutex_lock(&m, s), 0);
    while (turn != 1)
        CHECK_EQ(sched_cond_wait(&changed, &m, NULL), 0);
    turn = 2;
    CHECK_EQ(sched_cond_signal(&changed), 0);
    CHECK_EQ(sched_mutex_unlock(&m), 0);
    CHECK(sched_barrier_wait(&both, NULL) >= 0);
}

/* Of the program's own threads, which keep their places in a section. */
static _Thread_local int is_outside;

/* A task: NULL is its own run. */
static void within(void *closure, struct scheduler *s)
{
    int *at = closure;
    *at = sched_worker_index(s);
    CHECK(*at >= 0);
    CHECK_EQ(sched_worker_index(NULL), *at);
    CHECK_EQ(sched_worker_count(NULL), sched_worker_count(s));
    CHECK_EQ(sched_spawn(late, NULL, NULL), 0);
    null_works();
    sched_task t;
    sched_fork(&t, count, NULL, NULL);
    sched_join(&t, s);
    sched_fork(&t, count, NULL, s);
    sched_join(&t, NULL);
    if (sched_block_begin(NULL) == 0) {
        CHECK_EQ(sched_worker_index(s) < 0, !is_outside && !kind_is("serial"));
        CHECK_EQ(sched_spawn(late, NULL, NULL), 0); /* a task in a section has its run */
        CHECK_EQ(sched_block_end(NULL), 0);
    }
    CHECK_ERRNO(sched_block_end(NULL), EPERM);
}

/* The same, of a run with one worker within the caller's, if that is a task. */
static void inner(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_worker_count(NULL), sched_worker_count(s));
    CHECK_EQ(sched_worker_index(NULL), sched_worker_index(s));
    count(closure, s);
}

static void starts_a_run(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_init(1, 4, inner, closure), 0);
}

static void plus(void *into, const void *from, void *ctx)
{
    *(long *)into += *(const long *)from;
}

static void fold(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s)
{
    for (size_t i = lo; i < hi; i++)
        *(long *)acc += (long)i;
}

static int downwards(const void *a, const void *b)
{
    return *(const int *)b - *(const int *)a;
}

static void all(void)
{
    static const long argument = 77, zero;
    long sum = 0;
    int numbers[3 * N];
    int before = ran;

    null_works();
    CHECK_EQ(sched_reduce(0, N, 3, sizeof sum, &zero, fold, plus, NULL, &sum, NULL), 0);
    CHECK_EQ(sum, N * (N - 1) / 2);
    for (int i = 0; i < 3 * N; i++)
        numbers[i] = i * 7 % (3 * N);
    CHECK_EQ(sched_sort(numbers, 3 * N, sizeof *numbers, downwards, NULL), 0);
    for (int i = 1; i < 3 * N; i++)
        CHECK(numbers[i - 1] >= numbers[i]);

    sched_task tasks[20];
    for (int i = 0; i < 20; i++)
        sched_fork(&tasks[i], count, NULL, NULL);
    for (int i = 0; i < 20; i++)
        sched_join(&tasks[i], NULL);
    CHECK_EQ(ran - before, 20);

    sched_group g = SCHED_GROUP_INIT;
    for (int i = 0; i < N; i++)
        CHECK_EQ(sched_group_spawn(&g, count_locked, NULL, NULL), 0);
    CHECK_EQ(sched_group_wait(&g, NULL), 0);
    CHECK_EQ(ran - before, 20 + N);

    for (int i = 0; i < 10; i++)
        CHECK_EQ(sched_spawn_copy(count_copy, &argument, sizeof argument, NULL), 0);
    for (int i = 0; i < 10; i++)
        CHECK_EQ(sched_sem_wait(&sem, NULL), 0);
    CHECK_EQ(ran - before, 30 + N);

    turn = 0;
    CHECK_EQ(sched_group_spawn(&group, answer, NULL, NULL), 0);
    CHECK_EQ(sched_mutex_lock(&m, NULL), 0);
    turn = 1;
    CHECK_EQ(sched_cond_broadcast(&changed), 0);
    while (turn != 2)
        CHECK_EQ(sched_cond_wait(&changed, &m, NULL), 0);
    CHECK_EQ(sched_mutex_unlock(&m), 0);
    CHECK(sched_barrier_wait(&both, NULL) >= 0);
    CHECK_EQ(sched_group_wait(&group, NULL), 0);

    int at = -1;
    CHECK_EQ(sched_group_spawn(&group, starts_a_run, NULL, NULL), 0);
    CHECK_EQ(sched_group_wait(&group, NULL), 0);
    CHECK_EQ(ran - before, 31 + N);
    sched_fork(tasks, within, &at, NULL);
    sched_join(tasks, NULL);
    CHECK(at >= 0);
    CHECK_EQ(sched_sem_wait(&sem, NULL), 0);
    CHECK_EQ(sched_sem_wait(&sem, NULL), 0);
}

static void *first_of_many(void *arrived)
{
    is_outside = 1;
    atomic_fetch_add((atomic_int *)arrived, 1);
    for (unsigned turns = 0; *(atomic_int *)arrived < THREADS;)
        spin(&turns);
    null_works();
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    atomic_int arrived = 0;
    struct sched_stats stats;

    is_outside = 1;
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, first_of_many, (void *)&arrived), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);

    CHECK(sched_worker_count(NULL) >= threads_of(sched_default_threads())); /* and the places of guests */
    CHECK_ERRNO(sched_worker_index(NULL), EINVAL); /* main is none of them */
    sched_task_yield(NULL);
    CHECK_EQ(sched_block_begin(NULL), 0);
    CHECK_EQ(sched_block_end(NULL), 0);
    all();
    all();
    CHECK_EQ(sched_stats(NULL, &stats, sizeof stats), 0);
    CHECK((int)stats.tasks >= 2 * (31 + N));
    CHECK_EQ(stats.threads, threads_of(sched_default_threads()));
    if (sched_last_stats(&stats, sizeof stats) == 0)
        CHECK_EQ(stats.threads, threads_of(1)); /* a run within a task of this thread's; the pool's goes on */
    else
        CHECK_EQ(errno, ENOENT);
    return 0;
}
