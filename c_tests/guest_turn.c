/* Tasks that a thread outside has spawned get their turn although all workers are busy: with tasks that
 * yield until those have run, and with tasks that spawn their successors. The thread has ended, sleeps in
 * a call of its own, or is in a blocking section.
 * ctest: matrix threads=1,2 */
#include "pool.h"
#include <stdatomic.h>

enum { SPAWNED = 200 };

static struct scheduler *s_of;
static atomic_int ran, busy;

static void count(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&ran, 1);
}

static void yields(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&busy, 1);
    while (ran < *(int *)closure)
        sched_task_yield(s);
}

static void spawns_itself(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&busy, 1);
    if (ran < *(int *)closure)
        CHECK_EQ(sched_spawn(spawns_itself, closure, s), 0);
}

static sched_group left = SCHED_GROUP_INIT;

static void spawn_all(void)
{
    for (int i = 0; i < SPAWNED; i++)
        CHECK_EQ(sched_group_spawn(&left, count, NULL, s_of), 0);
}

static void *ends(void *arg)
{
    spawn_all();
    return NULL;
}

static void waits(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    int in_section = ctx != NULL;
    for (int i = 0; i < SPAWNED; i++)
        CHECK_EQ(sched_spawn(count, NULL, s), 0);
    if (in_section) {
        CHECK_EQ(sched_block_begin(s), 0);
        while (ran < SPAWNED)
            pause_us(200);
        CHECK_EQ(sched_block_end(s), 0);
    } else {
        sched_group g = SCHED_GROUP_INIT;
        CHECK_EQ(sched_group_spawn(&g, count, NULL, s), 0);
        CHECK_EQ(sched_group_wait(&g, s), 0);
        while (ran < SPAWNED)
            sched_task_yield(s);
    }
}

int main(void)
{
    static int enough = SPAWNED;
    if (kind_is("serial"))
        return 0;
    int workers = threads_of(2);
    struct sched_pool *pool = pool_of(2);
    s_of = sched_pool_scheduler(pool);
    for (int way = 0; way < 6; way++) {
        ran = busy = 0;
        taskfunc f = way % 2 ? spawns_itself : yields;
        if (way % 2 && kind_is("lifo"))
            continue; /* there the youngest task runs first, whatever waits */
        for (int i = 0; i < 2 * workers; i++)
            CHECK_EQ(sched_pool_submit(pool, f, &enough), 0);
        while (busy < 2 * workers)
            pause_us(200);
        if (way / 2 == 0) {
            pthread_t thread;
            CHECK_EQ(pthread_create(&thread, NULL, ends, NULL), 0);
            CHECK_EQ(pthread_join(thread, NULL), 0);
            while (ran < SPAWNED) /* a wait for the group would run none of them: they are not this thread's */
                pause_us(200);
            CHECK_EQ(sched_group_wait(&left, s_of), 0);
        } else {
            CHECK_EQ(sched_for(0, 1, 1, waits, way / 2 == 1 ? NULL : pool, s_of), 0);
        }
        CHECK_EQ(sched_pool_wait(pool), 0);
        CHECK(ran >= SPAWNED);
    }
    CHECK_EQ(sched_pool_destroy(pool), 0);
    return 0;
}
