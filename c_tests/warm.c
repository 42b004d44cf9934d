/* The threads of a run are kept and are the threads of the next ones: over 1,000 runs no other
 * thread ever works, and there are never more.
 * ctest: static
 * ctest: matrix idle=park threads=4 env=SCHED_WARM=1min
 * ctest: matrix kind=lifo,steal deque=mutex,split idle=nap,spin threads=4 env=SCHED_WARM=1min */
#include "warm.h"

enum { RUNS = 1000 / SMALLER };

int main(void)
{
    setenv("SCHED_WARM", "1min", 1);
    struct party first = {.guests = threads_of(4)};
    give_party(&first);
    CHECK_EQ(thread_count(), first.guests);
    for (int i = 0; i < first.guests; i++)
        CHECK_EQ(party_had(&first, first.thread[i]), 1);
    for (int run = 0; run < RUNS; run++) {
        struct party party = {.guests = first.guests - (first.guests > 2) * run % 3};
        give_party(&party);
        for (int i = 0; i < party.guests; i++) {
            CHECK_EQ(party_had(&party, party.thread[i]), 1);
            CHECK_EQ(party_had(&first, party.thread[i]), 1);
        }
        CHECK_EQ(thread_count(), first.guests);
    }
    return 0;
}
