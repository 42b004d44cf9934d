/* reduce_relaxed.c: the sum of reduce.c, by sched_reduce_relaxed. */

#define REDUCE_NAME "reduce_relaxed"
#define REDUCE sched_reduce_relaxed
#include "reduce.c"
