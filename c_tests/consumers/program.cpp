// The C++ program of somebody who has found libsched by another build system.

#include <algorithm>
#include <cstdio>
#include <thread>
#include <vector>

#include <sched_tasks.h>

static int by_value(const void *left, const void *right)
{
    int l = *static_cast<const int *>(left), r = *static_cast<const int *>(right);
    return (l > r) - (l < r);
}

int main()
{
    std::vector<int> numbers(10000);
    unsigned state = 1;
    for (int &number : numbers)
        number = static_cast<int>((state = state * 1103515245 + 12345) >> 8);

    // A thread of the program's own: the default pool does the work.
    int failed = 0;
    std::thread([&] { failed = sched_sort(numbers.data(), numbers.size(), sizeof(int), by_value, nullptr); }).join();

    bool sorted = failed == 0 && std::is_sorted(numbers.begin(), numbers.end());
    std::printf("%s\n", sorted ? "sorted" : "not sorted");
    return !sorted;
}
