/* fib_typed.c: fib.c with arguments and results by value. */

#include "measure.h"

#define FIB_NAME "fib_typed"
#include <sched_typed.h>

#include "fib.c"
