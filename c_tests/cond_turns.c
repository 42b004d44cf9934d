/* Two tasks signal each other in turn, a hunt for lost wake-ups; a third, queued below them, has its
 * turn all the same, in every kind.
 * ctest: matrix idle=park,spin
 * ctest: matrix idle=park join=help */
#include "sync.h"

enum { TURNS = 500 };

static sched_mutex m = SCHED_MUTEX_INIT;
static sched_cond turned = SCHED_COND_INIT;
static int turn, over;
static atomic_int third;

static void player(void *closure, struct scheduler *s)
{
    int me = (int)(long)closure;
    CHECK_EQ(sched_mutex_lock(&m, s), 0);
    while (!over) {
        while (turn % 2 != me && !over)
            CHECK_EQ(sched_cond_wait(&turned, &m, s), 0);
        turn++;
        over |= third && turn > TURNS;
        CHECK_EQ(sched_cond_signal(&turned), 0);
    }
    CHECK_EQ(sched_cond_broadcast(&turned), 0);
    CHECK_EQ(sched_mutex_unlock(&m), 0);
}

static void is_third(void *closure, struct scheduler *s)
{
    third = 1;
}

static void root(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(is_third, NULL, s), 0);
    spawn_all(2, player, s);
}

int main(void)
{
    run(2, root);
    CHECK(over);
    return 0;
}
