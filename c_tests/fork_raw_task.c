/* In a child that a task makes by _Fork or clone, for which no fork handler is called, the s of another worker gives
 * EINVAL: the child has none of the workers. Its parent's run goes on.
 * ctest: static
 * ctest: matrix kind=steal,lifo,fifo idle=park threads=2,4 */
#include "raw_fork.h"
#include <stdatomic.h>

static struct scheduler *_Atomic other;
static atomic_int runs;

static void count(void *closure, struct scheduler *s)
{
    (void)closure, (void)s;
    atomic_fetch_add(&runs, 1);
}

static void leave_s(void *closure, struct scheduler *s)
{
    if (s != closure)
        atomic_store(&other, s);
}

static void try_other(int way)
{
    pid_t pid = raw_fork(way);
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(20);
        CHECK_ERRNO(sched_spawn(count, NULL, other), EINVAL);
        _exit(7);
    }
    CHECK_EQ(wait_for(pid), 7 << 8);
}

static void root(void *closure, struct scheduler *s)
{
    while (!atomic_load(&other)) {
        CHECK_EQ(sched_spawn(leave_s, s, s), 0);
        pause_us(1000);
    }
    for (int way = 0; way < 2; way++) {
        try_other(way);
        CHECK_EQ(sched_spawn(count, NULL, other), 0); /* a look in the parent */
        try_other(way);
    }
}

int main(void)
{
    CHECK_EQ(sched_init(0, 1024, root, NULL), 0);
    CHECK_EQ(runs, 2);
    return 0;
}
