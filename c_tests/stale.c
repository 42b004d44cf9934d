/* The s of a run that has ended: -1 with EINVAL, right after it and after many others,
 * from every worker's pointer; nothing is run.
 * ctest: matrix idle=park threads=1,4 */
#include "check.h"
#include <stdatomic.h>

enum { RUNS = 30, KEPT = 64 };

static struct scheduler *kept[RUNS][KEPT];
static atomic_int count, wrong;

static void never(void *closure, struct scheduler *s)
{
    atomic_fetch_add(&wrong, 1);
}

static void leaf(void *closure, struct scheduler *s)
{
    int at = atomic_fetch_add(&count, 1);
    CHECK(at < KEPT);
    kept[(long)closure][at] = s;
}

static void root(void *closure, struct scheduler *s)
{
    for (int i = 0; i < KEPT - 1; i++)
        CHECK_EQ(sched_spawn(leaf, closure, s), 0);
    leaf(closure, s);
}

static void *stranger(void *arg)
{
    CHECK_ERRNO(sched_spawn(never, NULL, arg), EINVAL);
    return NULL;
}

int main(void)
{
    for (long run = 0; run < RUNS; run++) {
        pthread_t thread;
        count = 0;
        CHECK_EQ(sched_init((int)run % 4 + 1, 1, root, (void *)run), 0);
        CHECK_EQ(count, KEPT);
        for (long old = run; old >= 0; old -= 7)
            for (int i = 0; i < KEPT; i++)
                CHECK_ERRNO(sched_spawn(never, NULL, kept[old][i]), EINVAL);
        CHECK_EQ(pthread_create(&thread, NULL, stranger, kept[0][run]), 0);
        pthread_join(thread, NULL);
    }
    CHECK_EQ(wrong, 0);
    return 0;
}
