/* libsched.h: everything that libsched has for C: sched.h, sched_tasks.h, sched_io.h,
 * sched_inline.h, sched_typed.h, sched_sort.h and sched_stable_sort.h, whose first comments
 * describe them. For C++ there are also sched.hpp, sched_io.hpp and sched_typed.hpp. */
#ifndef LIBSCHED_LIBSCHED_H
#define LIBSCHED_LIBSCHED_H
#include "sched_io.h"
#include "sched_sort.h" /* includes all others */
#endif
