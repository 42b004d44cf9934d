/* few_wakes.h: the wake-ups of a run whose workers are more than the processors. */
#ifndef FEW_WAKES_H
#define FEW_WAKES_H

#include "check.h"
#include "stats_line.h"

/* Leaves two processors to this process. */
static inline void keep_two_processors(void)
{
    cpu_set_t mask;
    CHECK_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
    for (int cpu = 0, kept = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &mask) && ++kept > 2)
            CPU_CLR(cpu, &mask);
    CHECK_EQ(sched_setaffinity(0, sizeof mask, &mask), 0);
}

/* The least wake-ups of five runs of `first` with 8 workers, each of which runs `tasks` tasks. Programs
 * that take the processors may add wake-ups to some of the runs. */
static inline long least_wakes(taskfunc first, void *closure, long tasks)
{
    enum { RUNS = 5 };
    keep_two_processors();
    gather_stats();
    CHECK_TIMES(RUNS, sched_init(8, 4, first, closure));
    const char *line = gathered_stats();
    long least = LONG_MAX;
    for (int run = 0; run < RUNS; run++) {
        CHECK_EQ(stat_number(line, "tasks"), tasks);
        long wakes = stat_number(line, "wakes");
        least = wakes < least ? wakes : least;
        line = strchr(line, '\n') + 1;
    }
    return least;
}

#endif
