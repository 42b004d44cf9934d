/* A value for each worker, as the manual says to keep one: plain memory, which a task finds by sched_worker_index after each
 * call that spawns, forks, waits, yields or blocks, and leaves before the next. No other task comes between, and nothing
 * is lost, wherever the tasks go on. Other calls leave the number as it is.
 * ctest: matrix
 * ctest: matrix kind=steal,cont idle=park threads=2,4 env=SCHED_WARM=0 */
#include "check.h"
#include <sched_tasks.h>

enum { N = 300 / SMALLER + 10, STEPS = 15 };

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

/* What the calling task does with its worker's part until its next call. */
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

static void leaf(void *closure, struct scheduler *s)
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

static void task(void *closure, struct scheduler *s)
{
    sched_task t;
    sched_group g = SCHED_GROUP_INIT;
    size_t zero = 0, sum;
    use(s);
    CHECK_EQ(sched_spawn(leaf, NULL, s), 0);
    use(s);
    CHECK_EQ(sched_spawn_copy(leaf, &t, 1, s), 0);
    use(s);
    sched_fork(&t, leaf, NULL, s);
    use(s);
    sched_join(&t, s);
    use(s);
    CHECK_EQ(sched_group_spawn(&g, leaf, NULL, s), 0);
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
        if (begun && !kind_is("serial"))
            CHECK_ERRNO(sched_worker_index(s), EINVAL);
        if (begun)
            CHECK_EQ(sched_block_end(s), 0);
    }
    use(s);
    sched_task_yield(s);
    use(s);
}

static void root(void *closure, struct scheduler *s)
{
    workers = sched_worker_count(s);
    parts = calloc((size_t)workers, sizeof *parts);
    CHECK(parts != NULL);
    for (long i = 0; i < N; i++)
        CHECK_EQ(sched_spawn(task, (void *)i, s), 0);
}

int main(void)
{
    CHECK_EQ(sched_init(4, 0, root, NULL), 0);
    for (int i = 0; i < workers; i++) {
        calls += parts[i].calls;
        CHECK_EQ(parts[i].begun, parts[i].ended);
        CHECK_EQ(parts[i].calls, parts[i].ended);
    }
    CHECK_EQ(calls, N * (STEPS + 4 + 4 + 4)); /* its own, four leaves, a loop, a reduction */
    free(parts);
    return 0;
}
