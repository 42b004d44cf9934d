/* fib_inline.c: fib.c with the inline fast paths of fork and join. */

#include "measure.h"

#define FIB_NAME "fib_inline"
#include <sched_inline.h>

#include "fib.c"
