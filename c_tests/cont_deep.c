/* Kind cont: tasks that spawn as their last act lie below each other, thousands deep; where no memory is left for
 * stacks they are queued, and all run.
 * ctest: matrix kind=cont idle=park threads=1,2,4 timeout=60
 * ctest: matrix kind=cont idle=park threads=1,4 args=little timeout=60 */
#include "child.h"
#include "proc.h"
#include <stdatomic.h>

enum { DEPTH = 5000 };

static atomic_long ran;

static void link_of_chain(void *closure, struct scheduler *s)
{
    long left = (long)closure;
    atomic_fetch_add(&ran, 1);
    if (left > 1)
        CHECK_EQ(sched_spawn(link_of_chain, (void *)(left - 1), s), 0);
}

static void chain(void *arg)
{
    if (arg != NULL) { /* room for some stacks only */
        rlim_t bytes = (rlim_t)(status_kb("VmSize") + (256 << 10)) * 1024;
        struct rlimit limit = {bytes, bytes};
        CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    }
    for (int round = 1; round <= 3; round++) {
        CHECK_EQ(sched_init(2, 4, link_of_chain, (void *)(long)DEPTH), 0);
        CHECK_EQ(ran, (long)round * DEPTH);
    }
}

int main(int argc, char **argv)
{
    in_child(chain, argc > 1 ? argv[1] : NULL);
    CHECK_CHILD_PASSED();
    return 0;
}
