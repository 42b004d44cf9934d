/* A child made by _Fork or clone, for which no fork handler is called, beside resting threads, a pool or a
 * run in flight: it may have runs and pools of its own; those of its parent give EINVAL.
 * ctest: static
 * ctest: matrix deque=mutex,split idle=park threads=1,4 */
#include "child.h"
#include "pool.h"
#include <stdatomic.h>
#include <sys/syscall.h>

extern pid_t _Fork(void) __attribute__((weak));

static struct sched_pool *pool;
static struct scheduler *_Atomic running;
static atomic_int ran, over;

static void node(void *closure, struct scheduler *s)
{
    long depth = (long)closure;
    atomic_fetch_add(&ran, 1);
    for (int i = 0; i < 2 && depth > 0; i++)
        CHECK_EQ(sched_spawn(node, (void *)(depth - 1), s), 0);
}

static void run(void)
{
    ran = 0;
    CHECK_EQ(sched_init(4, 4, node, (void *)5), 0);
    CHECK_EQ(ran, 63);
}

/* Beside threads that are asleep: one that is busy may hold a lock of the C library's, which nobody frees in the child. */
static pid_t make_child(int way)
{
    pause_us(50000);
    if (way == 1 && _Fork)
        return _Fork();
    return (pid_t)syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
}

static void check_parents(void)
{
    if (pool)
        CHECK_ERRNO(sched_pool_submit(pool, node, (void *)3), EINVAL);
    if (running)
        CHECK_ERRNO(sched_spawn(node, (void *)3, running), EINVAL);
}

static void in_forked(int way, int depth);

static void fork_child(int way, int depth)
{
    int status;
    pid_t pid = make_child(way);
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(20);
        in_forked(way, depth);
        _exit(7);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(!WIFSIGNALED(status)); /* SIGALRM: it hung */
    CHECK_EQ(status, 7 << 8);
}

static void in_forked(int way, int depth)
{
    check_parents();
    run();
    check_parents();
    struct sched_pool *own = pool_of(4);
    ran = 0;
    CHECK_EQ(sched_pool_run(own, node, (void *)5), 0);
    CHECK_EQ(ran, 63);
    if (depth > 0)
        fork_child(way, depth - 1);
    CHECK_EQ(sched_pool_destroy(own), 0);
    run();
}

static void keep_open(void *closure, struct scheduler *s)
{
    (void)closure;
    running = s;
    while (!over)
        pause_us(1000);
}

static void *keeper(void *arg)
{
    CHECK_EQ(sched_init(2, 4, keep_open, NULL), 0);
    return arg;
}

int main(void)
{
    pthread_t thread;
    setenv("SCHED_WARM", "1min", 1);
    run();
    for (int way = 0; way < 2; way++)
        fork_child(way, 2);
    pool = pool_of(4);
    CHECK_EQ(pthread_create(&thread, NULL, keeper, NULL), 0);
    while (!running)
        pause_us(50);
    for (int way = 0; way < 2; way++)
        fork_child(way, 2);
    over = 1;
    pthread_join(thread, NULL);
    ran = 0;
    CHECK_EQ(sched_pool_run(pool, node, (void *)5), 0);
    CHECK_EQ(ran, 63);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    run();
    return 0;
}
