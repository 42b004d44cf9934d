/* A chain of short tasks, on more workers than processors, wakes few of those that sleep
 * beside it, though there is a new task each time: far fewer wake-ups than tasks.
 * ctest: matrix kind=steal idle=park threads=8 */
#include "check.h"
#include "stats_line.h"

/* At most some 130 wake-ups a run were seen; 9000 before searchers learned patience, though only
 * hundreds where other programs had the processors. These can also make more: the best of several runs counts. */
enum { RUNS = 5, TASKS = 20000, WAKES = TASKS / 40 };

static void chain(void *closure, struct scheduler *s)
{
    long left = (long)closure;
    for (double end = now() + 2e-6; now() < end;)
        ;
    if (left > 1)
        CHECK_EQ(sched_spawn(chain, (void *)(left - 1), s), 0);
}

static void keep_two_processors(void)
{
    cpu_set_t mask;
    CHECK_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
    for (int cpu = 0, kept = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &mask) && ++kept > 2)
            CPU_CLR(cpu, &mask);
    CHECK_EQ(sched_setaffinity(0, sizeof mask, &mask), 0);
}

int main(void)
{
    keep_two_processors();
    gather_stats();
    for (int run = 0; run < RUNS; run++)
        CHECK_EQ(sched_init(8, 4, chain, (void *)(long)TASKS), 0);
    const char *line = gathered_stats();
    long wakes = LONG_MAX;
    for (int run = 0; run < RUNS; run++) {
        CHECK_EQ(stat_number(line, "tasks"), TASKS);
        long now = stat_number(line, "wakes");
        wakes = now < wakes ? now : wakes;
        line = strchr(line, '\n') + 1;
    }
    if (wakes >= WAKES)
        CHECK_EQ(wakes, WAKES);
    return 0;
}
