/* The memory of a long queue, and of argument blocks, goes back to the system when the pool has been idle for
 * SCHED_WARM: again after each time of many tasks, with the next tasks run as before. So for tasks that a worker spawns,
 * with copied arguments or without, and for tasks from outside.
 * ctest: sleeps
 * ctest: matrix kind=steal,cont idle=park,backoff threads=1,4 overflow=grow,half timeout=120
 * ctest: matrix kind=lifo,fifo deque=mutex,spin,sem idle=park,nap threads=1,4 timeout=120
 * ctest: matrix kind=serial timeout=120
 * ctest: env=SCHED_WARM=0 timeout=120
 * ctest: env=SCHED_WARM=1500ms timeout=120 */
#include "pool.h"
#include "proc.h"
#include <stdatomic.h>

/* Tasks take at least 16 bytes each in a queue, and copies 48 in blocks. */
enum { N = 400000 / SMALLER, ROUNDS = 3, LEFT_KB = 3072 };

static struct sched_pool *pool;
static atomic_long ran;
static atomic_int full, holding;

static void leaf(void *closure, struct scheduler *s)
{
    atomic_fetch_add_explicit(&ran, 1, memory_order_relaxed);
}

/* Keeps a worker from the tasks until all are queued. */
static void hold(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&holding, 1);
    while (!full)
        pause_us(200);
}

static void hold_others(struct scheduler *s, int others)
{
    for (int i = 0; i < others; i++)
        CHECK_EQ(sched_spawn(hold, NULL, s), 0);
    while (holding < others)
        pause_us(200);
}

static void spawner(void *closure, struct scheduler *s)
{
    char argument[40] = {0};
    hold_others(s, kind_is("cont") ? 0 : threads_of(4) - 1); /* a spawn of kind cont calls the task */
    for (long i = 0; i < N; i++)
        CHECK_EQ(closure ? sched_spawn_copy(leaf, argument, sizeof argument, s) : sched_spawn(leaf, NULL, s), 0);
    full = 1;
}

static void from_outside(void)
{
    for (int i = 0; i < threads_of(4); i++)
        CHECK_EQ(sched_pool_submit(pool, hold, NULL), 0);
    for (long i = 0; i < N; i++)
        CHECK_EQ(sched_pool_submit(pool, leaf, NULL), 0);
    full = 1;
    CHECK_EQ(sched_pool_wait(pool), 0);
}

/* Fills the queue, empties it, and waits until the memory has gone. */
static void check_round(int what)
{
    long before = status_kb("VmRSS"), after = 0, full_kb;
    ran = 0;
    full = holding = 0;
    if (what == 2)
        from_outside();
    else
        CHECK_EQ(sched_pool_run(pool, spawner, what ? &pool : NULL), 0);
    CHECK_EQ(ran, N);
    full_kb = status_kb("VmHWM");
    for (struct patience p = patience_of(30); is_patient(&p); pause_us(20000))
        if ((after = status_kb("VmRSS")) < before + LEFT_KB)
            break;
    if (after >= before + LEFT_KB) {
        printf("round %d: %ld kB before, at most %ld, %ld when idle\n", what, before, full_kb, after);
        CHECK(after < before + LEFT_KB);
    }
}

int main(void)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    skip("the sanitizer keeps memory");
#endif
    pool = pool_of(4);
    CHECK_EQ(sched_pool_run(pool, leaf, NULL), 0);
    for (int round = 0; round < ROUNDS; round++)
        for (int what = 0; what < 3; what++)
            check_round(what);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    return 0;
}
