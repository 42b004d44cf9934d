/* treef_typed.c: treef.c with arguments and results by value. */

#include "measure.h"

#define TREEF_NAME "treef_typed"
#include <sched_typed.h>

#include "treef.c"
