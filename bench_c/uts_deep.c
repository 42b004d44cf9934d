/* uts_deep.c: the Unbalanced Tree Search, T3: binomial, 1,572 nodes deep in places. */

#define UTS_NAME "uts_deep"
#define UTS_SHAPE UTS_BINOMIAL
#define UTS_SIZE "children of the root (2000: T3 as published)", 2000, 0, 100000

#include "uts.c"
