/* Nobody waits for the end of somebody else's job: while a tree of forks and joins, a loop, a reduction, a sort or a
 * flood keeps every worker busy, a task from outside the run starts long before the job ends: a task that another
 * thread spawns, a loop that it calls, a task that it wakes, a task whose blocking section ends. It starts even if
 * the job's caller holds a mutex that it wants (not with SCHED_JOIN=help: there tasks run on top of that caller).
 * ctest: static
 * ctest: matrix kind=steal,cont,lifo,fifo threads=1,2,4 timeout=120
 * ctest: env=SCHED_PROFILE=1 timeout=120
 * ctest: env=SCHED_STACK=64K timeout=120 */
#include "check.h"
#include <sched_tasks.h>
#include <stdatomic.h>

/* A job ends when all its leaves have run. A leaf computes for LEAF_US, but not after the task from outside has
 * started: then the job ends soon. */
enum { LEAVES = 20000 / SMALLER, LEAF_US = 200, COMPARISONS = 4 * LEAVES, MIN_BUSY = 40, PARTS = 16 };

static atomic_int busy, started, waits;
static struct scheduler *_Atomic run;
static sched_sem sem;
static sched_mutex mutex;

static void leaf(void)
{
    if (started)
        return;
    double begun = now();
    while (now() - begun < LEAF_US * 1e-6)
        ;
    busy++;
}

/* --- the jobs --- */

static void node(void *closure, struct scheduler *s)
{
    size_t leaves = (size_t)closure;
    if (leaves == 1) {
        leaf();
        return;
    }
    sched_task other;
    sched_fork(&other, node, (void *)(leaves / 2), s);
    node((void *)(leaves - leaves / 2), s);
    sched_join(&other, s);
}

static void tree(struct scheduler *s)
{
    node((void *)(size_t)LEAVES, s);
}

static void locked_tree(struct scheduler *s)
{
    CHECK_EQ(sched_mutex_lock(&mutex, s), 0);
    tree(s);
    CHECK_EQ(sched_mutex_unlock(&mutex), 0);
}

static void body(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    for (; lo < hi; lo++)
        leaf();
}

static void loop(struct scheduler *s)
{
    CHECK_EQ(sched_for(0, LEAVES, 0, body, NULL, s), 0);
}

static void loop_by_grain(struct scheduler *s)
{
    CHECK_EQ(sched_for(0, LEAVES, 3, body, NULL, s), 0);
}

static void add(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s)
{
    *(size_t *)acc += hi - lo;
    body(lo, hi, ctx, s);
}

static void combine(void *into, const void *from, void *ctx)
{
    *(size_t *)into += *(const size_t *)from;
}

static void reduction(struct scheduler *s)
{
    size_t none = 0, sum;
    CHECK_EQ(sched_reduce(0, LEAVES, 0, sizeof sum, &none, add, combine, NULL, &sum, s), 0);
    CHECK_EQ(sum, LEAVES);
}

static int compare(const void *a, const void *b)
{
    const int *one = a, *other = b;
    static atomic_int calls;
    if (atomic_fetch_add(&calls, 1) % 10 == 0)
        leaf();
    return (*one > *other) - (*one < *other);
}

static void sort(struct scheduler *s)
{
    static int values[COMPARISONS];
    for (int i = 0; i < COMPARISONS; i++)
        values[i] = (int)((unsigned)i * 2654435761u >> 8);
    CHECK_EQ(sched_sort(values, COMPARISONS, sizeof values[0], compare, s), 0);
    for (int i = 1; i < COMPARISONS; i++)
        CHECK(values[i - 1] <= values[i]);
}

static void one_leaf(void *closure, struct scheduler *s)
{
    leaf();
}

static void flood(struct scheduler *s)
{
    /* With SCHED_OVERFLOW=refuse the queue takes fewer. */
    for (int i = 0; i < LEAVES && sched_spawn(one_leaf, NULL, s) == 0; i++)
        ;
}

static void (*const jobs[])(struct scheduler *) = {tree,      locked_tree, loop, loop_by_grain,
                                                   reduction, sort,        flood};

static void call_job(void *closure, struct scheduler *s)
{
    (*(void (*const *)(struct scheduler *))closure)(s);
}

/* --- the tasks from outside --- */

static void start(void *closure, struct scheduler *s)
{
    started = 1;
    CHECK_EQ(sched_mutex_lock(&mutex, s), 0); /* the caller of the job may have it */
    CHECK_EQ(sched_mutex_unlock(&mutex), 0);
}

static void start_when_posted(void *closure, struct scheduler *s)
{
    waits = 1;
    CHECK_EQ(sched_sem_wait(&sem, s), 0);
    start(closure, s);
}

static atomic_int section_ends;

static void start_after_section(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_block_begin(s), 0);
    waits = 1;
    while (!section_ends)
        pause_us(100);
    CHECK_EQ(sched_block_end(s), 0);
    start(closure, s);
}

static void start_part(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    started = 1;
}

static void by_spawn(struct sched_pool *pool)
{
    CHECK_EQ(sched_pool_submit(pool, start, NULL), 0);
}

static void by_loop(struct sched_pool *pool)
{
    CHECK_EQ(sched_for(0, PARTS, 1, start_part, NULL, run), 0);
}

static void by_post(struct sched_pool *pool)
{
    CHECK_EQ(sched_sem_post(&sem), 0);
}

static void by_section(struct sched_pool *pool)
{
    section_ends = 1;
}

static const struct {
    taskfunc before; /* a task that is there before the job; NULL: none */
    void (*come)(struct sched_pool *);
} sources[] = {{NULL, by_spawn},
               {NULL, by_loop},
               {start_when_posted, by_post},
               {start_after_section, by_section}};

static void note_run(void *closure, struct scheduler *s)
{
    run = s;
}

static void beside(struct sched_pool *pool, int job, int source)
{
    busy = started = waits = section_ends = 0;
    if (sources[source].before) {
        CHECK_EQ(sched_pool_submit(pool, sources[source].before, NULL), 0);
        while (!waits)
            pause_us(100);
    }
    CHECK_EQ(sched_pool_submit(pool, call_job, (void *)&jobs[job]), 0);
    while (busy < MIN_BUSY)
        pause_us(100);
    sources[source].come(pool);
    CHECK_EQ(sched_pool_wait(pool), 0);
    CHECK(started);
    if (busy > LEAVES / 2)
        fprintf(stderr, "job %d, source %d: %d leaves of %d\n", job, source, busy, LEAVES);
    CHECK(busy <= LEAVES / 2);
}

int main(void)
{
    struct sched_options options = {.size = sizeof options, .nthreads = threads_of(2)};
    struct sched_pool *pool = sched_pool_create(&options);
    CHECK(pool);
    CHECK_EQ(sched_sem_init(&sem, 0), 0);
    CHECK_EQ(sched_mutex_init(&mutex), 0);
    CHECK_EQ(sched_pool_run(pool, note_run, NULL), 0);
    const char *join = getenv("SCHED_JOIN");
    for (size_t job = 0; job < sizeof jobs / sizeof jobs[0]; job++) {
        if (jobs[job] == locked_tree && join && strcmp(join, "help") == 0)
            continue;
        for (size_t source = 0; source < sizeof sources / sizeof sources[0]; source++)
            beside(pool, (int)job, (int)source);
    }
    CHECK_EQ(sched_pool_destroy(pool), 0);
    return 0;
}
