/* A spawn wakes a sleeping worker: a task waits, on its worker, for a child that another
 * worker must run, over and over, the others asleep or about to be.
 * ctest: matrix refuse kind=lifo,fifo,steal,cont threads=2,4,16 */
#include "check.h"
#include <stdatomic.h>

enum { ROUNDS = 40 };

static atomic_int ran;

static void child(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&ran, 1);
}

static void root(void *closure, struct scheduler *s)
{
    unsigned turns = 0;
    for (int round = 1; round <= ROUNDS; round++) {
        CHECK_EQ(sched_spawn(child, NULL, s), 0);
        while (ran < round)
            spin(&turns);
        pause_us(round % 4 == 0 ? 1500 : 3 * round);
    }
}

int main(void)
{
    CHECK_EQ(sched_init(4, 4, root, NULL), 0);
    CHECK_EQ(ran, ROUNDS);
    return 0;
}
