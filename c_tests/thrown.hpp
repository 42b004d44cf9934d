/* thrown.hpp: what a call throws. */
#ifndef THROWN_HPP
#define THROWN_HPP

#include "check.h"

/* The exception that leaves f, which must be an E. */
template <class E, class F>
static E thrown_by(F f, const char *file = __builtin_FILE(), int line = __builtin_LINE())
{
    try {
        f();
    } catch (const E &e) {
        return e;
    }
    check_failed(file, line, "an exception");
    abort();
}

#endif
