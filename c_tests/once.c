/* Every task runs exactly once, whatever the shape of the tree.
 * ctest: matrix few static */
#include "marks.h"

enum { N = 3000 };

static void task(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    mark(i);
    for (long child = 4 * i + 1; child <= 4 * i + 4 && child < N; child++)
        CHECK_EQ(sched_spawn(task, (void *)child, s), 0);
}

int main(void)
{
    CHECK_EQ(sched_init(4, 16, task, (void *)0), 0);
    check_marks(N);
    return 0;
}
