/* The workers run tasks at the same time: four tasks, each of which waits for the others.
 * ctest: matrix refuse kind=lifo,fifo,steal,cont threads=4,16 */
#include "check.h"
#include <stdatomic.h>

enum { ROUNDS = 10, PARTY = 4 };

static atomic_int arrived[ROUNDS];

static void guest(void *closure, struct scheduler *s)
{
    long round = (long)closure;
    unsigned turns = 0;
    atomic_fetch_add(&arrived[round], 1);
    while (arrived[round] < PARTY)
        spin(&turns);
}

static void root(void *closure, struct scheduler *s)
{
    for (long round = 0; round < ROUNDS; round++) {
        for (int i = 1; i < PARTY; i++)
            CHECK_EQ(sched_spawn(guest, (void *)round, s), 0);
        guest((void *)round, s);
    }
}

int main(void)
{
    CHECK_EQ(sched_init(4, 4, root, NULL), 0);
    for (int round = 0; round < ROUNDS; round++)
        CHECK_EQ(arrived[round], PARTY);
    return 0;
}
