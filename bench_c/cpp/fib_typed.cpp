/* fib_typed.cpp: fib.cpp with sched_typed.hpp, whose frames and descriptors are compiled into the program. */

#include "bench.hpp"
#include "../kernels_fork.h"
#include <sched_typed.hpp>

static long fib(long n, sched::frame at)
{
    if (n < 2)
        return n;
    auto [value, other] = sched::fork_join(at, [n](sched::frame at) { return fib(n - 1, at); },
                                           [n](sched::frame at) { return fib(n - 2, at); });
    return value + other;
}

static const struct bench_about about = {
    "fib_typed_cpp", "the Fibonacci number wanted", 30, 0, 45, nullptr,
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    long tasks, right = fib_answer(b.n, &tasks);

    for (int r = 0; r < b.repetitions; r++) {
        long found = -1;

        bench_run(&b, [&] { found = fib_serial(b.n); }, [&] { found = fib(b.n, sched::frame()); });

        bench_line(&b, tasks, (uint64_t)found, found == right);
    }
    return bench_end(&b);
}
