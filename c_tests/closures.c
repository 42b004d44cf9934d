/* Closures may be NULL or integers: the library hands them on and never looks inside.
 * ctest: matrix few idle=park threads=1,4 */
#include "check.h"
#include <stdatomic.h>

static void *const closures[] = {
    NULL, (void *)1, (void *)-1, (void *)42, (void *)INTPTR_MAX, (void *)INTPTR_MIN, (void *)7, (void *)2,
};
enum { KINDS = sizeof closures / sizeof *closures, EACH = 50 };

static atomic_int got[KINDS], roots;

static void leaf(void *closure, struct scheduler *s)
{
    CHECK(s != NULL);
    for (int i = 0; i < KINDS; i++)
        if (closures[i] == closure) {
            atomic_fetch_add(&got[i], 1);
            return;
        }
    CHECK(!"a closure that was never given");
}

static void root(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&roots, 1);
    CHECK(closure == (roots == 1 ? NULL : (void *)-5));
    for (int i = 0; i < KINDS * EACH; i++)
        CHECK_EQ(sched_spawn(leaf, closures[i % KINDS], s), 0);
}

int main(void)
{
    CHECK_EQ(sched_init(2, 0, root, NULL), 0);
    CHECK_EQ(sched_init(2, 0, root, (void *)-5), 0);
    CHECK_EQ(roots, 2);
    for (int i = 0; i < KINDS; i++)
        CHECK_EQ(got[i], 2 * EACH);
    return 0;
}
