/* costs: what the calls of a scheduler cost, one by one: the prices with which the simulator replays programs.
 * It uses the public interface alone, so that the same binary measures each kind, and also the recorder's stand-in,
 * whose own cost is in every recording.
 *
 *   costs alone       one worker: push, run, fork, flood
 *   costs together    two workers: thief and robbed, if there are thefts; wake, waker; and at the beginning of a run
 *                     first wake, first waker
 *   costs lone        SCHED_IDLE=spin, two workers: late
 *   costs searching   SCHED_IDLE=spin, many workers: search
 *   costs vain        SCHED_IDLE=spin, two workers: vain
 *   costs empty       init, for as many workers as SCHED_THREADS says
 *   costs contended   SCHED_THREADS=1, and 2: spawns and forks, by how long tasks think
 *   costs machine     no scheduler: line
 *
 * SCHED_THREADS must not be set in the modes that do not name it here: it overrides the numbers of workers that these
 * modes ask for, one and two in turn.
 *
 * Each result is a line `name=nanoseconds`. Other programs on the machine, or on the other half of a core, can only
 * lengthen a sample. So where each sample does the same, the least sample counts. Such a sample is as long as a run of
 * the programs that are predicted, and a process takes as many samples as there are such runs: the least of many short
 * samples would be less than any run can be. Where samples differ by nature, the lower quartile counts: of many short
 * samples for wake-ups, of some long ones for thefts and searches in vain. For contention the median counts. */

#include "costs.h"

int main(int argc, char **argv)
{
    const char *mode = argc == 2 ? argv[1] : "";
    bench_calibrate(16); /* the processor is awake from here on */
    if (strcmp(mode, "alone") == 0) {
        measure_batches();
        measure_flood();
        measure_forks();
    } else if (strcmp(mode, "together") == 0) {
        measure_steals();
        measure_wakes();
    } else if (strcmp(mode, "lone") == 0) {
        measure_late();
    } else if (strcmp(mode, "searching") == 0) {
        run(0, searching);
    } else if (strcmp(mode, "vain") == 0) {
        measure_vain();
    } else if (strcmp(mode, "empty") == 0) {
        measure_empty();
    } else if (strcmp(mode, "contended") == 0) {
        measure_contention();
    } else if (strcmp(mode, "machine") == 0) {
        measure_line();
    } else {
        fprintf(stderr, "usage: costs alone, together, lone, searching, vain, empty, contended or machine\n");
        return 2;
    }
    return 0;
}
