/* Forks and groups in C++, with lambdas.
 * ctest: static
 * ctest: matrix deque=mutex,split idle=park threads=1,4 */
#include "check.h"
#include <sched_tasks.h>
#pragma GCC diagnostic error "-Wmissing-field-initializers"

struct Group {
    sched_group group = SCHED_GROUP_INIT;
    struct scheduler *s;

    explicit Group(struct scheduler *s) : s(s) {}
    Group(const Group &) = delete;
    ~Group() { CHECK_EQ(sched_group_wait(&group, s), 0); }

    template <class F> void spawn(F &f)
    {
        auto call = [](void *closure, struct scheduler *) { (*static_cast<F *>(closure))(); };
        CHECK_EQ(sched_group_spawn(&group, call, &f, s), 0);
    }
};

static void fib(void *closure, struct scheduler *s)
{
    long &n = *static_cast<long *>(closure);
    if (n < 2)
        return;
    long a = n - 1, b = n - 2;
    sched_task t;
    sched_fork(&t, fib, &a, s);
    fib(&b, s);
    sched_join(&t, s);
    n = a + b;
}

static void root(void *closure, struct scheduler *s)
{
    long n = 15, sum = 0;
    auto add = [&sum] { __atomic_fetch_add(&sum, 1, __ATOMIC_RELAXED); };
    fib(&n, s);
    CHECK_EQ(n, 610);
    {
        Group group(s);
        for (int i = 0; i < 100; i++)
            group.spawn(add);
    }
    CHECK_EQ(sum, 100);
    *static_cast<bool *>(closure) = true;
}

int main()
{
    bool done = false;
    CHECK_EQ(sched_init(4, 10, root, &done), 0);
    CHECK(done);
    return 0;
}
