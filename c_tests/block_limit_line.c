/* When the limit of blocking sections refuses one, a line on standard error names SCHED_BLOCKING and the limit, once in
 * the life of the process. It is none of the program's mistakes: the run goes on.
 * ctest: env=SCHED_BLOCKING=3
 * ctest: env=SCHED_BLOCKING=3 env=SCHED_KIND=fifo
 * ctest: env=SCHED_BLOCKING=1 env=SCHED_KIND=cont */
#include "block.h"
#include "child.h"

enum { TASKS = 12, RUNS = 2 };

static atomic_int refused, ended;

static void blocks(void *closure, struct scheduler *s)
{
    int began = sched_block_begin(s) == 0;
    if (!began)
        atomic_fetch_add(&refused, 1);
    /* Nobody ends a section before one was refused. */
    while (!refused)
        pause_us(1000);
    if (began)
        end(s);
    atomic_fetch_add(&ended, 1);
}

static void root(void *closure, struct scheduler *s)
{
    spawn_all(TASKS, blocks, s);
}

static void runs(void *arg)
{
    for (int i = 1; i <= RUNS; i++) {
        refused = 0;
        run(2, root);
        CHECK(refused > 0);
        CHECK_EQ(ended, i * TASKS);
    }
}

int main(void)
{
    char expected[64];
    in_child(runs, NULL);
    CHECK_CHILD_EXITED(0);
    snprintf(expected, sizeof expected, "SCHED_BLOCKING=%s", getenv("SCHED_BLOCKING"));
    char *line = strstr(child.said, expected);
    if (!line)
        check_say(child.said);
    CHECK(line != NULL);
    CHECK_EQ(strchr(child.said, '\n') - child.said, (long)strlen(child.said) - 1);
    return 0;
}
