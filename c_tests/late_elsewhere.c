/* The same for a worker that did not start the run: it gets a task, spawns more, and computes
 * until others have run them, while the first worker sleeps, or computes as well.
 * ctest: matrix kind=lifo,fifo,steal,cont idle=park,nap threads=4
 * ctest: matrix kind=steal,cont deque=split idle=backoff,spin threads=4 */
#include "check.h"
#include "where.h"
#include <stdatomic.h>

enum { TASKS = 1000 };

static atomic_int ran;

static void leaf(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&ran, 1);
}

static void compute(struct scheduler *s)
{
    int wanted = ran + TASKS;
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(sched_spawn(leaf, NULL, s), 0);
    for (struct patience p = patience_of(20); atomic_load_explicit(&ran, memory_order_relaxed) < wanted;)
        CHECK(is_patient(&p));
}

static int calls;

/* Several tasks may look for the right place; the deed is done once. */
static void once(struct scheduler *s)
{
    if (!__atomic_exchange_n(&calls, 1, __ATOMIC_SEQ_CST))
        compute(s);
}

int main(void)
{
    for (int run = 1; run <= 5; run++) {
        volatile int done = 0;
        struct deed deed = {once, 0, &done};
        calls = 0;
        CHECK_EQ(sched_init(4, 4, seek_place, &deed), 0);
        CHECK_EQ(ran, run * TASKS);
    }
    return 0;
}
