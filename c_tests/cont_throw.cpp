/* Kind cont: a task that handles an exception spawns, and goes on in its handler, in another thread perhaps;
 * the child throws and catches meanwhile, and has none at first.
 * ctest: matrix kind=cont */
#include "check.h"
#include <atomic>
#include <exception>
#include <sched_tasks.h>
#include <stdexcept>

enum { ROUNDS = 300, DEPTH = 4 };

static std::atomic<int> caught;

static void throws(void *closure, struct scheduler *s)
{
    long depth = (long)closure;
    CHECK(std::current_exception() == nullptr);
    try {
        throw depth;
    } catch (long mine) {
        if (depth > 0) {
            CHECK_EQ(sched_spawn(throws, (void *)(depth - 1), s), 0);
            sched_task t;
            sched_fork(&t, throws, (void *)(depth - 1), s);
            sched_join(&t, s);
        }
        try {
            throw;
        } catch (long again) {
            CHECK_EQ(again, depth);
            CHECK_EQ(mine, depth);
            caught++;
        }
    }
    CHECK(std::current_exception() == nullptr);
}

int main()
{
    for (int i = 0; i < ROUNDS; i++) {
        caught = 0;
        CHECK_EQ(sched_init(4, 4, throws, (void *)(long)DEPTH), 0);
        CHECK_EQ(caught, (1 << (DEPTH + 1)) - 1);
    }
    return 0;
}
