/* sched_tasks.h in C++: a class that can be copied byte by byte, and a lambda, as tasks.
 * ctest: static
 * ctest: matrix few deque=mutex,split idle=park threads=1,4 */
#include "check.h"
#include <sched_tasks.h>
#include <type_traits>

static long sum;

template <class F> static void call(void *copy, struct scheduler *s)
{
    (*static_cast<F *>(copy))(s);
}

template <class F> static int spawn(const F &f, struct scheduler *s)
{
    static_assert(std::is_trivially_copyable<F>::value && sizeof f <= SCHED_COPY_MAX, "");
    return sched_spawn_copy(call<F>, &f, sizeof f, s);
}

struct alignas(16) Range {
    long low, high;

    void operator()(struct scheduler *s)
    {
        if (high - low == 1) {
            __atomic_fetch_add(&sum, low, __ATOMIC_RELAXED);
            return;
        }
        long middle = low + (high - low) / 2;
        CHECK_EQ(spawn(Range{low, middle}, s), 0);
        low = middle;
        (*this)(s);
    }
};

static void root(void *, struct scheduler *s)
{
    long n = 1000;
    CHECK_EQ(spawn([n](struct scheduler *s) { CHECK_EQ(spawn(Range{0, n}, s), 0); }, s), 0);
    n = 5;
}

int main()
{
    CHECK_EQ(sched_init(4, 10, root, nullptr), 0);
    CHECK_EQ(sum, 999 * 1000 / 2);
    return 0;
}
