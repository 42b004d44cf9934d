/* A task may hand its s to another task through a global, and that one may spawn with it
 * from another worker; stale copies from other workers stay good while the run lasts.
 * ctest: matrix */
#include "marks.h"

enum { N = 400 };

static struct scheduler *_Atomic handed;

static void leaf(void *closure, struct scheduler *s)
{
    mark((long)closure);
    /* From now on others spawn with this worker's pointer. */
    handed = s;
}

static void user(void *closure, struct scheduler *s)
{
    long i = (long)closure;
    mark(i);
    CHECK_EQ(sched_spawn(leaf, (void *)(i + N), handed), 0);
    if (i % 2 == 0)
        CHECK_EQ(sched_spawn(leaf, (void *)(i + 2 * N), handed), 0);
}

static void root(void *closure, struct scheduler *s)
{
    handed = s;
    for (long i = 0; i < N; i++)
        CHECK_EQ(sched_spawn(user, (void *)i, handed), 0);
}

int main(void)
{
    CHECK_EQ(sched_init(4, 10, root, NULL), 0);
    for (long i = 1; i < N; i += 2) /* the ones that were not spawned */
        mark(i + 2 * N);
    check_marks(3 * N);
    return 0;
}
