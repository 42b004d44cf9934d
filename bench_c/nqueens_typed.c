/* nqueens_typed.c: nqueens.c with arguments and results by value. */

#include "measure.h"

#define QUEENS_NAME "nqueens_typed"
#include <sched_typed.h>

#include "nqueens.c"
