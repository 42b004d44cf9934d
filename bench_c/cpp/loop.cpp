/* loop.cpp: loop.c with sched::parallel_for, whose body is one iteration. */

#include "bench.hpp"
#include "../kernels_fork.h"

static const struct bench_about about = {
    "loop_cpp", "iterations", 100000000, 1, 1L << 40, nullptr,
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    uint64_t wanted = 0;
    loop_range(0, (size_t)b.n, &wanted);

    for (int r = 0; r < b.repetitions; r++) {
        uint64_t found = 0;

        bench_run(&b, [&] { loop_range(0, (size_t)b.n, &found); }, [&] {
            sched::parallel_for(size_t(0), (size_t)b.n, [&](size_t i) { loop_iteration(i, &found); });
        });

        bench_line(&b, b.n, found, found == wanted);
    }
    return bench_end(&b);
}
