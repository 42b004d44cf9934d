/* sched.hpp: fork_join calls both, gives the values that there are, of any type that can be moved, and carries
 * exceptions; it has waited for both when it returns or throws.
 * ctest: static debug
 * ctest: matrix few */
#include "check.h"
#include <sched.hpp>
#include <stdexcept>
#include <string>

static long fib(long n)
{
    if (n < 2)
        return n;
    auto [a, b] = sched::fork_join([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
    return a + b;
}

/* Has no default and no copy. */
struct Only {
    explicit Only(int n) : p(new int(n)) {}
    std::unique_ptr<int> p;
};

static void values()
{
    int f = 0, g = 0;
    auto set_f = [&] { f = 1; };
    auto set_g = [&] { g = 2; };
    sched::fork_join(set_f, set_g);
    static_assert(std::is_void_v<decltype(sched::fork_join(set_f, set_g))>);
    CHECK_EQ(f, 1);
    CHECK_EQ(g, 2);
    CHECK_EQ(sched::fork_join([] { return 3; }, [&] { f = 4; }), 3);
    CHECK_EQ(f, 4);
    CHECK_EQ(sched::fork_join([&] { g = 5; }, [] { return 6; }), 6);
    CHECK_EQ(g, 5);
    auto both = sched::fork_join([] { return Only(7); }, [] { return std::string(1000, 'x'); });
    static_assert(std::is_same_v<decltype(both), std::pair<Only, std::string>>);
    CHECK_EQ(*both.first.p, 7);
    CHECK_EQ(both.second.size(), 1000);
    int here = 8;
    auto by_value = sched::fork_join([&]() -> int & { return here; }, [&]() -> const int & { return here; });
    static_assert(std::is_same_v<decltype(by_value), std::pair<int, int>>);
    auto counts = [n = 0]() mutable { return ++n; };
    sched::fork_join(counts, [] {});
    CHECK_EQ(counts(), 2); /* it was called, not a copy of it */
}

static std::string message(bool left, bool right)
{
    std::atomic<bool> began{false}, ended{false};
    auto throws = [&](const char *text, bool wanted) {
        if (wanted)
            throw std::runtime_error(text);
        began = true;
        sched::yield();
        ended = true;
        return std::string(text);
    };
    try {
        sched::fork_join([&] { return throws("left", left); }, [&] { return throws("right", right); });
    } catch (const std::runtime_error &e) {
        CHECK_EQ(began, left != right);
        CHECK_EQ(ended, left != right);
        return e.what();
    }
    return "none";
}

/* Throws from the deepest, through all joins above. */
static long deep(int n)
{
    if (n == 0)
        throw n;
    auto [a, b] = sched::fork_join([=] { return n % 2 ? deep(n - 1) : fib(5); }, [=] { return n % 2 ? fib(5) : deep(n - 1); });
    return a + b;
}

static void all()
{
    CHECK_EQ(fib(15), 610);
    values();
    CHECK(message(true, false) == "left");
    CHECK(message(false, true) == "right");
    CHECK(message(true, true) == "left");
    for (int i = 0; i < 20; i++) {
        try {
            deep(20);
            CHECK(!"no exception");
        } catch (int n) {
            CHECK_EQ(n, 0);
        }
    }
}

int main()
{
    sched::run(1, all);
    sched::run(4, all);
    all(); /* in the default pool */
    return 0;
}
