/* Each task counts once in the statistics: forked ones, whether joined in the order of the deque or
 * not, stolen, or run at once for want of room, and those of groups, also if they are skipped.
 * ctest: debug
 * ctest: matrix idle=park,spin */
#include "stats_line.h"
#include <sched_tasks.h>

enum { N = 100 };

static void leaf(void *closure, struct scheduler *s)
{
    if (closure)
        pause_us((long)closure);
}

/* Three rounds of N forks, N spawns among the last; N tasks of a group, and N of a cancelled one. */
static void root(void *closure, struct scheduler *s)
{
    sched_task tasks[N];
    sched_group g = SCHED_GROUP_INIT;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < N; i++) {
            sched_fork(&tasks[i], leaf, (void *)(i % 10 == 0 ? 20L : 0L), s);
            if (round == 2)
                CHECK_EQ(sched_spawn(leaf, NULL, s), 0);
        }
        for (int i = 0; i < N; i++)
            sched_join(&tasks[round ? i : N - 1 - i], s);
    }
    for (int i = 0; i < N; i++)
        CHECK_EQ(sched_group_spawn(&g, leaf, NULL, s), 0);
    CHECK_EQ(sched_group_wait(&g, s), 0);
    sched_group_cancel(&g);
    for (int i = 0; i < N; i++)
        CHECK_EQ(sched_group_spawn(&g, leaf, NULL, s), 0);
    CHECK_ERRNO(sched_group_wait(&g, s), ECANCELED);
}

static void full(void *closure, struct scheduler *s)
{
    sched_task tasks[N];
    for (int i = 0; i < N; i++)
        sched_fork(&tasks[i], leaf, NULL, s);
    for (int i = 0; i < N; i++)
        sched_join(&tasks[i], s);
}

int main(void)
{
    gather_stats();
    CHECK_EQ(sched_init(4, 10, root, NULL), 0);
    setenv("SCHED_OVERFLOW", "refuse", 1);
    CHECK_EQ(sched_init(4, 10, full, NULL), 0);
    char *first = gathered_stats(), *second = strchr(first, '\n') + 1;
    CHECK_EQ(stat_number(first, "tasks"), 1 + 6 * N);
    CHECK_EQ(stat_number(second, "tasks"), 1 + N);
    return 0;
}
