/* sched_setaffinity refused by a sandbox, with whatever error: threads are made all the same.
 * ctest: matrix kind=lifo,steal,cont deque=mutex,split idle=park threads=4 */
#include "child.h"
#include "seccomp.h"
#include "stats_line.h"

static void leaf(void *closure, struct scheduler *s)
{
    pause_us(1000);
}

static void root(void *closure, struct scheduler *s)
{
    for (int i = 0; i < 50; i++)
        CHECK_EQ(sched_spawn(leaf, NULL, s), 0);
}

static void body(void *error)
{
    static const long calls[] = {SYS_sched_setaffinity};
    deny(calls, 1, (unsigned)(long)error);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(sched_init(4, 4, root, NULL), 0);
}

static void refused_with(int error)
{
    gather_stats();
    in_child(body, (void *)(long)error);
    const char *line = gathered_stats();
    CHECK_CHILD_PASSED();
    for (int run = 0; run < 3; run++) {
        CHECK_EQ(stat_number(line, "threads_missing"), 0);
        line = strchr(line, '\n') + 1;
    }
}

int main(void)
{
    refused_with(EPERM);
    refused_with(EAGAIN);
    return 0;
}
