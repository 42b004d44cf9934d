/* In a blocking section a task may do all that a thread may that is no worker: spawn, fork and join, wait
 * for groups, lock, loop, sort, yield, start runs, use pools; and afterwards what a task may. What it
 * forked before it may join within, and the other way round.
 * ctest: static debug
 * ctest: matrix deque=mutex,split,ring threads=1,2,4
 * ctest: matrix deque=mutex,split idle=park threads=1,2,4 join=help
 * ctest: matrix deque=mutex,split idle=park threads=2 env=SCHED_WARM=0 */
#include "block.h"

enum { TASKS = 12, N = 2000 };

static sched_mutex mutex = SCHED_MUTEX_INIT;
static sched_cond cond = SCHED_COND_INIT;
static sched_sem sem = SCHED_SEM_INIT(0);
static struct sched_pool *pool;
static atomic_int counted;
static long locked, rounds;

static void count(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&counted, 1);
}

static void blocks_and_counts(void *closure, struct scheduler *s)
{
    block(20, s);
    count(closure, s);
}

static void add_one(void *closure, struct scheduler *s)
{
    sched_task_yield(s);
    ++*(int *)closure;
}

static void posts(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_sem_post(&sem), 0);
}

static void fill(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    int *a = ctx;
    for (size_t i = lo; i < hi; i++)
        a[i] = (int)(i * 7919 % N);
}

static int by_value(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void all(struct scheduler *s)
{
    int forked = 0, grouped = 0, copied = 0, a[N];
    sched_task t;
    sched_group g = SCHED_GROUP_INIT;

    sched_fork(&t, add_one, &forked, s);
    CHECK_EQ(sched_group_spawn(&g, add_one, &grouped, s), 0);
    CHECK_EQ(sched_spawn(count, NULL, s), 0);
    CHECK_EQ(sched_spawn_copy(count, &copied, sizeof copied, s), 0);
    sched_task_yield(s);
    sched_join(&t, s);
    CHECK_EQ(forked, 1);
    CHECK_EQ(sched_group_wait(&g, s), 0);
    CHECK_EQ(grouped, 1);

    CHECK_EQ(sched_mutex_lock(&mutex, s), 0);
    long before = locked;
    sched_task_yield(s);
    locked = before + 1;
    CHECK_EQ(sched_mutex_unlock(&mutex), 0);

    CHECK_EQ(sched_spawn(posts, NULL, s), 0);
    CHECK_EQ(sched_sem_wait(&sem, s), 0);

    CHECK_EQ(sched_for(0, N, 0, fill, a, s), 0);
    CHECK_EQ(sched_sort(a, N, sizeof *a, by_value, s), 0);
    for (int i = 1; i < N; i++)
        CHECK(a[i - 1] <= a[i]);

    CHECK_EQ(sched_init(2, 4, blocks_and_counts, NULL), 0);
    CHECK_EQ(sched_pool_submit(pool, blocks_and_counts, NULL), 0);
    CHECK_EQ(sched_pool_run(pool, blocks_and_counts, NULL), 0);
}

/* Holds a mutex over the beginning and the end of a section. */
static void crossing(struct scheduler *s)
{
    int forked[2] = {0, 0};
    sched_task t[2];
    sched_fork(&t[0], add_one, &forked[0], s);
    CHECK_EQ(sched_mutex_lock(&mutex, s), 0);
    begin(s);
    CHECK_EQ(sched_mutex_unlock(&mutex), 0);
    sched_fork(&t[1], add_one, &forked[1], s);
    sched_join(&t[0], s);
    CHECK_EQ(sched_mutex_lock(&mutex, s), 0);
    end(s);
    long before = locked;
    sched_task_yield(s);
    locked = before + 1;
    CHECK_EQ(sched_mutex_unlock(&mutex), 0);
    sched_join(&t[1], s);
    CHECK_EQ(forked[0] + forked[1], 2);
}

static void task(void *closure, struct scheduler *s)
{
    begin(s);
    all(s);
    end(s);
    all(s);
    begin(s);
    block(20, s);
    all(s);
    end(s);
    crossing(s);
    CHECK_EQ(sched_mutex_lock(&mutex, s), 0);
    rounds++;
    CHECK_EQ(sched_cond_signal(&cond), 0);
    CHECK_EQ(sched_mutex_unlock(&mutex), 0);
}

static void root(void *closure, struct scheduler *s)
{
    spawn_all(TASKS, task, s);
    begin(s);
    CHECK_EQ(sched_mutex_lock(&mutex, s), 0);
    while (!kind_is("serial") && rounds < TASKS)
        CHECK_EQ(sched_cond_wait(&cond, &mutex, s), 0);
    CHECK_EQ(sched_mutex_unlock(&mutex), 0);
    end(s);
}

int main(void)
{
    struct sched_options options = {.size = sizeof options, .nthreads = 2};
    pool = sched_pool_create(&options);
    CHECK(pool != NULL);
    for (int i = 1; i <= 2; i++) {
        rounds = 0;
        run(2, root);
        CHECK_EQ(sched_pool_wait(pool), 0);
        CHECK_EQ(locked, i * TASKS * 4);
        CHECK_EQ(counted, i * TASKS * 3 * 5);
    }
    CHECK_EQ(sched_pool_destroy(pool), 0);
    return 0;
}
