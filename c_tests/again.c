/* Runs may follow one another at once, each complete when it returns.
 * ctest: matrix */
#include "marks.h"

enum { RUNS = 25, N = 60 };

static void task(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    mark(i);
    if (2 * i + 1 < N)
        CHECK_EQ(sched_spawn(task, (void *)(2 * i + 1), s), 0);
    if (2 * i + 2 < N)
        CHECK_EQ(sched_spawn(task, (void *)(2 * i + 2), s), 0);
}

int main(void)
{
    for (int run = 0; run < RUNS; run++) {
        CHECK_EQ(sched_init(run % 5, run, task, (void *)0), 0);
        check_marks(N);
    }
    return 0;
}
