/* A thread outside works on its own calls: loops, reductions, sorts, groups and forked tasks of main end
 * although no worker of the pool is free, and while main holds a lock that other tasks of the pool want.
 * By NULL and by the s of a pool. (Kind serial has one thread for all.)
 * ctest: static
 * ctest: matrix threads=1,2 */
#include "guest.h"
#include <sched_sort.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { N = 5000, WANT = 20 };

SCHED_SORT(sort_ints, int, *a < *b)

static atomic_int occupied, released, ran[N], locked;
static sched_mutex m;
static int outside;

static void occupy(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&occupied, 1);
    while (!released)
        pause_us(200);
}

static void body(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    int index = sched_worker_index(s);
    CHECK(index >= 0 && index < sched_worker_count(s));
    CHECK_EQ(sched_worker_index(NULL), index);
    for (size_t i = lo; i < hi; i++)
        atomic_fetch_add(&ran[i], 1);
}

static int by_value(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void count(void *closure, struct scheduler *s)
{
    atomic_fetch_add((atomic_int *)closure, 1);
}

static void fib(void *p, struct scheduler *s)
{
    long *n = p, a = *n - 1, b = *n - 2;
    if (*n < 2)
        return;
    sched_task t;
    sched_fork(&t, fib, &a, s);
    fib(&b, s);
    sched_join(&t, s);
    *n = a + b;
}

/* All kinds of calls, by this s. */
static void calls(struct scheduler *s)
{
    long zero = 0, sum = -1, n = 12;
    int numbers[N];
    atomic_int counted = 0;
    sched_group g = SCHED_GROUP_INIT;
    sched_task t;

    for (int i = 0; i < N; i++)
        ran[i] = 0;
    CHECK_EQ(sched_for(0, N, 0, body, NULL, s), 0);
    for (int i = 0; i < N; i++)
        CHECK_EQ(ran[i], 1);
    CHECK_EQ(sched_reduce(0, N, 0, sizeof sum, &zero, sum_of, plus, NULL, &sum, s), 0);
    CHECK_EQ(sum, N * (N - 1L) / 2);
    CHECK_EQ(sched_reduce_relaxed(0, N, 0, sizeof sum, &zero, sum_of, plus, NULL, &sum, s), 0);
    CHECK_EQ(sum, N * (N - 1L) / 2);
    for (int i = 0; i < N; i++)
        numbers[i] = (i * 7919) % N;
    CHECK_EQ(sched_sort(numbers, N, sizeof *numbers, by_value, s), 0);
    for (int i = 0; i < N; i++)
        CHECK_EQ(numbers[i], i);
    for (int i = 0; i < N; i++)
        numbers[i] = (i * 7919) % N;
    sort_ints(numbers, N, s);
    for (int i = 0; i < N; i++)
        CHECK_EQ(numbers[i], i);
    if (outside) { /* in the kinds with one queue these may stand behind tasks of others */
        for (int i = 0; i < WANT; i++)
            CHECK_EQ(sched_group_spawn(&g, count, (void *)&counted, s), 0);
        CHECK_EQ(sched_group_wait(&g, s), 0);
        CHECK_EQ(counted, WANT);
        sched_fork(&t, fib, &n, s);
        sched_join(&t, s);
        CHECK_EQ(n, 144);
    }
}

static void lock(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_mutex_lock(&m, s), 0);
    atomic_fetch_add(&locked, 1);
    CHECK_EQ(sched_mutex_unlock(&m), 0);
}

/* Occupies all workers of this s, makes all kinds of calls, and frees the workers. */
static void beside(struct scheduler *s, int workers)
{
    sched_group g = SCHED_GROUP_INIT;
    occupied = released = locked = 0;
    for (int i = 0; i < workers; i++)
        CHECK_EQ(sched_group_spawn(&g, occupy, NULL, s), 0);
    while (occupied < workers)
        pause_us(200);
    calls(s);
    CHECK_EQ(sched_mutex_lock(&m, s), 0);
    for (int i = 0; i < WANT; i++)
        CHECK_EQ(sched_spawn(lock, NULL, s), 0);
    released = 1;
    for (int i = 0; i < 20; i++)
        CHECK_EQ(sched_for(0, N, 0, body, NULL, s), 0);
    CHECK_EQ(locked, 0);
    CHECK_EQ(sched_mutex_unlock(&m), 0);
    CHECK_EQ(sched_group_wait(&g, s), 0);
    while (locked < WANT)
        pause_us(200);
}

int main(void)
{
    if (kind_is("serial"))
        return 0;
    outside = !kind_is("lifo") && !kind_is("fifo");
    CHECK_EQ(sched_mutex_init(&m), 0);
    struct sched_pool *pool = pool_of(2);
    beside(sched_pool_scheduler(pool), threads_of(2));
    CHECK_EQ(sched_pool_wait(pool), 0);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    beside(NULL, threads_of(sched_default_threads()));
    return 0;
}
