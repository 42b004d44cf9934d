/* reductions_relaxed.c: the sums of reductions.c, divided and added up by sched_reduce_relaxed. */

#define REDUCE_NAME "reductions_relaxed"
#define REDUCE sched_reduce_relaxed
#include "reductions.c"
