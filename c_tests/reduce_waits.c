/* Each part of a reduction gets the s of the worker that runs it, also where the part before, or a combination, has
 * waited and gone on with another worker.
 * ctest: matrix idle=park threads=2,4 */
#include "reductions.h"
#include <stdatomic.h>

enum { PARTS = 1000, OTHERS = 8, MOST = 64, ROUNDS = 200 / SMALLER };

static _Atomic(struct scheduler *) s_of[MOST]; /* of each worker, as its tasks got it */
static atomic_int over;
static __thread unsigned calls;

static void wait_seldom(void)
{
    if (++calls % 13 == 0)
        sched_task_yield(NULL);
}

static void part(size_t lo, size_t hi, void *into, void *ctx, struct scheduler *s)
{
    CHECK_EQ(hi - lo, 1);
    int i = sched_worker_index(NULL);
    CHECK(i >= 0 && i < MOST);
    struct scheduler *here = s_of[i];
    if (here != NULL)
        CHECK(s == here);
    *(long *)into += (long)lo;
    if (lo % 3 == 0)
        wait_seldom();
}

static void combine(void *into, const void *from, void *ctx)
{
    wait_seldom();
    *(long *)into += *(const long *)from;
}

/* Something to run while the others wait. */
static void other(void *closure, struct scheduler *s)
{
    s_of[sched_worker_index(s)] = s;
    for (int i = 0; i < 100; i++)
        sched_task_yield(NULL);
    atomic_fetch_add(&over, 1);
}

static void root(void *closure, struct scheduler *s)
{
    const long none = 0;
    for (int round = 0; round < ROUNDS; round++) {
        long sum = -1;
        for (int i = 0; i < OTHERS; i++)
            CHECK_EQ(sched_spawn(other, NULL, s), 0);
        reduction *by = round % 2 ? sched_reduce : sched_reduce_relaxed;
        CHECK_EQ(by(0, PARTS, 1, sizeof none, &none, part, combine, NULL, &sum, s), 0);
        CHECK_EQ(sum, PARTS * (PARTS - 1L) / 2);
    }
}

int main(void)
{
    CHECK_EQ(sched_init(4, 100, root, NULL), 0);
    CHECK_EQ(over, ROUNDS * OTHERS);
    return 0;
}
