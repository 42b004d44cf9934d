/* exit, _exit and quick_exit end a process that has the default pool: at once while tasks of it run, also by such a
 * task. Exit handlers may use it, those that were registered before its first use, too. If no task is left at exit,
 * the statistics are written.
 * ctest: static debug
 * ctest: matrix deque=split,mutex,ring idle=park,spin threads=1,4
 * ctest: env=SCHED_WARM=0
 * ctest: env=SCHED_WARM=0 env=SCHED_KIND=serial */
#include "child.h"
#include "leave.h"
#include "null.h"
#include "stats_line.h"

enum { USED, BUSY, BY_TASK, DEEDS };
enum { ATTEMPTS = 20 };

static void handler(void)
{
    if (way == 0)
        null_works();
}

static void body(void *deed)
{
    static atomic_int runs;
    sched_group g = SCHED_GROUP_INIT;
    int what = *(int *)deed;
    if (what == USED)
        CHECK_EQ(atexit(handler), 0);
    null_works();
    if (what == USED)
        CHECK_EQ(atexit(handler), 0);
    if (what == BUSY) {
        CHECK_EQ(sched_spawn(compute, (void *)&runs, NULL), 0);
        for (unsigned turns = 0; !runs;)
            spin(&turns);
    }
    if (what == BY_TASK) {
        CHECK_EQ(sched_group_spawn(&g, leave_task, NULL, NULL), 0);
        sched_group_wait(&g, NULL);
    }
    leave(NULL);
}

/* The workers have had time to see that no task is left. */
static void rests_and_exits(void *unused)
{
    null_works();
    struct sched_stats stats, before = {.tasks = 0};
    for (struct patience p = patience_of(20); is_patient(&p);) {
        pause_us(20000);
        CHECK_EQ(sched_stats(NULL, &stats, sizeof stats), 0);
        if (stats.tasks > 0 && stats.tasks == before.tasks && stats.parks == before.parks)
            break;
        before = stats;
    }
    exit(0);
}

int main(void)
{
    for (int deed = USED; deed < DEEDS; deed++)
        for (way = 0; way < WAYS_OUT; way++) {
            in_child(body, &deed);
            CHECK_CHILD_EXITED(40 + way);
        }
    /* A busy machine may keep a worker from its last step for longer than exit waits for it. */
    const char *line = "";
    for (int attempt = 0; line[0] == 0 && attempt < ATTEMPTS; attempt++) {
        gather_stats();
        in_child(rests_and_exits, NULL);
        line = gathered_stats();
        CHECK_CHILD_EXITED(0);
    }
    CHECK(stat_number(line, "tasks") > 0);
    CHECK_EQ(stat_number(line, "threads"), threads_of(sched_default_threads()));
    CHECK(strchr(line, '\n') == line + strlen(line) - 1); /* one */
    return 0;
}
