/* bench.hpp: bench.h for programs that use sched.hpp. */
#ifndef BENCH_HPP
#define BENCH_HPP

#include "../bench.h"

#include <sched.hpp>

/* The usual run: serial() with -s, else f() as the first task of a run. */
template <class Serial, class F> void bench_run(struct bench *b, Serial serial, F f)
{
    bench_clock_start(b);
    if (b->serial)
        serial();
    else
        sched::run(b->threads, f);
    bench_clock_stop(b);
}

#endif
