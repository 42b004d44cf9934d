/* A loop without a grain keeps all workers busy: a few long iterations go to a worker each at once,
 * and where one part is much longer than the others these are taken meanwhile. (Each loop takes
 * milliseconds: after a loop that was short for a wake-up, the next one with this body begins alone.)
 * ctest: matrix idle=park threads=2,4 */
#include "check.h"
#include <sched_tasks.h>
#include <stdatomic.h>

enum { LONG_US = 3000 }; /* longer than any wake-up that the library records */

static atomic_int inside;

/* Ends when so many are in it at the same time. */
static void meet(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    int all = *(int *)ctx;
    for (size_t i = lo; i < hi; i++) {
        atomic_fetch_add(&inside, 1);
        while (inside < all)
            pause_us(50);
        pause_us(LONG_US);
    }
}

static atomic_long done;

/* The first ends after all others. */
static void last_of_all(size_t lo, size_t hi, void *ctx, struct scheduler *s)
{
    long n = *(long *)ctx;
    for (size_t i = lo; i < hi; i++) {
        while (i == 0 && done < n - 1)
            pause_us(50);
        if (i == 0)
            pause_us(LONG_US);
        atomic_fetch_add(&done, 1);
    }
}

static void root(void *closure, struct scheduler *s)
{
    int workers = *(int *)closure;
    for (int round = 0; round < 20; round++) {
        inside = 0;
        CHECK_EQ(sched_for(0, (size_t)workers, 0, meet, &workers, s), 0);
        for (size_t grain = 0; grain < 2; grain++) {
            long n = 1000;
            done = 0;
            CHECK_EQ(sched_for(0, (size_t)n, grain, last_of_all, &n, s), 0);
            CHECK_EQ(done, n);
        }
    }
}

int main(void)
{
    int workers = threads_of(4);
    if (workers > 1)
        CHECK_EQ(sched_init(4, 10, root, &workers), 0);
    return 0;
}
