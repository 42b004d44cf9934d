/* Kind cont: in a chain whose tasks spawn the next and then wait, no more than some 1024 spawners are queued: each task
 * that waits at the end of the chain does not begin to call the next 1024 at once.
 * ctest: matrix kind=cont deque=split idle=park threads=1,2 */
#include "check.h"
#include "stats_line.h"
#include <sched_tasks.h>

/* The spawners, and the few tasks that are queued for other reasons. */
enum { LENGTH = 6000, QUEUED = 1024 + 64 };

static sched_sem turn = SCHED_SEM_INIT(0);
static long ran;

static void link_of_chain(void *closure, struct scheduler *s)
{
    long left = (long)closure;
    if (left > 1)
        CHECK_EQ(sched_spawn(link_of_chain, (void *)(left - 1), s), 0);
    else
        CHECK_EQ(sched_sem_post(&turn), 0);
    CHECK_EQ(sched_sem_wait(&turn, s), 0);
    ran++;
    CHECK_EQ(sched_sem_post(&turn), 0);
}

int main(void)
{
    gather_stats();
    CHECK_EQ(sched_init(2, 4, link_of_chain, (void *)(long)LENGTH), 0);
    CHECK_EQ(ran, LENGTH);
    const char *line = gathered_stats();
    CHECK_EQ(stat_number(line, "tasks"), LENGTH);
    long queued = stat_number(line, "queue_peak");
    if (queued > QUEUED)
        CHECK_EQ(queued, QUEUED);
    return 0;
}
