/* uts_typed.c: uts.c with arguments and results by value. */

#include "measure.h"

#define UTS_NAME "uts_typed"
#define UTS_SHAPE UTS_GEOMETRIC
#define UTS_SIZE "depth (10: T1 as published)", 10, 0, 15
#include <sched_typed.h>

#include "uts.c"
