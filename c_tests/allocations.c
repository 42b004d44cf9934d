/* allocations: the calls that fail without memory. */
#include "case.h"
#include "alloc.h"
#include "child.h"
#include "proc.h"
#include "pool.h"
#include <sched_tasks.h>
#include <sys/mman.h>

/* alloc_ends: From some allocation on, all allocations fail. A run or a pool either fails with an
 * error, or does its work. Tasks that yield and join continue, even if queues would need memory.
 * Nothing hangs or aborts. (No task here waits for a task that may lie below it: without memory for
 * stacks, other tasks run on top of a waiting one.)
 * ctest: matrix idle=park,nap threads=1,4 timeout=60
 * ctest: matrix kind=steal,fifo idle=park threads=1,4 join=help timeout=60 */
enum { TASKS = 20, TURNS = 50, ALLOC_ENDS_MOST = 400 };

static atomic_int done, roots;

static void child_task(void *closure, struct scheduler *s)
{
    sched_task_yield(s);
}

static void work(void *closure, struct scheduler *s)
{
    sched_task t;
    sched_fork(&t, child_task, closure, s);
    for (int i = 0; i < TURNS; i++)
        sched_task_yield(s);
    sched_join(&t, s);
    done++;
}

/* With `fail` set: from here on. */
static void alloc_ends_root(void *fail, struct scheduler *s)
{
    int accepted = 0, before = done;
    sched_task t;
    for (int i = 0; i < TASKS; i++)
        accepted += sched_spawn(work, NULL, s) == 0;
    if (fail)
        left = 0;
    sched_fork(&t, child_task, NULL, s);
    for (int i = 0; i < TURNS; i++)
        sched_task_yield(s);
    sched_join(&t, s);
    while (done < before + accepted)
        sched_task_yield(s);
    roots++;
}

/* The stacks of a run before are there, as is the memory for the threads; nothing more is to be had. */
static void in_a_run(void *arg)
{
    int fail = 1;
    CHECK_EQ(sched_init(4, 4, alloc_ends_root, NULL), 0);
    CHECK_EQ(sched_init(4, 4, alloc_ends_root, &fail), 0);
    CHECK_EQ(roots, 2);
}

static void init(void *allocations)
{
    left = *(long *)allocations;
    errno = 0;
    int result = sched_init(4, 4, alloc_ends_root, NULL);
    int error = errno, was = failed;
    left = LONG_MAX;
    if (result != 0)
        CHECK_EQ(error, ENOMEM);
    CHECK_EQ(roots, result == 0);
    _exit(was ? 0 : 4);
}

static void pool(void *allocations)
{
    left = *(long *)allocations;
    struct sched_pool *made = sched_pool_create(NULL);
    int error = errno;
    if (made != NULL) {
        int result = sched_pool_run(made, alloc_ends_root, NULL);
        CHECK_EQ(roots, result == 0);
        CHECK_EQ(sched_pool_destroy(made), 0);
    } else
        CHECK(error == ENOMEM || error == EAGAIN);
    int was = failed;
    left = LONG_MAX;
    _exit(was ? 0 : 4);
}

/* Until nothing fails. */
static void each(void (*body)(void *))
{
    for (long n = 0; n < ALLOC_ENDS_MOST; n += 1 + n / 20) {
        in_child(body, &n);
        if (WIFEXITED(child.status) && WEXITSTATUS(child.status) == 4)
            return;
        CHECK_CHILD_EXITED(0);
    }
}

CASE(alloc_ends)
{
    CHECK_IN_CHILD(in_a_run, NULL);
    each(init);
    each(pool);
}

/* block_no_memory: From some allocation of a run on each fails, for each of them: a blocking
 * section either does not begin, with EAGAIN, or it can be ended: the end waits for nobody's
 * memory.
 * ctest: matrix idle=park threads=1,2,4 timeout=60 */
enum { SECTIONS = 5, BLOCK_NO_MEMORY_MOST = 400 };

static atomic_int began;

static void section(struct scheduler *s)
{
    if (sched_block_begin(s) != 0) {
        CHECK_EQ(get_errno(), EAGAIN);
        return;
    }
    began++;
    pause_us(1000); /* another thread takes over the worker */
    CHECK_EQ(sched_block_end(s), 0);
}

static void block_no_memory_task(void *closure, struct scheduler *s)
{
    for (int i = 0; i < SECTIONS; i++)
        section(s);
}

static void from(void *allocations)
{
    CHECK_EQ(sched_init(3, 8, block_no_memory_task, NULL), 0); /* its threads are kept */
    CHECK_EQ(began, SECTIONS);
    left = *(long *)allocations;
    errno = 0;
    int result = sched_init(3, 8, block_no_memory_task, NULL);
    int error = errno, was = failed;
    left = LONG_MAX;
    if (result != 0)
        CHECK_EQ(error, ENOMEM);
    CHECK_EQ(sched_init(3, 8, block_no_memory_task, NULL), 0);
    CHECK(began >= 2 * SECTIONS);
    _exit(was ? 0 : 4);
}

CASE(block_no_memory)
{
    long n = 0;
    do {
        in_child(from, &n);
        CHECK(WIFEXITED(child.status));
        if (WEXITSTATUS(child.status) != 4)
            CHECK_CHILD_EXITED(0);
    } while (WEXITSTATUS(child.status) != 4 && ++n < BLOCK_NO_MEMORY_MOST);
    CHECK(n > 0 && n < BLOCK_NO_MEMORY_MOST);
}

/* graph_no_memory: Without memory the first run of a graph fails with ENOMEM and changes nothing;
 * with memory the graph runs. Later runs allocate nothing, once the only worker has its queue and
 * its stacks. An edge for which there is no memory is refused.
 * ctest: static debug
 * ctest: matrix idle=park threads=1 */
enum { ROWS = 8, WIDTH = 3, LATER_RUNS = 20 }; /* a queue that was used has room for this many */

static sched_graph graph = SCHED_GRAPH_INIT;
static struct step {
    sched_node node;
    int ran;
} steps[ROWS][WIDTH];

static void step(void *closure, struct scheduler *s)
{
    struct step *step = closure;
    if (step >= steps[1]) {
        size_t row = (size_t)(step - steps[0]) / WIDTH;
        for (int i = 0; i < WIDTH; i++)
            CHECK_EQ(steps[row - 1][i].ran, step->ran + 1);
    }
    step->ran++;
}

static void have_run(int times)
{
    for (int row = 0; row < ROWS; row++)
        for (int i = 0; i < WIDTH; i++)
            CHECK_EQ(steps[row][i].ran, times);
}

static void run_without_memory(struct scheduler *s)
{
    int before = steps[0][0].ran;
    failed = 0;
    left = 0;
    for (int i = 1; i <= LATER_RUNS; i++) {
        CHECK_EQ(sched_graph_run(&graph, s), 0);
        have_run(before + i);
    }
    left = LONG_MAX;
    CHECK_EQ(failed, 0);
}

static void graph_no_memory_root(void *closure, struct scheduler *s)
{
    for (int row = 0; row < ROWS; row++)
        for (int i = 0; i < WIDTH; i++) {
            struct step *here = &steps[row][i];
            CHECK_EQ(sched_node_init(&here->node, step, here), 0);
            CHECK_EQ(sched_graph_add(&graph, &here->node), 0);
            for (int k = 0; k < 2 * WIDTH && k < row * WIDTH; k++) { /* the two rows before */
                sched_node *before = &steps[row - 1 - k / WIDTH][k % WIDTH].node;
                if (k == 4) {
                    left = 0;
                    CHECK_ERRNO(sched_after(&here->node, before), ENOMEM);
                    left = LONG_MAX;
                }
                CHECK_EQ(sched_after(&here->node, before), 0);
            }
        }
    for (int i = 0; i < 2; i++) {
        left = 0;
        CHECK_ERRNO(sched_graph_run(&graph, s), ENOMEM);
        left = LONG_MAX;
        have_run(0);
    }
    CHECK_EQ(sched_graph_run(&graph, s), 0);
    have_run(1);
    run_without_memory(s);
}

CASE(graph_no_memory)
{
    setenv("SCHED_THREADS", "1", 1);
    CHECK_EQ(sched_init(1, 0, graph_no_memory_root, NULL), 0);
    CHECK_EQ(sched_graph_destroy(&graph), 0);
}

/* pool_alloc: Each allocation of sched_pool_create fails in turn: the call returns NULL, with
 * ENOMEM, or with EAGAIN if the allocation was for a thread; no thread is left, and nothing hangs.
 * If no allocation fails, the pool works.
 * ctest: matrix idle=park,nap deque=mutex,split threads=1,4 timeout=60 */
/* One of them. */
static int ran;

COUNTING_TASK(pool_alloc_task, ran)

static long created_with(long allocations)
{
    struct sched_options options = {.size = sizeof options, .nthreads = 4};
    left = allocations;
    errno = 0;
    struct sched_pool *pool = sched_pool_create(&options);
    int error = errno;
    long rest = left;
    left = LONG_MAX;
    if (pool != NULL) {
        CHECK_EQ(sched_pool_run(pool, pool_alloc_task, NULL), 0);
        CHECK_EQ(sched_pool_destroy(pool), 0);
        CHECK_EQ(ran, 1);
        return rest >= 0; /* some failures only cost a thread */
    }
    CHECK(error == ENOMEM || error == EAGAIN);
    CHECK(rest < 0);
    return 0;
}

static void pool_alloc_body(void *allocations)
{
    setenv("SCHED_WARM", "0", 1);
    long all = created_with((long)allocations);
    CHECK(threads_become(1));
    _exit(all ? 7 : 0);
}

CASE(pool_alloc)
{
    only_one = 1;
    long n = 0;
    do {
        in_child(pool_alloc_body, (void *)n);
        CHECK(WIFEXITED(child.status));
        if (WEXITSTATUS(child.status) != 7)
            CHECK_CHILD_EXITED(0);
    } while (WEXITSTATUS(child.status) != 7 && ++n < 200);
    CHECK(n > 5);
    CHECK(n < 200);
}

/* watchdog_no_memory: SCHED_WATCHDOG and SCHED_STATS=live in a process that has no more memory: at
 * SIGQUIT the watchdog says so, and the run continues.
 * ctest: env=SCHED_WATCHDOG=20ms env=SCHED_STATS=live timeout=60 */
static sched_sem never = SCHED_SEM_INIT(0);

static void *post(void *arg)
{
    pause_us(100000);
    CHECK_EQ(kill(getpid(), SIGQUIT), 0);
    pause_us(200000);
    left = LONG_MAX;
    CHECK_EQ(sched_sem_post(&never), 0);
    return NULL;
}

static void watchdog_no_memory_root(void *closure, struct scheduler *s)
{
    pthread_t id = begin_thread(post, NULL);
    left = 0;
    CHECK_EQ(sched_sem_wait(&never, s), 0);
    pthread_join(id, NULL);
}

static void watchdog_no_memory_body(void *arg)
{
    CHECK_EQ(sched_init(2, 4, watchdog_no_memory_root, NULL), 0);
}

CASE(watchdog_no_memory)
{
    struct patience p = patience_of(30);
    do
        in_child(watchdog_no_memory_body, NULL); /* until the thread of the watchdog has looked in time */
    while (WIFEXITED(child.status) && !strstr(child.said, "no memory to say more") && is_patient(&p));
    CHECK_CHILD_EXITED(0);
    CHECK_CHILD_SAID("libsched: SIGQUIT");
    CHECK_CHILD_SAID("(there is no memory to say more)");
}
