/* SCHED_SEED on the kinds with threads: accepted, and the results are the same.
 * ctest: matrix few idle=park threads=1,4 env=SCHED_SEED=7 */
#include "marks.h"

enum { N = 500 };

static void task(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    mark(i);
    for (long child = 2 * i + 1; child <= 2 * i + 2 && child < N; child++)
        CHECK_EQ(sched_spawn(task, (void *)child, s), 0);
}

int main(void)
{
    for (int run = 0; run < 5; run++) {
        CHECK_EQ(sched_init(4, 4, task, (void *)0), 0);
        check_marks(N);
    }
    return 0;
}
