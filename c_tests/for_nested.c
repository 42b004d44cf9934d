/* sched_for within sched_for, beside forks and spawns of the bodies, from several tasks of one
 * run at once: each index once, and a loop waits for its own parts only, whatever else is queued.
 * ctest: matrix threads=1,4
 * ctest: matrix idle=park threads=2,16 */
#include "marks.h"
#include <sched_tasks.h>

enum { OUTER = 60, INNER = 300, LOOPS = 5 };

static atomic_long spawned, forked, over;

static void count(void *counter, struct scheduler *s)
{
    atomic_fetch_add((atomic_long *)counter, 1);
}

struct row {
    long start;
    long sum[INNER];
};

static void inner(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    struct row *row = ctx;
    for (size_t k = lo; k < hi; k++) {
        if (k % 16 == 0) {
            sched_task t;
            sched_fork(&t, count, &forked, s);
            CHECK_EQ(sched_spawn(count, &spawned, s), 0);
            sched_join(&t, s);
        }
        row->sum[k] = row->start + (long)k;
        mark(row->start + (long)k);
    }
}

static void outer(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    for (size_t i = lo; i < hi; i++) {
        struct row row = {((long)(intptr_t)ctx * OUTER + (long)i) * INNER, {0}};
        CHECK_EQ(sched_for(0, INNER, i % 3 * 5, inner, &row, s), 0);
        for (long k = 0; k < INNER; k++)
            CHECK_EQ(row.sum[k], row.start + k);
    }
}

static void one_loop(void *number, struct scheduler *s)
{
    CHECK_EQ(sched_for(0, OUTER, (size_t)number % 2, outer, number, s), 0);
    atomic_fetch_add(&over, 1);
}

static void root(void *closure, struct scheduler *s)
{
    for (intptr_t i = 0; i < LOOPS; i++)
        CHECK_EQ(sched_spawn(one_loop, (void *)i, s), 0);
}

int main(void)
{
    CHECK_EQ(sched_init(4, 10, root, NULL), 0);
    CHECK_EQ(over, LOOPS);
    CHECK_EQ(forked, LOOPS * OUTER * (INNER / 16 + 1));
    CHECK_EQ(spawned, forked);
    check_marks((long)LOOPS * OUTER * INNER);
    return 0;
}
