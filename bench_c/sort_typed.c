/* sort_typed.c: sort.c with the comparison compiled in. */

#include "measure.h"

#define SORT_NAME "sort_typed"
#include <sched_sort.h>

#include "sort.c"
