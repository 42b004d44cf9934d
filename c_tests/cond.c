/* A bounded buffer with two conditions: each item comes out once, no wake-up is lost.
 * ctest: static debug
 * ctest: matrix refuse
 * ctest: matrix idle=park join=help
 * ctest: matrix deque=split,mutex idle=park threads=2,4 trace */
#include "marks.h"
#include "sync.h"

enum { PRODUCERS = 6, CONSUMERS = 4, ITEMS = 60, ROOM = 3, ALL = PRODUCERS * ITEMS };

static sched_mutex m = SCHED_MUTEX_INIT;
static sched_cond not_empty = SCHED_COND_INIT, not_full, over = SCHED_COND_INIT;
static long buffer[ROOM];
static int length, taken, left = CONSUMERS;

static void produces(void *closure, struct scheduler *s)
{
    for (long i = 0; i < ITEMS; i++) {
        CHECK_EQ(sched_mutex_lock(&m, s), 0);
        while (length == ROOM)
            CHECK_EQ(sched_cond_wait(&not_full, &m, s), 0);
        buffer[length++] = (long)closure * ITEMS + i;
        CHECK(length <= ROOM);
        CHECK_EQ(sched_cond_signal(&not_empty), 0);
        CHECK_EQ(sched_mutex_unlock(&m), 0);
    }
}

static void consumes(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_mutex_lock(&m, s), 0);
    for (;;) {
        while (length == 0 && taken < ALL)
            CHECK_EQ(sched_cond_wait(&not_empty, &m, s), 0);
        if (taken == ALL)
            break;
        mark(buffer[--length]);
        taken++;
        CHECK_EQ(sched_mutex_unlock(&m), 0);
        CHECK_EQ(sched_cond_signal(&not_full), 0); /* without the mutex */
        CHECK_EQ(sched_mutex_lock(&m, s), 0);
    }
    if (--left == 0)
        CHECK_EQ(sched_cond_signal(&over), 0);
    CHECK_EQ(sched_cond_broadcast(&not_empty), 0);
    CHECK_EQ(sched_mutex_unlock(&m), 0);
}

static void root(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_cond_init(&not_full), 0);
    spawn_all(CONSUMERS, consumes, s);
    spawn_all(PRODUCERS, produces, s);
    CHECK_EQ(sched_mutex_lock(&m, s), 0);
    while (left > 0)
        CHECK_EQ(sched_cond_wait(&over, &m, s), 0);
    CHECK_EQ(sched_mutex_unlock(&m), 0);
    CHECK_EQ(taken, ALL);
}

int main(void)
{
    run(4, root);
    check_marks(ALL);
    return 0;
}
