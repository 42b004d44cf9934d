/* qlen 0 or less is a default, 1 grows, a large one is only a promise of room.
 * ctest: matrix few idle=park threads=1,4 */
#include "marks.h"

enum { N = 1000 };

static void leaf(void *closure, struct scheduler *s)
{
    mark((long)closure);
}

static void root(void *closure, struct scheduler *s)
{
    for (long i = 0; i < N; i++)
        CHECK_EQ(sched_spawn(leaf, (void *)i, s), 0);
}

int main(void)
{
    static const int lengths[] = {0, 1, -1, INT_MIN, 2, 3, 50, 128, 999, 1000, 5000000};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        CHECK_EQ(sched_init(4, lengths[i], root, NULL), 0);
        check_marks(N);
    }
    /* Absurd: granted lazily, or refused for want of memory; nothing in between. */
    errno = 0;
    if (sched_init(2, INT_MAX, root, NULL) == 0)
        check_marks(N);
    else {
        CHECK_EQ(errno, ENOMEM);
        check_marks(0);
    }
    return 0;
}
