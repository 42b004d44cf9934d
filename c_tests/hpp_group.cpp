/* sched.hpp: a group waits for its tasks, in its destructor, too; the first exception comes out of wait; what is
 * cancelled is not called; and each closure is destroyed before the wait is over, called or not.
 * ctest: static debug
 * ctest: matrix few */
#include "check.h"
#include "counted.hpp"
#include <sched.hpp>
#include <stdexcept>
#include <string>

enum { TASKS = 50 };

static std::atomic<int> called;

/* Throws when it is copied or moved for the nth time. */
struct Fragile {
    int left;
    Counted counted;
    explicit Fragile(int left) : left(left) {}
    Fragile(const Fragile &other) : left(other.left - 1), counted(other.counted) { look(); }
    Fragile(Fragile &&other) : left(other.left - 1), counted(other.counted) { look(); }
    void look()
    {
        if (left == 0)
            throw std::logic_error("fragile");
    }
    void operator()() { called++; }
};

static void spawns()
{
    sched::group g;
    for (int round = 1; round <= 2; round++) { /* a group can be used anew */
        called = 0;
        for (int i = 0; i < TASKS; i++) {
            g.spawn([] { called++; });
            g.spawn([counted = Counted(), p = std::make_unique<int>(1)] { called += *p; });
        }
        g.spawn([&g] {
            for (int i = 0; i < TASKS; i++)
                g.spawn([] { called++; });
        });
        CHECK(g.wait());
        CHECK_EQ(called, 3 * TASKS);
        CHECK_EQ(alive, 0);
    }
    CHECK(g.wait());
}

static void destructor_waits()
{
    called = 0;
    {
        sched::group g;
        for (int i = 0; i < TASKS; i++)
            g.spawn([] {
                sched::yield();
                called++;
            });
    }
    CHECK_EQ(called, TASKS);
    called = 0;
    try {
        sched::group g;
        for (int i = 0; i < TASKS; i++)
            g.spawn([] {
                sched::yield();
                called++;
                throw 1; /* nobody asks for it */
            });
        throw std::runtime_error("left");
    } catch (const std::runtime_error &e) {
        CHECK_EQ(strcmp(e.what(), "left"), 0);
        CHECK_EQ(called, TASKS);
    }
    CHECK_EQ(std::uncaught_exceptions(), 0);
}

static void exceptions()
{
    sched::group g;
    called = 0;
    for (int i = 0; i < TASKS; i++)
        g.spawn([i, counted = Counted()] {
            called++;
            if (i % 2)
                throw i;
        });
    try {
        g.wait();
        CHECK(!"no exception");
    } catch (int i) {
        CHECK(i % 2 == 1 && i < TASKS);
    }
    CHECK_EQ(called, TASKS);
    CHECK_EQ(alive, 0);
    CHECK(g.wait()); /* once */
}

static void cancelled()
{
    sched::group g;
    CHECK(!g.cancelled());
    g.cancel();
    CHECK(g.cancelled());
    called = 0;
    for (int i = 0; i < TASKS; i++) {
        g.spawn([] { called++; });
        g.spawn([counted = Counted()] { called++; });
    }
    CHECK(!g.wait());
    CHECK_EQ(called, 0);
    CHECK_EQ(alive, 0);
    CHECK(!g.cancelled());
    g.spawn([] { called++; });
    CHECK(g.wait());
    CHECK_EQ(called, 1);

    /* A task asks. An exception wins over the cancellation, which ends all the same. */
    std::atomic<bool> began{false};
    g.spawn([&] {
        began = true;
        while (!g.cancelled())
            sched::yield();
        throw 1;
    });
    while (!began)
        sched::yield();
    g.cancel();
    try {
        g.wait();
        CHECK(!"no exception");
    } catch (int) {
    }
    CHECK(!g.cancelled());
}

static void fragile()
{
    called = 0;
    int spawned = 0, refused = 0;
    for (int left = 1; left <= 6; left++) {
        sched::group g;
        try {
            Fragile f(left);
            g.spawn(f);
            spawned++;
        } catch (const std::logic_error &) {
            refused++;
        }
        CHECK(g.wait());
        CHECK_EQ(called, spawned);
        CHECK_EQ(alive, 0);
    }
    CHECK(spawned > 0 && refused > 0);
}

static void all()
{
    spawns();
    destructor_waits();
    exceptions();
    cancelled();
    fragile();
}

int main()
{
    sched::run(1, all);
    sched::run(4, all);
    all(); /* in the default pool */
    return 0;
}
