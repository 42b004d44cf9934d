/* fib.cpp: fib.c with sched::fork_join, which returns both values, so that no struct is needed. */

#include "bench.hpp"
#include "../kernels_fork.h"

static long fib(long n)
{
    if (n < 2)
        return n;
    auto [value, other] = sched::fork_join([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
    return value + other;
}

static const struct bench_about about = {
    "fib_cpp", "the Fibonacci number wanted", 30, 0, 45, nullptr,
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    long tasks, right = fib_answer(b.n, &tasks);

    for (int r = 0; r < b.repetitions; r++) {
        long found = -1;

        bench_run(&b, [&] { found = fib_serial(b.n); }, [&] { found = fib(b.n); });

        bench_line(&b, tasks, (uint64_t)found, found == right);
    }
    return bench_end(&b);
}
