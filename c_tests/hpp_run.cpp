/* sched.hpp: run gives its function's value when all tasks have ended; spawn takes any closure, wherever it is kept,
 * calls it once and destroys it once.
 * ctest: static debug
 * ctest: matrix few */
#include "check.h"
#include "counted.hpp"
#include <sched.hpp>
#include <array>
#include <string>

static std::atomic<int> called;

static void plain()
{
    called++;
}

static void spawn_each()
{
    sched::spawn(plain);
    sched::spawn([] { called++; });
    auto by_name = [add = 1] { called += add; };
    sched::spawn(by_name);
    sched::spawn([p = std::make_unique<int>(1)] { called += *p; });
    sched::spawn([text = std::string("x")] { called += (int)text.size(); });
    sched::spawn([counted = Counted()] { called++; });
    std::array<char, SCHED_COPY_MAX> most{};
    std::array<char, SCHED_COPY_MAX + 1> too_many{};
    most.back() = too_many.back() = 1;
    sched::spawn([most] { called += most.back(); });
    sched::spawn([too_many] { called += too_many.back(); });
    struct alignas(64) Wide {
        int one = 1;
    };
    sched::spawn([wide = Wide()] {
        CHECK_EQ((uintptr_t)&wide % 64, 0);
        called += wide.one;
    });
    sched::spawn([turns = 0]() mutable { called += ++turns; });
}

enum { EACH = 10 };

static void tree(int depth)
{
    called++;
    if (depth > 0)
        for (int i = 0; i < 2; i++)
            sched::spawn([=] { tree(depth - 1); });
}

int main()
{
    CHECK_EQ(sched::worker_index(), -1);
    CHECK_EQ(sched::run(3, [] { return 42; }), 42);
    CHECK_EQ(*sched::run([] { return std::make_unique<int>(7); }), 7);
    int changed = 0;
    sched::run(2, [&] { changed = sched::worker_count(); });
    CHECK_EQ(changed, threads_of(2));
    sched::run(2, [] {
        CHECK(sched::worker_index() >= 0 && sched::worker_index() < sched::worker_count());
    });

    for (int threads = 1; threads <= 4; threads++) {
        called = 0;
        sched::run(threads, spawn_each);
        CHECK_EQ(called, EACH);
        CHECK_EQ(alive, 0);
    }
    called = 0;
    sched::run(4, [] { tree(10); });
    CHECK_EQ(called, 2047);

    /* A run within a task. */
    called = 0;
    int value = sched::run(2, [] {
        sched::spawn([] { called += sched::run(2, [] { tree(3); return 1; }); });
        return sched::run(2, [] { tree(3); return 5; });
    });
    CHECK_EQ(value, 5);
    CHECK_EQ(called, 31);

    /* Not in a run: the default pool, for which nobody waits. */
    called = 0;
    spawn_each();
    for (struct patience p = patience_of(10); called < EACH && is_patient(&p);)
        pause_us(100);
    CHECK_EQ(called, EACH);

    unsetenv("SCHED_THREADS"); /* it would win */
    try {
        sched::run(5000, [] {});
        CHECK(!"no exception");
    } catch (const std::system_error &e) {
        CHECK(e.code() == std::errc::invalid_argument);
        CHECK(strstr(e.what(), "sched_init") != nullptr);
    }
    return 0;
}
