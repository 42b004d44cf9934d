/* 100,000 tasks, divided by SMALLER, that wait at once: each on a stack of its own, in less than 1 GB, and all go on. Where
 * the address space, or the number of mappings, ends before that, a task that waits runs others on top of it,
 * and none is lost.
 * ctest: matrix kind=steal deque=split idle=park threads=1,2 timeout=120
 * ctest: env=SCHED_STACK=64K timeout=120
 * ctest: matrix deque=mutex,split idle=park threads=1,2,4 args=space
 * ctest: matrix deque=mutex,split idle=park threads=1,2,4 args=space join=help
 * ctest: args=mappings timeout=120 */
#include "aside.h"
#include "proc.h"
#include "seccomp.h"
#include <stdatomic.h>

enum { FEW = 5000 };

static int most = 100000 / SMALLER;
static long most_kb, mappings;
static atomic_int waiting, went_on, grouped;
static atomic_int all_there;
/* A task may lie on top of another, look among them, and must not wait for that. */
static int on_top;

static void wait_long(void *closure, struct scheduler *s)
{
    long here = 1 + (long)(intptr_t)closure;
    CHECK_EQ((uintptr_t)__builtin_frame_address(0) % 16, 0);
    if (++waiting == most && on_top)
        all_there = 1;
    while (!all_there)
        sched_task_yield(s);
    CHECK_EQ(here, 1 + (long)(intptr_t)closure);
    went_on++;
}

static void look(void *closure, struct scheduler *s)
{
    while (waiting < most)
        sched_task_yield(s);
    most_kb = status_kb("VmRSS");
    mappings = mapping_count();
    all_there = 1;
}

static void member(void *closure, struct scheduler *s)
{
    grouped++;
}

/* Each waits for a group. */
static void wait_for_group(void *closure, struct scheduler *s)
{
    sched_group g = SCHED_GROUP_INIT;
    CHECK_EQ(sched_group_spawn(&g, member, NULL, s), 0);
    CHECK_EQ(sched_group_spawn(&g, member, NULL, s), 0);
    CHECK_EQ(sched_group_wait(&g, s), 0);
}

static void root(void *closure, struct scheduler *s)
{
    CHECK_EQ(sched_spawn(look, NULL, s), 0);
    for (intptr_t i = 0; i < most; i++)
        CHECK_EQ(sched_spawn(wait_long, (void *)i, s), 0);
    for (int i = 0; i < FEW; i++)
        CHECK_EQ(sched_spawn(wait_for_group, NULL, s), 0);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    on_top = argc > 1;
    if (strcmp(what, "space") == 0) {
        rlim_t bytes = (rlim_t)(status_kb("VmSize") + (300 << 10)) * 1024;
        struct rlimit limit = {bytes, bytes};
        most = FEW;
        CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    } else if (strcmp(what, "mappings") == 0) {
        most = 24000; /* of which 16,000 have stacks of their own; the others lie on those */
        no_guards();
    }
    CHECK_EQ(sched_init(2, 10, root, NULL), 0);
    CHECK_EQ(went_on, most);
    CHECK_EQ(grouped, 2 * FEW);
    CHECK(most_kb < 1000000);
    if (*what == 0)
        CHECK(mappings < 1000 || mappings > most); /* one for all, or two each */
    return 0;
}
