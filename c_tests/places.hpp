/* places.hpp: for the tests of the C++ headers: the error of a call, and the places from which it is called. */
#ifndef PLACES_HPP
#define PLACES_HPP

#include "check.h"
#include <sched.hpp>
#include <system_error>

/* The error that f throws; 0 for none. */
template <class F> static int error_of(F f)
{
    try {
        f();
    } catch (const std::system_error &e) {
        CHECK(e.code().category() == std::generic_category());
        return e.code().value();
    }
    return 0;
}

/* Calls f in runs of 1 and 4 workers, and in main. */
template <class F> static void in_each_place(F f)
{
    sched::run(1, f);
    sched::run(4, f);
    f();
}

#endif
