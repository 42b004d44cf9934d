/* sched.hpp and sched_typed.hpp in constructors and destructors of static and thread-local objects, those that are older
 * than anything of the headers and those that are younger, and in functions for atexit.
 * ctest: static debug
 * ctest: matrix few idle=park threads=2 */
#include "thrown.hpp"
#include <stdexcept>

static void uses_all(const char *where);

/* Calls everything when it begins, when it ends, or both. */
struct User {
    const char *name;
    bool begins;
    User(const char *name, bool begins) : name(name), begins(begins)
    {
        if (begins)
            uses_all(name);
    }
    ~User() { uses_all(name); }
};

static User older_constructed("an object before the headers", true), older("an older object", false);

#include <sched.hpp>
#include <sched_typed.hpp>
#include <vector>

static User younger("an object behind the headers", true);
static thread_local User of_thread("an object of a thread", true);

static void throws_in_a_run()
{
    thrown_by<std::runtime_error>([] { sched::run(2, [] { sched::spawn([] { throw std::runtime_error("of a task"); }); }); });
}

static void uses_all(const char *where)
{
    std::vector<int> numbers(5000);
    throws_in_a_run();
    CHECK_EQ(sched::run(2, [] { return 7; }), 7);
    sched::parallel_for(0, 5000, [&](int i) { numbers[size_t(i)] = 4999 - i; });
    sched::sort(numbers.begin(), numbers.end());
    for (int i = 0; i < 5000; i++)
        CHECK_EQ(numbers[size_t(i)], i);
    {
        sched::group group;
        std::atomic<int> called{0};
        for (int i = 0; i < 10; i++)
            group.spawn([&] { called++; });
        group.wait();
        CHECK_EQ(called, 10);
    }
    auto [a, b] = sched::fork_join([] { return 1; }, [] { return 2; });
    CHECK_EQ(a + b, 3);
    sched::frame at;
    auto [c, d] = sched::fork_join(at, [](sched::frame) { return 3; }, [](sched::frame) { return 4; });
    CHECK_EQ(c + d, 7);
}

static void at_exit() { uses_all("a function for atexit"); }

static void *in_thread(void *)
{
    (void)of_thread.begins; /* constructs it; the end of the thread destroys it */
    return nullptr;
}

int main()
{
    CHECK_EQ(atexit(at_exit), 0);
    run_thread(in_thread, nullptr);
    (void)of_thread.begins;
    return 0;
}
