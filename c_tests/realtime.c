/* SCHED_FIFO on one processor, where a thread that does not sleep keeps the processor for ever: runs, waits and pools with
 * several workers end all the same, with every way to be idle. (The threads that the library makes have the policy of
 * their creator.)
 * ctest: matrix threads=1,4 timeout=60
 * ctest: matrix kind=steal deque=split,mutex idle=park threads=4 join=help timeout=60 */
#include "child.h"
#include "marks.h"
#include "pool.h"

enum { N = 600, ROUNDS = 4, NO_END = 5 };

static sched_mutex mutex = SCHED_MUTEX_INIT;
static sched_barrier meeting;
static long in_mutex;
static atomic_int is_seen;

static void see(void *closure, struct scheduler *s)
{
    is_seen = 1;
}

/* Sleeps in the kernel for a moment, so that another thread has the processor, while it holds the mutex. */
static void task(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    sched_group children = SCHED_GROUP_INIT;
    for (long child = 3 * i + 1; child <= 3 * i + 3 && child < N; child++)
        CHECK_EQ(sched_group_spawn(&children, task, (void *)child, s), 0);
    CHECK_EQ(sched_mutex_lock(&mutex, s), 0);
    in_mutex++;
    if (i % 50 == 0)
        pause_us(100);
    CHECK_EQ(sched_mutex_unlock(&mutex), 0);
    sched_task_yield(s);
    CHECK_EQ(sched_group_wait(&children, s), 0);
    if (i % 100 == 0 && sched_block_begin(s) == 0) {
        pause_us(100);
        CHECK_EQ(sched_block_end(s), 0);
    }
    mark(i);
}

static void meet(void *closure, struct scheduler *s)
{
    CHECK(sched_barrier_wait(&meeting, s) >= 0);
}

static void meet_all(void *closure, struct scheduler *s)
{
    for (int i = 0; i < 3; i++)
        CHECK_EQ(sched_spawn(meet, NULL, s), 0);
    CHECK(sched_barrier_wait(&meeting, s) >= 0);
}

static void use_all(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        in_mutex = 0;
        CHECK_EQ(sched_init(4, 16, task, (void *)0), 0);
        CHECK_EQ(in_mutex, N);
        check_marks(N);
        CHECK_EQ(sched_barrier_init(&meeting, 4), 0);
        CHECK_EQ(sched_init(4, 16, meet_all, NULL), 0);
    }
    struct sched_pool *pool = pool_of(4);
    CHECK_EQ(sched_pool_run(pool, task, (void *)0), 0);
    check_marks(N);
    CHECK_EQ(sched_pool_submit(pool, see, NULL), 0);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    CHECK_EQ(is_seen, 1);
}

/* The kernel ends it when it has used NO_END seconds of the processor, which nobody else may get from it. */
static void body(void *unused)
{
    struct sched_param first = {.sched_priority = 1};
    struct rlimit most = {NO_END, NO_END};
    cpu_set_t one, all;
    CHECK_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    CHECK_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    CHECK_EQ(setrlimit(RLIMIT_CPU, &most), 0);
    if (sched_setscheduler(0, SCHED_FIFO, &first) != 0)
        skip("the policy SCHED_FIFO is refused here");
    use_all();
}

int main(void)
{
    in_child(body, NULL);
    CHECK_CHILD_PASSED();
    return 0;
}
