/* sort.cpp: sched::sort, which is not stable. tasks= is the number of elements. With -s std::sort runs, or with -d stable
 * std::stable_sort. */

#include "bench.hpp"
#include "../kernels_fork.h"

static const struct bench_about about = {
    "sort_cpp", "elements", 1024 * 1024, 1, 1L << 30, "with -s: sort (default) or stable",
};

int main(int argc, char **argv)
{
    struct bench b = bench_start(&about, argc, argv);
    bool stable = b.data != nullptr && strcmp(b.data, "stable") == 0;
    std::vector<int> a((size_t)b.n);

    for (int r = 0; r < b.repetitions; r++) {
        bench_lcg(a.data(), b.n);
        uint64_t before = bench_multiset(a.data(), b.n);

        auto serial = [&] { stable ? std::stable_sort(a.begin(), a.end()) : std::sort(a.begin(), a.end()); };
        bench_run(&b, serial, [&] { sched::sort(a.begin(), a.end()); });

        int right = bench_sorted(a.data(), b.n) && bench_multiset(a.data(), b.n) == before;
        bench_line(&b, b.n, before, right);
    }
    return bench_end(&b);
}
