/* A child made by _Fork or clone, for which no fork handler is called, beside resting threads, a pool or a
 * run in flight: it may have runs and pools of its own; those of its parent give EINVAL.
 * ctest: sleeps
 * ctest: static
 * ctest: matrix deque=mutex,split idle=park threads=1,4 */
#include "child.h"
#include "nodes.h"
#include "pool.h"
#include "raw_fork.h"

static struct sched_pool *pool;
static struct scheduler *_Atomic running;
static atomic_int over;

static void run_in(struct sched_pool *p)
{
    ran = 0;
    CHECK_EQ(sched_pool_run(p, node, (void *)5), 0);
    CHECK_EQ(ran, 63);
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
    pid_t pid = raw_fork(way);
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(20);
        in_forked(way, depth);
        _exit(7);
    }
    CHECK_EQ(wait_for(pid), 7 << 8); /* SIGALRM: it hung */
}

static void in_forked(int way, int depth)
{
    check_parents();
    run_nodes();
    check_parents();
    struct sched_pool *own = pool_of(4);
    run_in(own);
    if (depth > 0)
        fork_child(way, depth - 1);
    CHECK_EQ(sched_pool_destroy(own), 0);
    run_nodes();
}

static void keep_open(void *closure, struct scheduler *s)
{
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
    run_nodes();
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
    run_in(pool);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    run_nodes();
    return 0;
}
