/* The clocks are refused, from the start or in the middle: runs and pools do their work, and end, with every way to be idle.
 * (Where the C library reads the clock without a system call, nothing can refuse it; so this test puts itself before the
 * C library's function.)
 * ctest: matrix timeout=60 */
#include "check.h"
#include <sched_tasks.h>
#include <stdatomic.h>

enum { TASKS = 100, NUMBERS = 1000 };

static atomic_int is_refused;

int clock_gettime(clockid_t clock, struct timespec *to)
{
    if (is_refused) {
        errno = EPERM;
        return -1;
    }
    return (int)syscall(SYS_clock_gettime, clock, to);
}

static atomic_int ran, counted;

static void task(void *closure, struct scheduler *s)
{
    sched_task_yield(s);
    ran++;
}

static void count(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    atomic_fetch_add(&counted, (int)(hi - lo));
}

static void root(void *refuse, struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    ran = counted = 0;
    is_refused = *(int *)refuse;
    for (int i = 0; i < TASKS; i++) {
        CHECK_EQ(sched_group_spawn(&g, task, NULL, s), 0);
        if (i % 10 == 0)
            pause_us(200); /* others become idle */
    }
    CHECK_EQ(sched_group_wait(&g, s), 0);
    CHECK_EQ(sched_for(0, NUMBERS, 0, count, NULL, s), 0);
    CHECK_EQ(ran, TASKS);
    CHECK_EQ(counted, NUMBERS);
    if (sched_block_begin(s) == 0) {
        pause_us(200);
        CHECK_EQ(sched_block_end(s), 0);
    }
}

int main(void)
{
    for (int refuse = 0; refuse < 2; refuse++)
        CHECK_TIMES(3, sched_init(3, 8, root, &refuse));
    struct sched_pool *pool = sched_pool_create(NULL);
    CHECK(pool != NULL);
    int refuse = 1;
    CHECK_EQ(sched_pool_run(pool, root, &refuse), 0);
    CHECK_EQ(sched_pool_destroy(pool), 0);
    refuse = 0;
    CHECK_EQ(sched_init(3, 8, root, &refuse), 0);
    return 0;
}
