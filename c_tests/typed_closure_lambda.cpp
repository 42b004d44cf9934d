/* sched_typed.hpp: an object that begins with a forked call may be the closure of another task that is spawned between
 * the fork and the join: each of the two runs once.
 * ctest: static debug
 * ctest: matrix few threads=1,2,4 */
#include "check.h"
#include <atomic>
#include <sched_typed.hpp>

enum { ROUNDS = 1000 };

static std::atomic<int> forked, spawned;

struct next {
    long n;
    long operator()(sched::frame) const
    {
        forked++;
        return n + 1;
    }
};

struct shared {
    sched::forked<next> call;
    sched_sem done;
};

static void other(void *closure, struct scheduler *)
{
    spawned++;
    CHECK_EQ(sched_sem_post(&static_cast<shared *>(closure)->done), 0);
}

static void start(void *sum, struct scheduler *s)
{
    sched::frame at(s);
    for (long i = 0; i < ROUNDS; i++) {
        shared both{sched::forked<next>(at, next{i}), {}};
        CHECK_EQ(sched_sem_init(&both.done, 0), 0);
        CHECK_EQ(sched_spawn(other, &both, s), 0);
        *static_cast<long *>(sum) += both.call.join(at);
        CHECK_EQ(sched_sem_wait(&both.done, s), 0);
    }
}

int main()
{
    long sum = 0;
    CHECK_EQ(sched_init(0, 0, start, &sum), 0);
    CHECK_EQ(sum, ROUNDS * (ROUNDS + 1L) / 2);
    CHECK_EQ(forked.load(), ROUNDS);
    CHECK_EQ(spawned.load(), ROUNDS);
    return 0;
}
