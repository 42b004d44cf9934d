/* Kind cont beside C++'s runtime: forks nested deeper than the queue has room. A refused one is called at once, as in
 * C (fork_full), and an exception that its forker handles is the same one afterwards.
 * ctest: matrix kind=cont overflow=refuse */
#include "check.h"
#include <atomic>
#include <exception>
#include <sched_tasks.h>

enum { DEPTH = 40, QLEN = 5, ROUNDS = 50 };

static std::atomic<int> begun;

static void nest(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    begun++;
    if (i == 1)
        return;
    try {
        throw i;
    } catch (long) {
        sched_task t;
        sched_fork(&t, nest, (void *)(i - 1), s);
        if (threads_of(2) == 1)
            CHECK_EQ(begun, DEPTH);
        sched_join(&t, s);
        try {
            throw;
        } catch (long again) {
            CHECK_EQ(again, i);
        }
    }
}

int main()
{
    for (int i = 0; i < ROUNDS; i++) {
        begun = 0;
        CHECK_EQ(sched_init(2, QLEN, nest, (void *)(long)DEPTH), 0);
        CHECK_EQ(begun, DEPTH);
    }
    return 0;
}
