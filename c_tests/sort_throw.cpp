/* A C++ exception that leaves the comparison of SCHED_SORT or SCHED_STABLE_SORT ends the process, also where the caller
 * would catch it and compares itself. One that is caught inside is the comparison's own.
 * ctest: matrix few idle=park threads=1,4 */
#include "child.h"
#include <initializer_list>
#include <sched_sort.h>

static bool throws(int a, int b)
{
    if (a + b > 0)
        throw 5;
    return a < b;
}

static bool catches(int a, int b)
{
    try {
        throw a < b;
    } catch (bool less) {
        return less;
    }
}

SCHED_SORT(sort_throws, int, throws(*a, *b))
SCHED_STABLE_SORT(sort_stable_throws, int, throws(*a, *b))
SCHED_SORT(sort_catches, int, catches(*a, *b))
SCHED_STABLE_SORT(sort_stable_catches, int, catches(*a, *b))

struct deed {
    size_t n;
    bool stable;
};

static int numbers[5000];

static void body(void *p)
{
    deed *d = static_cast<deed *>(p);
    try {
        if (!d->stable)
            sort_throws(numbers, d->n, nullptr);
        else if (sort_stable_throws(numbers, d->n, nullptr) != 0)
            _exit(4);
    } catch (...) {
        _exit(3);
    }
}

static void fill(size_t n)
{
    for (size_t i = 0; i < n; i++)
        numbers[i] = static_cast<int>(i * 7919 % n);
}

int main()
{
    for (size_t n : {10, 1000, 5000}) {
        for (bool stable : {false, true}) {
            fill(n);
            deed d = {n, stable};
            in_child(body, &d);
            CHECK_CHILD_ABORTED("");
            if (!stable)
                sort_catches(numbers, n, nullptr);
            else
                CHECK_EQ(sort_stable_catches(numbers, n, nullptr), 0);
            for (size_t i = 0; i < n; i++)
                CHECK_EQ(numbers[i], i);
        }
    }
    return 0;
}
