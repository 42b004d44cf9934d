/* A mutex excludes, also where its holder yields and goes on elsewhere; trylock never waits.
 * ctest: static debug
 * ctest: matrix refuse
 * ctest: matrix idle=park join=help
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace */
#include "sync.h"

enum { TASKS = 20, ROUNDS = 40 };

static sched_mutex m = SCHED_MUTEX_INIT, tried;
static long count, quick;
static atomic_int inside, ended;

APART void is_busy(void)
{
    CHECK_ERRNO(sched_mutex_trylock(&m), EBUSY);
}

static void adds(void *closure, struct scheduler *s)
{
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_EQ(sched_mutex_lock(&m, s), 0);
        CHECK_EQ(atomic_fetch_add(&inside, 1), 0);
        is_busy();
        long before = count;
        if (i % 4 == 0)
            sched_task_yield(s);
        count = before + 1;
        CHECK_EQ(atomic_fetch_sub(&inside, 1), 1);
        CHECK_EQ(sched_mutex_unlock(&m), 0);
        if (sched_mutex_trylock(&tried) == 0) {
            quick++;
            CHECK_EQ(sched_mutex_unlock(&tried), 0);
        }
    }
    ended++;
}

static void root(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_mutex_init(&tried), 0);
    spawn_all(TASKS, adds, s);
}

int main(void)
{
    run(4, root);
    CHECK_EQ(ended, TASKS);
    CHECK_EQ(count, TASKS * ROUNDS);
    CHECK(quick > 0);
    CHECK_ERRNO(sched_mutex_unlock(&m), EPERM);
    return 0;
}
