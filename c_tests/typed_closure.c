/* sched_typed.h: an object that begins with a descriptor may be the closure of another task that is spawned between the
 * fork and the join: each of the two tasks runs once.
 * ctest: static debug
 * ctest: matrix few threads=1,2,4 */
#include "check.h"
#include <sched_typed.h>
#include <stdatomic.h>

enum { ROUNDS = 2000 };

static atomic_int forked, spawned;

SCHED_TASK(long, next, long, n)
{
    atomic_fetch_add(&forked, 1);
    return n + 1;
}

struct shared {
    next_task task;
    sched_sem done;
};

static void other(void *closure, struct scheduler *s)
{
    struct shared *shared = closure;
    atomic_fetch_add(&spawned, 1);
    CHECK_EQ(sched_sem_post(&shared->done), 0);
}

SCHED_TASK(long, root, long, rounds)
{
    long sum = 0;
    for (long i = 0; i < rounds; i++) {
        struct shared shared;
        CHECK_EQ(sched_sem_init(&shared.done, 0), 0);
        SCHED_FORK(next, &shared.task, i);
        CHECK_EQ(sched_spawn(other, &shared, SCHED_SELF), 0);
        sum += SCHED_JOIN(next, &shared.task);
        CHECK_EQ(sched_sem_wait(&shared.done, SCHED_SELF), 0);
    }
    return sum;
}

static void start(void *sum, struct scheduler *s)
{
    *(long *)sum = root(ROUNDS, s);
}

int main(void)
{
    long sum = 0;
    CHECK_EQ(sched_init(0, 0, start, &sum), 0);
    CHECK_EQ(sum, ROUNDS * (ROUNDS + 1L) / 2);
    CHECK_EQ(atomic_load(&forked), ROUNDS);
    CHECK_EQ(atomic_load(&spawned), ROUNDS);
    return 0;
}
