/* sched.hpp: sort, for any order, iterators and elements that can be moved; after an exception of the comparison no
 * element is lost but perhaps the one that std::sort, which sorts the small parts, held in its hand.
 * ctest: static
 * ctest: matrix few */
#include "check.h"
#include <sched.hpp>
#include <deque>
#include <numeric>
#include <string>

enum { N = 12000 / SMALLER };

static unsigned seed = 1;

static unsigned number()
{
    seed = seed * 1664525 + 1013904223;
    return seed >> 8;
}

template <class Make> static void ints(Make make)
{
    for (int n : {0, 1, 2, 100, 4095, 4096, 4097, (int)N}) {
        std::vector<int> v((size_t)n);
        for (int i = 0; i < n; i++)
            v[(size_t)i] = make(i, n);
        std::vector<int> wanted = v;
        std::sort(wanted.begin(), wanted.end());
        sched::sort(v.begin(), v.end());
        CHECK(v == wanted);
        sched::sort(v.data(), v.data() + n, std::greater<int>());
        CHECK(std::equal(v.begin(), v.end(), wanted.rbegin()));
    }
}

static void orders()
{
    ints([](int, int) { return (int)number(); });
    ints([](int i, int) { return i; });
    ints([](int i, int n) { return n - i; });
    ints([](int, int) { return 5; });
    ints([](int, int) { return (int)(number() % 3); });
    ints([](int i, int n) { return i < n / 2 ? i : n - i; });
    ints([](int i, int) { return i % 1000; });
    ints([](int i, int n) { return i == n - 1 ? -1 : i; });
}

static void elements()
{
    std::vector<std::unique_ptr<int>> v;
    for (int i = 0; i < N; i++)
        v.push_back(std::make_unique<int>((int)number()));
    sched::sort(v.begin(), v.end(), [](const auto &a, const auto &b) { return *a < *b; });
    for (size_t i = 1; i < v.size(); i++)
        CHECK(*v[i - 1] <= *v[i]);

    std::deque<std::string> names;
    for (int i = 0; i < N; i++)
        names.push_back("a name that is not short: " + std::to_string(number() % 5000));
    sched::sort(names.begin(), names.end());
    CHECK(std::is_sorted(names.begin(), names.end()));

    std::vector<int> key(N), index(N); /* an order with a state */
    for (int &k : key)
        k = (int)number();
    std::iota(index.begin(), index.end(), 0);
    auto by_key = [&](int a, int b) { return key[(size_t)a] < key[(size_t)b]; };
    sched::sort(index.begin(), index.end(), by_key);
    CHECK(std::is_sorted(index.begin(), index.end(), by_key));
}

static void throws()
{
    for (int when : {1, 100, N / 2, 5 * N}) {
        std::vector<std::unique_ptr<int>> v;
        for (int i = 0; i < N; i++)
            v.push_back(std::make_unique<int>((i * 7919) % N));
        std::atomic<int> calls{0};
        try {
            sched::sort(v.begin(), v.end(), [&](const auto &a, const auto &b) {
                if (++calls == when)
                    throw when;
                return *a < *b;
            });
            CHECK(!"no exception");
        } catch (int thrown) {
            CHECK_EQ(thrown, when);
        }
        long there = 0, sum = 0;
        for (const auto &p : v)
            if (p)
                there++, sum += *p;
        CHECK(there >= N - 1);
        CHECK(there < N || sum == (long)N * (N - 1) / 2);
    }
}

static void all()
{
    orders();
    elements();
    throws();
}

int main()
{
    sched::run(4, all);
    all(); /* in the default pool */
    return 0;
}
