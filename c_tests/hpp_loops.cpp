/* sched.hpp: parallel_for calls its body once for each number or element; the reductions fold them in order, into a
 * value of any type; an exception comes out, and nothing runs any more then.
 * ctest: static debug
 * ctest: matrix few */
#include "check.h"
#include "counted.hpp"
#include <sched.hpp>
#include <deque>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

enum { N = 2000 };

template <class At> static void numbers(At first, At last)
{
    std::vector<std::atomic<char>> seen((size_t)(last - first));
    for (size_t grain : {0, 1, 7, 100000}) {
        sched::parallel_for(first, last, [&](At i) {
            static_assert(std::is_integral_v<At>);
            seen[(size_t)(i - first)]++;
        }, grain);
        for (auto &n : seen)
            CHECK_EQ(n.exchange(0), 1);
    }
}

static void loops()
{
    numbers(0, (int)N);
    numbers(-N, (int)N);
    numbers<unsigned char>(0, 255);
    numbers<signed char>(-128, 127);
    numbers<size_t>(SIZE_MAX - 100, SIZE_MAX);
    numbers<long long>(LLONG_MAX - 100, LLONG_MAX);
    numbers<long>(LONG_MIN, LONG_MIN + 100);
    std::atomic<int> calls{0};
    sched::parallel_for(5, 5, [&](int) { calls++; });
    sched::parallel_for(5, -5, [&](int) { calls++; });
    CHECK_EQ(calls, 0);

    std::vector<int> v(N);
    sched::parallel_for(0, v.size(), [&](size_t i) { v[i] = (int)i; }); /* int and size_t: size_t */
    sched::parallel_for(v, [](int &x) { x *= 2; });
    sched::parallel_for(v.cbegin(), v.cend(), [&](const int &x) { CHECK_EQ(x, 2 * (&x - v.data())); }, 10);
    std::deque<std::string> names(N);
    sched::parallel_for(names.begin(), names.end(), [](std::string &s) { s = "name"; });
    for (const std::string &s : names)
        CHECK(s == "name");
    int array[N];
    sched::parallel_for(array, [&](int &x) { x = (int)(&x - array); });
    sched::parallel_for(array, array + N, [&](int x) { calls += x; });
    CHECK_EQ(calls, N * (N - 1) / 2);

    /* One within another; a closure that cannot be copied. */
    calls = 0;
    auto inner = [&, p = std::make_unique<int>(1)](int) { calls += *p; };
    sched::parallel_for(0, 20, [&](int) { sched::parallel_for(0, 20, inner); });
    CHECK_EQ(calls, 400);
}

static void loop_throws()
{
    for (int thrower : {0, N / 3, N - 1}) {
        std::atomic<int> inside{0};
        try {
            sched::parallel_for(0, (int)N, [&](int i) {
                inside++;
                if (i == thrower) {
                    inside--;
                    throw std::out_of_range(std::to_string(i));
                }
                if (i % 100 == 0)
                    sched::yield();
                inside--;
            });
            CHECK(!"no exception");
        } catch (const std::out_of_range &e) {
            CHECK_EQ(atoi(e.what()), thrower);
            CHECK_EQ(inside, 0);
        }
    }
    std::atomic<int> calls{0};
    try {
        sched::parallel_for(0, (int)N, [&](int i) {
            calls++;
            throw i;
        }, 1);
        CHECK(!"no exception");
    } catch (int i) {
        CHECK(i >= 0 && i < N);
    }
    CHECK(calls >= 1 && calls <= N);
}

static void reductions()
{
    CHECK_EQ(sched::parallel_reduce(0, 1000, 0L, std::plus<>(), std::plus<>()), 499500);
    CHECK_EQ(sched::parallel_reduce(3, 3, 17, std::plus<>(), std::plus<>()), 17);
    std::vector<int> v(N);
    std::iota(v.begin(), v.end(), 1);
    CHECK_EQ(sched::parallel_reduce(v.begin(), v.end(), 0LL, std::plus<>(), std::plus<>()), N * (N + 1LL) / 2);
    auto largest = [](int a, int b) { return std::max(a, b); };
    CHECK_EQ(sched::parallel_reduce(v.begin(), v.end(), INT_MIN, largest, largest), N);

    /* Not commutative, and in place or by value. */
    std::string wanted;
    for (int i = 0; i < 300; i++)
        wanted += std::to_string(i) + ",";
    for (size_t grain : {0, 1, 2, 3, 50, 299, 300, 1000}) {
        auto in_place = sched::parallel_reduce(
            0, 300, std::string(), [](std::string &s, int i) { s += std::to_string(i) + ","; },
            [](std::string &s, std::string &&t) { s += t; }, grain);
        CHECK(in_place == wanted);
        auto by_value = sched::parallel_reduce(
            0, 300, std::string(), [](std::string s, int i) { return std::move(s) + std::to_string(i) + ","; },
            std::plus<>(), grain);
        CHECK(by_value == wanted);
        auto list = sched::parallel_reduce(
            v.begin(), v.end(), std::vector<int>(), [](auto &list, int x) { list.push_back(x); },
            [](auto &list, auto &&more) { list.insert(list.end(), more.begin(), more.end()); }, grain);
        CHECK(list == v);
        auto relaxed = sched::parallel_reduce_relaxed(
            v.begin(), v.end(), std::vector<int>(), [](auto &list, int x) { list.push_back(x); },
            [](auto &list, auto &&more) { list.insert(list.end(), more.begin(), more.end()); }, grain);
        CHECK(relaxed == v);
        CHECK_EQ(sched::parallel_reduce_relaxed(0, 1000, 0L, std::plus<>(), std::plus<>(), grain), 499500);
        CHECK_EQ(sched::parallel_reduce_relaxed(3, 3, 17, std::plus<>(), std::plus<>(), grain), 17);
    }
    /* The same sum each time, though the addition rounds. */
    auto sum = [] {
        return sched::parallel_reduce(1, 3000, 0.0, [](double a, int i) { return a + 1.0 / i; }, std::plus<>());
    };
    double first = sum();
    for (int i = 0; i < 5; i++)
        CHECK(sum() == first);
}

struct Value : Counted {
    long n = 0;
};

template <class Reduce> static void reduction_throws(Reduce reduce)
{
    for (int where : {0, 1, 2}) {
        std::atomic<int> calls{0};
        auto body = [&](Value &v, int i) {
            if (where == 0 && i == 50)
                throw i;
            v.n += i;
        };
        auto combine = [&](Value &v, const Value &w) {
            if (where == 1 && ++calls == 3)
                throw 50;
            v.n += w.n;
        };
        try {
            Value v = reduce(body, combine);
            CHECK(where == 2 || (where == 1 && calls < 3));
            CHECK_EQ(v.n, 4950);
        } catch (int i) {
            CHECK(where < 2);
            CHECK_EQ(i, 50);
        }
        CHECK_EQ(alive, 0);
    }
}

static void all()
{
    loops();
    loop_throws();
    reductions();
    reduction_throws([](auto body, auto combine) {
        return sched::parallel_reduce(0, 100, Value(), body, combine, 5);
    });
    for (int i = 0; i < 100; i++)
        reduction_throws([](auto body, auto combine) {
            return sched::parallel_reduce_relaxed(0, 100, Value(), body, combine, 5);
        });
}

int main()
{
    sched::run(1, all);
    sched::run(4, all);
    all(); /* in the default pool */
    try {
        sched::parallel_for(0UL, SIZE_MAX, [](size_t) {});
        CHECK(!"no exception");
    } catch (const std::system_error &e) {
        CHECK(e.code() == std::errc::invalid_argument);
    }
    return 0;
}
