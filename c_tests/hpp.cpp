/* hpp: sched.hpp. */
#include "case.h"
#include "child.h"
#include "counted.hpp"
#include "places.hpp"
#include "thrown.hpp"
#include <stdexcept>
#include <sched.hpp>
#include <vector>
#include <string>
#include <deque>
#include <limits>
#include <numeric>
#include <array>
#include <chrono>
#include <thread>

/* hpp_exceptions: sched.hpp: an exception that leaves a task of spawn comes out of the run of that
 * task, once all tasks of the run have ended. Outside of a run it calls std::terminate. A task may
 * wait while an exception is under way.
 * ctest: static debug
 * ctest: matrix few */
enum { TASKS = 50 };

static std::atomic<int> ended;

struct Ends {
    ~Ends() { ended++; }
};

/* The text of what comes out of a run of f. */
template <class F> static std::string out_of_run(int threads, F f)
{
    try {
        sched::run(threads, f);
    } catch (const std::runtime_error &e) {
        CHECK_EQ(std::uncaught_exceptions(), 0);
        return e.what();
    }
    CHECK(std::current_exception() == nullptr);
    return "none";
}

static int added(int a, int b) { return a + b; }
static void add_zero(int &x) { x += 0; }

static void nested(int depth, const char *text)
{
    Ends ends;
    if (depth == 0)
        throw std::runtime_error(text);
    sched::spawn([=] { nested(depth - 1, text); });
    sched::yield();
}

static void from_tasks(int threads)
{
    ended = 0;
    CHECK(out_of_run(threads, [] { nested(10, "deep"); }) == "deep");
    CHECK_EQ(ended, 11);

    /* All tasks still run, and one of the exceptions comes out. */
    ended = 0;
    std::string text = out_of_run(threads, [] {
        for (int i = 0; i < TASKS; i++)
            sched::spawn([i, p = std::make_unique<int>(i)] {
                Ends ends;
                sched::yield();
                if (*p % 2)
                    throw std::runtime_error("task " + std::to_string(i));
            });
        throw std::runtime_error("task -1");
    });
    CHECK_EQ(text.compare(0, 5, "task "), 0);
    int number = atoi(text.c_str() + 5);
    CHECK(number == -1 || number % 2 == 1);
    CHECK_EQ(ended, TASKS);
    CHECK(out_of_run(threads, [] { sched::spawn([] {}); }) == "none");
}

/* Each exception comes out of the run of its own task. */
static void from_runs(int threads)
{
    ended = 0;
    std::string inner[TASKS], outer = out_of_run(threads, [&] {
        for (int i = 0; i < TASKS; i++)
            sched::spawn([=, &inner] {
                std::string mine = "inner " + std::to_string(i);
                inner[i] = out_of_run(2, [&] { sched::spawn([&] { nested(2, mine.c_str()); }); });
                if (i == 7)
                    throw std::runtime_error("outer");
            });
    });
    CHECK(outer == "outer");
    for (int i = 0; i < TASKS; i++)
        CHECK(inner[i] == "inner " + std::to_string(i));
}

/* Waits in its destructor, and in the handler. */
static void waiting(int threads)
{
    struct Waits {
        ~Waits()
        {
            sched::fork_join([] { sched::yield(); }, [] { sched::yield(); });
            try {
                sched::yield();
                throw std::runtime_error("inner");
            } catch (const std::runtime_error &e) {
                sched::yield();
                CHECK_EQ(strcmp(e.what(), "inner"), 0);
            }
            CHECK_EQ(std::uncaught_exceptions(), 1);
        }
    };
    sched::run(threads, [] {
        sched::parallel_for(0, (int)TASKS, [](int i) {
            try {
                Waits waits;
                throw std::runtime_error(std::to_string(i));
            } catch (const std::runtime_error &e) {
                sched::yield();
                CHECK_EQ(atoi(e.what()), i);
                try {
                    sched::fork_join([&] { throw; }, [] { sched::yield(); });
                } catch (const std::runtime_error &again) {
                    CHECK_EQ(atoi(again.what()), i);
                }
            }
        }, 1);
    });
}

static void thrown_on_pool(void *)
{
    std::set_terminate([] {
        check_say("terminated\n");
        _exit(3);
    });
    sched::spawn([] { throw 1; });
    pause_us(10000000);
}

CASE(hpp_exceptions)
{
    for (int threads : {1, 4}) {
        from_tasks(threads);
        from_runs(threads);
        waiting(threads);
    }
    in_child(thrown_on_pool, nullptr);
    CHECK_CHILD_EXITED(3);
}

/* hpp_fork_join: sched.hpp: fork_join calls both, gives the values that there are, of any type that
 * can be moved, and carries exceptions; it has waited for both when it returns or throws.
 * ctest: static debug
 * ctest: matrix few */
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

static void fork_join_all()
{
    CHECK_EQ(fib(15), 610);
    values();
    CHECK(message(true, false) == "left");
    CHECK(message(false, true) == "right");
    CHECK(message(true, true) == "left");
    for (int i = 0; i < 20; i++)
        CHECK_EQ(thrown_by<int>([] { deep(20); }), 0);
}

CASE(hpp_fork_join)
{
    in_each_place(fork_join_all);
}

/* hpp_group: sched.hpp: a group waits for its tasks, in its destructor, too; the first exception
 * comes out of wait; what is cancelled is not called; and each closure is destroyed before the wait
 * is over, called or not.
 * ctest: static debug
 * ctest: matrix few */
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
    int i = thrown_by<int>([&] { g.wait(); });
    CHECK(i % 2 == 1 && i < TASKS);
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
    thrown_by<int>([&] { g.wait(); });
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

static void group_all()
{
    spawns();
    destructor_waits();
    exceptions();
    cancelled();
    fragile();
}

CASE(hpp_group)
{
    in_each_place(group_all);
}

/* hpp_graph: sched.hpp: a graph calls the function of each node after those of its predecessors, in each run; the first
 * exception ends its run and no other; a circle, an edge between graphs and a change during a run are refused; the
 * functions are moved, not copied, and destroyed with the graph.
 * ctest: static debug
 * ctest: matrix few */
static void diamond()
{
    enum { RUNS = 20 };
    std::atomic<int> clock{0};
    int a_at = 0, b_at = 0, c_at = 0, d_at = 0;
    sched::graph g;
    CHECK(g.run()); /* it is empty */
    sched::graph::node a = g.emplace([&] { a_at = ++clock; });
    auto [b, c] = g.emplace([&, p = std::make_unique<int>(1)] { b_at = clock += *p; }, [&] { return c_at = ++clock; });
    static_assert(std::is_trivially_copyable_v<decltype(c)>);
    auto d = g.emplace([&] { d_at = ++clock; });
    a.precede(b, c);
    auto again = d.succeed(b, c);
    for (int run = 0; run < RUNS; run++) {
        clock = 0;
        CHECK(g.run());
        CHECK_EQ(a_at, 1);
        CHECK_EQ(b_at + c_at, 2 + 3);
        CHECK_EQ(d_at, 4);
    }
    int last = 0;
    again.precede(g.emplace([&] { last = ++clock; }), g.emplace([counted = Counted(), n = 0]() mutable { n++; }));
    CHECK(g.run());
    CHECK_EQ(last, d_at + 1);
}

/* A long line: its nodes are destroyed one by one. */
static void long_line()
{
    enum { NODES = 20000 / SMALLER };
    int calls = 0;
    sched::graph g;
    auto last = g.emplace([&] { CHECK_EQ(calls++ % NODES, 0); });
    for (int i = 1; i < NODES; i++) {
        auto next = g.emplace([&, i, counted = Counted()] { CHECK_EQ(calls++ % NODES, i); });
        next.succeed(last);
        last = next;
    }
    CHECK_EQ(alive, NODES - 1);
    CHECK(g.run());
    CHECK(g.run());
    CHECK_EQ(calls, 2 * NODES);
}

static void graph_throws()
{
    enum { NODES = 10 };
    int thrower = 0, calls = 0;
    sched::graph g;
    sched::graph::node last;
    for (int i = 0; i < NODES; i++) {
        auto next = g.emplace([&, i] {
            calls++;
            if (i == thrower)
                throw std::out_of_range(std::to_string(i));
        });
        if (i > 0)
            next.succeed(last);
        last = next;
    }
    for (thrower = 0; thrower <= NODES; thrower++) {
        calls = 0;
        try {
            CHECK(g.run());
            CHECK_EQ(thrower, NODES);
        } catch (const std::out_of_range &e) {
            CHECK_EQ(atoi(e.what()), thrower);
            CHECK_EQ(calls, thrower + 1);
        }
        CHECK_EQ(std::uncaught_exceptions(), 0);
    }
    CHECK_EQ(calls, NODES);

    sched::graph all;
    bool throws = true;
    for (int i = 0; i < TASKS; i++)
        all.emplace([&throws, i] {
            if (throws)
                throw i;
        });
    int i = thrown_by<int>([&] { all.run(); });
    CHECK(i >= 0 && i < TASKS);
    throws = false;
    CHECK(all.run());
}

static void graph_cancelled()
{
    using namespace std::chrono_literals;
    int calls = 0;
    bool sleeps = false;
    sched::graph g;
    auto first = g.emplace([&] {
        calls++;
        g.cancel();
        if (sleeps)
            sched::sleep_for(1000h); /* throws */
    });
    first.precede(g.emplace([&] { calls++; }));
    for (int i = 0; i < 4; i++) {
        sleeps = i % 2;
        calls = 0;
        CHECK(!g.run());
        CHECK_EQ(calls, 1);
    }
    calls = 0;
    g.cancel(); /* the next run */
    CHECK(!g.run());
    CHECK_EQ(calls, 0);

    /* The cancellation of the caller's group reaches the nodes, and ends the run. */
    sched::group outer;
    sched::graph inner;
    std::atomic<bool> began{false};
    inner.emplace([&] { began = true, sched::sleep_for(1000h); }).precede(inner.emplace([] { CHECK(!"called"); }));
    outer.spawn([&] { CHECK(!inner.run()); });
    while (!began)
        sched::yield();
    outer.cancel();
    CHECK(!outer.wait());
}

static void graph_refused()
{
    sched::graph g, other;
    Fragile fragile(1);
    thrown_by<std::logic_error>([&] { g.emplace([] { CHECK(!"called"); }, Fragile(100), fragile); });
    CHECK(g.run());
    auto [a, b] = g.emplace([] {}, [&g, a_node = g.emplace([] {})] {
        CHECK_EQ(error_of([&] { g.run(); }), EBUSY);
        CHECK_EQ(error_of([&] { g.emplace([] {}); }), EBUSY);
        CHECK(error_of([&] { a_node.precede(a_node); }) != 0);
        CHECK_EQ(error_of([&] { g.dot(stdout); }), EBUSY);
    });
    CHECK_EQ(error_of([&, node = a] { node.precede(node); }), EINVAL);
    auto alone = other.emplace([] {});
    CHECK_EQ(error_of([&, node = a] { node.precede(alone); }), EINVAL);
    CHECK_EQ(error_of([&, node = a] { node.succeed(alone); }), EINVAL);
    CHECK(g.run());
    a.precede(b);
    b.precede(a);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(error_of([&] { g.run(); }), EDEADLK);
    FILE *file = tmpfile();
    CHECK(file != nullptr);
    g.dot(file);
    rewind(file);
    char line[1024];
    int boxes = 0, arrows = 0;
    while (fgets(line, sizeof line, file)) {
        boxes += strstr(line, "label=") != nullptr;
        arrows += strstr(line, " -> ") != nullptr;
    }
    CHECK_EQ(boxes, 3);
    CHECK_EQ(arrows, 2);
    CHECK_EQ(fclose(file), 0);
}

/* Several threads use a graph at the same time: each call runs it, or finds that it runs. */
static void graph_from_threads()
{
    sched::graph g;
    std::atomic<int> calls{0}, throws{0};
    auto [a, b] = g.emplace([&] { if (++calls % 3 == 0) throw 5; }, [&] { calls += 0; });
    a.precede(b);
    std::vector<std::thread> threads;
    std::atomic<int> ran{0};
    for (int i = 0; i < 3; i++)
        threads.emplace_back([&] {
            for (int turn = 0; turn < 200 / SMALLER; turn++)
                try {
                    CHECK(g.run());
                    ran++;
                } catch (int five) {
                    CHECK_EQ(five, 5);
                    throws++;
                } catch (const std::system_error &e) {
                    CHECK(e.code() == std::errc::device_or_resource_busy);
                }
        });
    for (auto &thread : threads)
        thread.join();
    CHECK_EQ(ran + throws, calls);
    CHECK_EQ(throws, calls / 3);
}

static void in_pool()
{
    sched::pool pool(2);
    sched::graph g;
    int calls = 0;
    g.emplace([&] { calls++; }).precede(g.emplace([&] { calls++; }));
    CHECK(g.run(pool.scheduler()));
    CHECK(g.run(pool.scheduler()));
    CHECK_EQ(calls, 4);
}

static void graph_all()
{
    diamond();
    long_line();
    graph_throws();
    graph_cancelled();
    graph_refused();
    in_pool();
    CHECK_EQ(alive, 0);
}

CASE(hpp_graph)
{
    in_each_place(graph_all);
    graph_from_threads();
}

/* hpp_loops: sched.hpp: parallel_for calls its body once for each number or element; the reductions
 * fold them in order, into a value of any type, and the scans write these values for all beginnings
 * of the range; an exception comes out, and nothing runs any more then.
 * ctest: static debug
 * ctest: matrix few */
enum { LOOPS_N = 2000 };

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
    numbers(0, (int)LOOPS_N);
    numbers(-LOOPS_N, (int)LOOPS_N);
    numbers<unsigned char>(0, 255);
    numbers<signed char>(-128, 127);
    numbers<size_t>(SIZE_MAX - 100, SIZE_MAX);
    numbers<long long>(LLONG_MAX - 100, LLONG_MAX);
    numbers<long>(LONG_MIN, LONG_MIN + 100);
    std::atomic<int> calls{0};
    sched::parallel_for(5, 5, [&](int) { calls++; });
    sched::parallel_for(5, -5, [&](int) { calls++; });
    CHECK_EQ(calls, 0);

    std::vector<int> v(LOOPS_N);
    sched::parallel_for(0, v.size(), [&](size_t i) { v[i] = (int)i; }); /* int and size_t: size_t */
    sched::parallel_for(v, [](int &x) { x *= 2; });
    sched::parallel_for(v.cbegin(), v.cend(), [&](const int &x) { CHECK_EQ(x, 2 * (&x - v.data())); }, 10);
    std::deque<std::string> names(LOOPS_N);
    sched::parallel_for(names.begin(), names.end(), [](std::string &s) { s = "name"; });
    for (const std::string &s : names)
        CHECK(s == "name");
    int array[LOOPS_N];
    sched::parallel_for(array, [&](int &x) { x = (int)(&x - array); });
    sched::parallel_for(array, array + LOOPS_N, [&](int x) { calls += x; });
    CHECK_EQ(calls, LOOPS_N * (LOOPS_N - 1) / 2);

    /* One within another; a closure that cannot be copied. */
    calls = 0;
    auto inner = [&, p = std::make_unique<int>(1)](int) { calls += *p; };
    sched::parallel_for(0, 20, [&](int) { sched::parallel_for(0, 20, inner); });
    CHECK_EQ(calls, 400);
}

static void loop_throws()
{
    for (int thrower : {0, LOOPS_N / 3, LOOPS_N - 1}) {
        std::atomic<int> inside{0};
        auto e = thrown_by<std::out_of_range>([&] {
            sched::parallel_for(0, (int)LOOPS_N, [&](int i) {
                inside++;
                if (i == thrower) {
                    inside--;
                    throw std::out_of_range(std::to_string(i));
                }
                if (i % 100 == 0)
                    sched::yield();
                inside--;
            });
        });
        CHECK_EQ(atoi(e.what()), thrower);
        CHECK_EQ(inside, 0);
    }
    std::atomic<int> calls{0};
    int thrown = thrown_by<int>([&] { sched::parallel_for(0, (int)LOOPS_N, [&](int i) { calls++; throw i; }, 1); });
    CHECK(thrown >= 0 && thrown < LOOPS_N);
    CHECK(calls >= 1 && calls <= LOOPS_N);
}

static void reductions()
{
    CHECK_EQ(sched::parallel_reduce(0, 1000, 0L, std::plus<>(), std::plus<>()), 499500);
    CHECK_EQ(sched::parallel_reduce(3, 3, 17, std::plus<>(), std::plus<>()), 17);
    std::vector<int> v(LOOPS_N);
    std::iota(v.begin(), v.end(), 1);
    CHECK_EQ(sched::parallel_reduce(v.begin(), v.end(), 0LL, std::plus<>(), std::plus<>()), LOOPS_N * (LOOPS_N + 1LL) / 2);
    auto largest = [](int a, int b) { return std::max(a, b); };
    CHECK_EQ(sched::parallel_reduce(v.begin(), v.end(), INT_MIN, largest, largest), LOOPS_N);

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

static void scans()
{
    std::vector<int> v(LOOPS_N);
    std::iota(v.begin(), v.end(), 1);
    std::vector<long> wanted(v.size()), results(v.size());
    for (size_t grain : {0, 1, 7, 1000, 1 << 30}) {
        std::partial_sum(v.begin(), v.end(), wanted.begin(), [](long a, long b) { return a + b; });
        CHECK(sched::inclusive_scan(v.begin(), v.end(), results.begin(), std::plus<>(), grain) == results.end());
        CHECK(results == wanted);
        std::fill(results.begin(), results.end(), 0);
        CHECK(sched::inclusive_scan(std::as_const(v), results.begin(), std::plus<>(), grain) == results.end());
        CHECK(results == wanted);
        wanted.insert(wanted.begin(), 0);
        wanted.pop_back();
        for (long &x : wanted)
            x += 100;
        CHECK(sched::exclusive_scan(v.begin(), v.end(), results.begin(), 100L, std::plus<>(), grain) == results.end());
        CHECK(results == wanted);
        sched::exclusive_scan(v, results.begin(), 100L, std::plus<>(), grain);
        CHECK(results == wanted);
        auto in_place = v;
        sched::exclusive_scan(in_place, in_place.begin(), 100, std::plus<>(), grain);
        CHECK(std::equal(in_place.begin(), in_place.end(), wanted.begin()));
        in_place = v;
        sched::inclusive_scan(in_place, in_place.begin(), std::minus<>(), 1 << 30); /* one part: any operation */
        CHECK_EQ(in_place.back(), 2 - LOOPS_N * (LOOPS_N + 1) / 2);
    }
    /* Numbers; values that are not trivially copyable; not commutative, and by value or in place. */
    std::vector<std::string> digits(300), texts(300), expected(300);
    std::string all;
    for (size_t i = 0; i < digits.size(); i++)
        digits[i] = std::to_string(i) + ",";
    for (size_t grain : {0, 1, 2, 3, 50, 299, 300, 1000}) {
        std::partial_sum(digits.begin(), digits.end(), expected.begin());
        sched::inclusive_scan(digits, texts.begin(), std::plus<>(), grain);
        CHECK(texts == expected);
        expected.insert(expected.begin(), "");
        expected.pop_back();
        auto append = [](std::string &s, const std::string &t) { s += t; };
        sched::exclusive_scan(digits, texts.begin(), std::string(), append, grain);
        CHECK(texts == expected);
        texts = digits;
        sched::exclusive_scan(texts, texts.begin(), std::string(), append, grain);
        CHECK(texts == expected);
        std::array<long, 100> sums{};
        CHECK(sched::inclusive_scan(1L, 101, sums.begin(), std::plus<>(), grain) == sums.end());
        CHECK(sums[0] == 1 && sums[99] == 5050);
    }
    CHECK(sched::inclusive_scan(v.begin(), v.begin(), results.begin()) == results.begin());
    CHECK(sched::exclusive_scan(v.begin(), v.begin(), results.begin(), 3) == results.begin());
    int array[] = {3, 1, 2};
    sched::inclusive_scan(array, array);
    CHECK(array[0] == 3 && array[1] == 4 && array[2] == 6);
    /* The same sums each time, though the addition rounds. */
    std::vector<double> terms(3000), first(3000), again(3000);
    for (size_t i = 0; i < terms.size(); i++)
        terms[i] = 1.0 / double(i + 1);
    sched::inclusive_scan(terms, first.begin());
    for (int i = 0; i < 5; i++) {
        sched::inclusive_scan(terms, again.begin());
        CHECK(again == first);
    }
}

/* The operation throws for one of its calls; no value is left behind. */
static void scan_throws(int which)
{
    std::atomic<int> calls{0};
    try {
        std::vector<Value> values(100), results(100);
        sched::inclusive_scan(values, results.begin(), [&](Value &v, const Value &w) {
            if (++calls == which)
                throw which;
            v.n += w.n + 1;
        }, 5);
        CHECK(which == 0 || calls < which);
        for (int i = 0; i < 100; i++)
            CHECK_EQ(results[size_t(i)].n, i);
    } catch (int thrown) {
        CHECK_EQ(thrown, which);
    }
    CHECK_EQ(alive, 0);
}

static void loops_all()
{
    loops();
    loop_throws();
    reductions();
    scans();
    for (int i = 0; i < 200; i++)
        scan_throws(i);
    reduction_throws([](auto body, auto combine) {
        return sched::parallel_reduce(0, 100, Value(), body, combine, 5);
    });
    for (int i = 0; i < 100; i++)
        reduction_throws([](auto body, auto combine) {
            return sched::parallel_reduce_relaxed(0, 100, Value(), body, combine, 5);
        });
}

CASE(hpp_loops)
{
    in_each_place(loops_all);
    CHECK_EQ(error_of([] { sched::parallel_for(0UL, SIZE_MAX, [](size_t) {}); }), EINVAL);
}

/* hpp_run: sched.hpp: run gives its function's value when all tasks have ended; spawn takes any
 * closure, wherever it is kept, calls it once and destroys it once.
 * ctest: static debug
 * ctest: matrix few */
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

CASE(hpp_run)
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
    auto e = thrown_by<std::system_error>([] { sched::run(5000, [] {}); });
    CHECK(e.code() == std::errc::invalid_argument);
    CHECK(strstr(e.what(), "sched_init") != nullptr);
}

/* hpp_sort: sched.hpp: sort, for any order, iterators and elements that can be moved; after an
 * exception of the comparison no element is lost but perhaps the one that std::sort, which sorts
 * the small parts, held in its hand.
 * ctest: static
 * ctest: matrix few */
enum { SORT_N = 12000 / SMALLER };

static unsigned seed = 1;

static unsigned number()
{
    seed = seed * 1664525 + 1013904223;
    return seed >> 8;
}

template <class Make> static void ints(Make make)
{
    for (int n : {0, 1, 2, 100, 4095, 4096, 4097, (int)SORT_N}) {
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
    for (int i = 0; i < SORT_N; i++)
        v.push_back(std::make_unique<int>((int)number()));
    sched::sort(v.begin(), v.end(), [](const auto &a, const auto &b) { return *a < *b; });
    for (size_t i = 1; i < v.size(); i++)
        CHECK(*v[i - 1] <= *v[i]);

    std::deque<std::string> names;
    for (int i = 0; i < SORT_N; i++)
        names.push_back("a name that is not short: " + std::to_string(number() % 5000));
    sched::sort(names.begin(), names.end());
    CHECK(std::is_sorted(names.begin(), names.end()));

    std::vector<int> key(SORT_N), index(SORT_N); /* an order with a state */
    for (int &k : key)
        k = (int)number();
    std::iota(index.begin(), index.end(), 0);
    auto by_key = [&](int a, int b) { return key[(size_t)a] < key[(size_t)b]; };
    sched::sort(index.begin(), index.end(), by_key);
    CHECK(std::is_sorted(index.begin(), index.end(), by_key));
}

static void throws()
{
    for (int when : {1, 100, SORT_N / 2, 5 * SORT_N}) {
        std::vector<std::unique_ptr<int>> v;
        for (int i = 0; i < SORT_N; i++)
            v.push_back(std::make_unique<int>((i * 7919) % SORT_N));
        std::atomic<int> calls{0};
        auto less = [&](const auto &a, const auto &b) {
            if (++calls == when)
                throw when;
            return *a < *b;
        };
        CHECK_EQ(thrown_by<int>([&] { sched::sort(v.begin(), v.end(), less); }), when);
        long there = 0, sum = 0;
        for (const auto &p : v)
            if (p)
                there++, sum += *p;
        CHECK(there >= SORT_N - 1);
        CHECK(there < SORT_N || sum == (long)SORT_N * (SORT_N - 1) / 2);
    }
}

static void sort_all()
{
    orders();
    elements();
    throws();
}

CASE(hpp_sort)
{
    sched::run(4, sort_all);
    sort_all(); /* in the default pool */
}

/* hpp_stable_sort: sched.hpp: stable_sort gives what std::stable_sort gives, of any elements that can be moved; after an
 * exception of the comparison nothing is lost to the memory.
 * ctest: static debug
 * ctest: matrix few threads=1,4 */
template <class T, class Less> static void as_std(std::vector<T> v, Less less)
{
    auto expected = v;
    std::stable_sort(expected.begin(), expected.end(), less);
    sched::stable_sort(v, less);
    CHECK(v == expected);
}

static void stable_sorts()
{
    unsigned seed = 1;
    auto random = [&](int below) { return int((seed = seed * 1103515245 + 12345) >> 8) % below; };
    for (int n : {0, 1, 2, 4096, 4097, 9000, 100000 / SMALLER})
        for (int keys : {1, 7, 1000000}) {
            std::vector<std::pair<int, int>> pairs;
            for (int i = 0; i < n; i++) pairs.emplace_back(random(keys), i);
            as_std(pairs, [](auto &a, auto &b) { return a.first < b.first; });
            as_std(pairs, [](auto &a, auto &b) { return a.first > b.first; });
            std::deque<std::string> words;
            for (auto &[key, i] : pairs) words.push_back("a word that is not short " + std::to_string(key));
            auto expected = words;
            std::stable_sort(expected.begin(), expected.end());
            sched::stable_sort(words.begin(), words.end());
            CHECK(words == expected);
        }
    std::vector<std::unique_ptr<int>> owned;
    for (int i = 0; i < 20000; i++) owned.push_back(std::make_unique<int>(random(100)));
    sched::stable_sort(owned, [](auto &a, auto &b) { return *a < *b; });
    CHECK(std::is_sorted(owned.begin(), owned.end(), [](auto &a, auto &b) { return *a < *b; }));
    std::vector<Counted> counted(20000);
    std::atomic<int> calls{0};
    auto less = [&](auto &, auto &) { return ++calls > 100000 ? throw 5 : false; };
    CHECK_EQ(thrown_by<int>([&] { sched::stable_sort(counted, less); }), 5);
    CHECK_EQ(alive, 20000);
}

CASE(hpp_stable_sort)
{
    sched::run(4, stable_sorts);
    stable_sorts();
    CHECK_EQ(alive, 0);
}

/* hpp_ranges: sched.hpp: loops, reductions and sorts of whole ranges, with a grain; a negative number beside an
 * unsigned one is refused; stop ends a loop, and so does an exception.
 * ctest: static
 * ctest: matrix few threads=1,4 */
static void ranges()
{
    std::vector<int> v(1000);
    CHECK(sched::parallel_for(v, [](int &x) { x = 3; }));
    CHECK(sched::parallel_for(v, [](int &x) { x++; }, 7));
    CHECK(sched::parallel_for(v.begin() + 500, v.end(), [](int &x) { x++; }, 7));
    CHECK(sched::parallel_for(std::int8_t(-128), std::int8_t(127), [&](std::int8_t i) { v[size_t(i + 128)] += i; }));
    for (int i = 0; i < 1000; i++) CHECK_EQ(v[size_t(i)], 4 + (i >= 500) + (i < 255 ? i - 128 : 0));
    std::atomic<long> covered{0};
    CHECK(sched::parallel_for(size_t(0), size_t(1000), [&](size_t lo, size_t hi) { CHECK(lo < hi && hi - lo <= 30), covered += long(hi - lo); }, 30));
    CHECK(sched::parallel_for(v, [&](auto lo, auto hi) { covered += hi - lo; }));
    CHECK_EQ(covered, 2000);
    auto add = [](long a, long b) { return a + b; };
    long sum = std::accumulate(v.begin(), v.end(), 0L);
    CHECK_EQ(sched::parallel_reduce(v, 0L, add, add), sum);
    CHECK_EQ(sched::parallel_reduce(v, 0L, add, add, 10), sum);
    CHECK_EQ(sched::parallel_reduce_relaxed(std::as_const(v), 0L, add, add, 10), sum);
    int array[] = {3, 1, 2};
    CHECK(sched::parallel_for(array, [](int &x) { x += 0; }, 2));
    CHECK(sched::parallel_for(array, add_zero, 2));
    CHECK(sched::parallel_for(array, array + 3, add_zero, 2));
    CHECK_EQ(sched::parallel_reduce(array, 0, std::plus<>(), std::plus<>()), 6);
    CHECK_EQ(sched::parallel_reduce(array, array + 3, 0, std::plus<>(), std::plus<>()), 6);
    CHECK_EQ(sched::parallel_reduce_relaxed(array, 0, std::plus<>(), std::plus<>(), 2), 6);
    int sums[3];
    CHECK(sched::inclusive_scan(array, sums) == sums + 3 && sums[2] == 6);
    CHECK(sched::inclusive_scan(array, array + 3, sums, added) == sums + 3 && sums[1] == 4);
    CHECK(sched::inclusive_scan(array, sums, added, 2) == sums + 3 && sums[2] == 6);
    CHECK(sched::exclusive_scan(array, sums, 1, std::plus<>(), 2) == sums + 3 && sums[2] == 5);
    CHECK(sched::exclusive_scan(array, array + 3, sums, 1) == sums + 3 && sums[0] == 1);
    sched::sort(array);
    CHECK(array[0] == 1 && array[1] == 2 && array[2] == 3);
    sched::sort(v, std::greater<>());
    CHECK(std::is_sorted(v.rbegin(), v.rend()));
    CHECK_EQ(error_of([&] { sched::parallel_for(-1, v.size(), [](size_t) { CHECK(!"called"); }); }), EINVAL);
    std::atomic<long> calls{0};
    CHECK(!sched::parallel_for(0L, std::numeric_limits<long>::max(), [&](long) { if (++calls == 100) sched::stop(); }, 1));
    CHECK(calls >= 100);
    CHECK(sched::parallel_for(0, 10, [&](int) { sched::parallel_for(0, 10, [&](int) { sched::stop(); }); }));
    auto throws = [&](long) { if (++calls > 200) throw 5; };
    CHECK_EQ(thrown_by<int>([&] { sched::parallel_for(0L, std::numeric_limits<long>::max(), throws, 1); }), 5);
}

CASE(hpp_ranges)
{
    sched::run(4, ranges);
    ranges();
}

/* hpp_pool: sched.hpp: a pool's tasks have futures: a task that gets one is suspended, a thread blocks, and an exception
 * comes out once. Values and functions are moved, not copied; all are gone at the end. Loops and groups by the pool's
 * scheduler run in it.
 * ctest: static debug
 * ctest: matrix few threads=1,4 */
static void futures(sched::pool &pool)
{
    sched::future<int> none;
    CHECK(!none.valid());
    CHECK_EQ(error_of([&] { none.wait(); }), EINVAL);
    auto seven = pool.submit([] { return std::make_unique<int>(7); });
    CHECK(seven.valid());
    seven.wait();
    CHECK(seven.ready());
    CHECK_EQ(*seven.get(), 7);
    CHECK(!seven.valid());
    auto moved = pool.submit([p = std::make_unique<int>(8)] { return *p; });
    none = std::move(moved);
    CHECK(!moved.valid());
    CHECK_EQ(none.get(), 8);
    for (int i = 0; i < 50; i++) { /* often: a race detector must not see the task free what this thread reads */
        auto throws = pool.submit([]() -> std::string { throw 3; });
        CHECK_EQ(thrown_by<int>([&] { throws.get(); }), 3);
    }
    auto within = pool.submit([&] { return pool.submit([] { return 5; }).get() + 1; });
    CHECK_EQ(within.get(), 6);
    std::atomic<int> ran{0};
    pool.submit([&] { ran++; }).get();
    for (int i = 0; i < 100; i++) pool.submit([&, kept = Counted()] { ran++; });
    std::vector<sched::future<int>> many;
    for (int i = 0; i < 100; i++) many.push_back(pool.submit([i] { return i; }));
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; t++)
        threads.emplace_back([&, t] { for (int i = t; i < 100; i += 2) CHECK_EQ(many[size_t(i)].get(), i); });
    for (auto &thread : threads) thread.join();
    pool.wait();
    CHECK_EQ(ran, 101);
    CHECK_EQ(alive, 0);
    CHECK_EQ(sched_worker_index(pool.scheduler()), -1);
    sched::group group(pool.scheduler());
    for (int i = 0; i < 10; i++) group.spawn([&] { ran += sched_worker_index(pool.scheduler()) >= 0; });
    CHECK(group.wait());
    CHECK(sched::parallel_for(0, 10, [&](int) { ran += sched_worker_index(pool.scheduler()) >= 0; }, 1, pool.scheduler()));
    CHECK_EQ(ran, 121);
}

CASE(hpp_pool)
{
    sched::pool pool(4), other(2, "SCHED_IDLE=park");
    futures(pool);
    sched_options options = {};
    options.size = sizeof options;
    options.nthreads = 3;
    sched::pool third(options);
    sched::run(2, [&] { futures(third); });
    third.submit([&] { return other.submit([] {}).get(); }).get();
    CHECK_EQ(error_of([] { sched::pool bad(1, "SCHED_IDLE=sometimes"); }), EINVAL);
}

/* hpp_worker_local: sched.hpp: a value for each worker, which the bodies of loops change without atomics.
 * ctest: static
 * ctest: matrix few threads=1,4 */
static void locals(::scheduler *s)
{
    sched::worker_local<long> sums(1, s);
    sched::parallel_for(0, 100000, [&](int i) { sums.local() += i; }, 0, s);
    long all = 0;
    int values = 0;
    for (long &sum : sums) {
        CHECK_EQ(reinterpret_cast<uintptr_t>(&sum) % 64, 0);
        all += sum;
        values++;
    }
    CHECK_EQ(values, sched_worker_count(s));
    CHECK_EQ(all, 4999950000L + values);
    sched::worker_local<std::vector<int>> lists({}, s);
    sched::parallel_for(0, 1000, [&](int i) { lists.local().push_back(i); }, 0, s);
    auto list = lists.combine([](std::vector<int> &into, std::vector<int> &&from) { into.insert(into.end(), from.begin(), from.end()); });
    CHECK_EQ(list.size(), 1000);
    sched::sort(list, {}, s);
    for (int i = 0; i < 1000; i++) CHECK_EQ(list[size_t(i)], i);
}

CASE(hpp_worker_local)
{
    sched::run(4, [] { locals(nullptr); });
    locals(nullptr);
    sched::pool pool(3);
    locals(pool.scheduler());
    thrown_by<std::out_of_range>([] { sched::worker_local<int>().local(); });
}

/* hpp_stress: sched.hpp: all of it at once, chosen at random: what is counted is right, and what
 * was made is gone.
 * ctest: debug
 * ctest: matrix few */
static std::atomic<long> leaves;
static sched::mutex lock;
static long under_lock;

static unsigned next(unsigned seed)
{
    return (seed ^ (seed >> 15)) * 2654435761u + 12345;
}

/* A tree of 2^depth leaves, each made in one of several ways; some throw when all is counted. */
static void grow(int depth, unsigned seed)
{
    Counted counted;
    if (depth == 0) {
        leaves++;
        std::lock_guard<sched::mutex> guard(lock);
        under_lock++;
        return;
    }
    unsigned left = next(seed), right = next(left);
    switch (seed >> 8 & 7) {
    case 0:
    case 1:
        sched::fork_join([=] { grow(depth - 1, left); }, [=] { grow(depth - 1, right); });
        break;
    case 2: {
        sched::group g;
        g.spawn([=, c = Counted()] { grow(depth - 1, left); });
        g.spawn([=] { grow(depth - 1, right); });
        g.wait();
        break;
    }
    case 3:
        sched::parallel_for(0, 2, [=](int i) { grow(depth - 1, i ? right : left); }, 1);
        break;
    case 4: {
        std::string both = sched::parallel_reduce(0, 2, std::string(), [=](std::string &s, int i) {
            grow(depth - 1, i ? right : left);
            s += std::to_string(i);
        }, std::plus<>(), 1);
        CHECK(both == "01");
        break;
    }
    case 5:
        try {
            sched::fork_join([=] { grow(depth - 1, left); }, [=, c = Counted()] {
                grow(depth - 1, right);
                throw std::runtime_error("expected");
            });
            CHECK(!"no exception");
        } catch (const std::runtime_error &) {
            sched::yield();
        }
        break;
    case 6:
        sched::spawn([=, p = std::make_unique<int>(depth)] { grow(*p - 1, left); });
        grow(depth - 1, right);
        break;
    default: {
        sched::group g;
        for (int i = 0; i < 2; i++)
            g.spawn([=] {
                grow(depth - 1, i ? right : left);
                throw i;
            });
        int thrown = thrown_by<int>([&] { g.wait(); });
        CHECK(thrown == 0 || thrown == 1);
    }
    }
}

CASE(hpp_stress)
{
    enum { DEPTH = SMALLER > 1 ? 5 : 8 };
    for (unsigned seed = 1; seed <= 10; seed++) {
        leaves = under_lock = 0;
        sched::run(4, [=] { grow(DEPTH, next(seed * 77)); });
        CHECK_EQ(leaves, 1 << DEPTH);
        CHECK_EQ(under_lock, 1 << DEPTH);
        CHECK_EQ(alive, 0);
    }
}

/* hpp_sync: sched.hpp: mutex, condition_variable, semaphore, barrier and block_guard, with the
 * standard library's guards: tasks of several runs and plain threads meet.
 * ctest: static debug
 * ctest: matrix few */
enum { SYNC_TASKS = 20, ROUNDS = 20 };

static sched::mutex first, second; /* static: constant-initialised */
static sched::semaphore two(2);

static void mutexes()
{
    long count = 0, total = 0;
    std::atomic<int> refused{0};
    sched::group g;
    for (int i = 0; i < SYNC_TASKS; i++)
        g.spawn([&] {
            for (int r = 0; r < ROUNDS; r++) {
                {
                    std::lock_guard<sched::mutex> guard(first);
                    long seen = count;
                    sched::yield();
                    count = seen + 1;
                }
                {
                    std::lock_guard<sched::mutex> one(first), two(second); /* in the same order everywhere */
                    total++;
                }
                std::unique_lock<sched::mutex> maybe(second, std::try_to_lock);
                if (!maybe.owns_lock())
                    refused++;
            }
        });
    CHECK(g.wait());
    CHECK_EQ(count, SYNC_TASKS * ROUNDS);
    CHECK_EQ(total, SYNC_TASKS * ROUNDS);
    CHECK(refused <= SYNC_TASKS * ROUNDS);
    CHECK(first.try_lock());
    CHECK(!first.try_lock());
    first.unlock();
    CHECK_EQ(error_of([] { first.unlock(); }), EPERM);
}

static void queue()
{
    std::deque<int> items;
    sched::mutex m;
    sched::condition_variable not_empty, all_taken;
    long sum = 0;
    int taken = 0;
    sched::group g;
    for (int i = 0; i < SYNC_TASKS; i++)
        g.spawn([&] {
            std::unique_lock<sched::mutex> held(m);
            not_empty.wait(held, [&] { return !items.empty(); });
            sum += items.front();
            items.pop_front();
            if (++taken == SYNC_TASKS)
                all_taken.notify_all();
        });
    for (int waiter = 0; waiter < 2; waiter++)
        g.spawn([&] {
            std::unique_lock<sched::mutex> held(m);
            while (taken < SYNC_TASKS)
                all_taken.wait(held);
            CHECK(held.owns_lock());
        });
    for (int i = 0; i < SYNC_TASKS; i++) {
        std::lock_guard<sched::mutex> guard(m);
        items.push_back(i);
        not_empty.notify_one();
    }
    g.wait();
    CHECK_EQ(sum, SYNC_TASKS * (SYNC_TASKS - 1) / 2);
    std::unique_lock<sched::mutex> none(m, std::defer_lock);
    CHECK_EQ(error_of([&] { not_empty.wait(none); /* not locked */ }), EPERM);
}

static void semaphores()
{
    std::atomic<int> inside{0};
    sched::parallel_for(0, (int)SYNC_TASKS, [&](int) {
        two.acquire();
        CHECK(++inside <= 2);
        sched::yield();
        inside--;
        two.release();
    }, 1);
    sched::semaphore s(0);
    CHECK(!s.try_acquire());
    s.release(3);
    s.acquire();
    CHECK(s.try_acquire());
    CHECK(s.try_acquire());
    CHECK(!s.try_acquire());
}

static void barriers()
{
    enum { PARTIES = 5 };
    sched::barrier all(PARTIES);
    std::atomic<int> arrived{0}, chosen{0};
    sched::group g;
    for (int i = 0; i < PARTIES; i++)
        g.spawn([&] {
            for (int r = 1; r <= ROUNDS; r++) {
                arrived++;
                chosen += all.arrive_and_wait();
                CHECK(arrived >= PARTIES * r);
                all.arrive_and_wait();
            }
        });
    CHECK(g.wait());
    CHECK_EQ(chosen, ROUNDS);
    sched::barrier of_none(0);
    CHECK_EQ(error_of([&] { of_none.arrive_and_wait(); }), EINVAL);
}

static void blocking()
{
    std::atomic<int> ended{0};
    sched::group g;
    for (int i = 0; i < 4; i++)
        g.spawn([&] {
            {
                sched::block_guard section;
                pause_us(100);
                if (section.began && has_threads())
                    CHECK_EQ(sched::worker_index(), -1);
            }
            CHECK(sched::worker_index() >= 0);
            try {
                sched::block_guard outer, inner;
                throw 1;
            } catch (int) {
                CHECK(sched::worker_index() >= 0);
            }
            ended++;
        });
    CHECK(g.wait());
    CHECK_EQ(ended, 4);
}

/* A plain thread and two runs have a mutex and a semaphore in common. */
static void together()
{
    sched::mutex m;
    sched::semaphore ready(0);
    long count = 0;
    auto add = [&] {
        for (int i = 0; i < 200; i++) {
            std::lock_guard<sched::mutex> guard(m);
            count++;
        }
        ready.release();
    };
    std::thread plain(add), run([&] { sched::run(2, [&] { sched::parallel_for(0, 2, [&](int) { add(); }, 1); }); });
    sched::run(2, [&] {
        sched::spawn(add);
        for (int i = 0; i < 4; i++)
            ready.acquire();
    });
    plain.join();
    run.join();
    CHECK_EQ(count, 800);
}

CASE(hpp_sync)
{
    for (int threads : {1, 4})
        sched::run(threads, [] {
            mutexes();
            queue();
            semaphores();
            barriers();
            blocking();
        });
    together();
}

/* hpp_levels: sched.hpp: tasks with a level are called once each, with what they have captured; the run, or the group's wait, lasts
 * until they have ended; and their exceptions come out there.
 * ctest: static debug
 * ctest: matrix few idle=park threads=1,2 */
CASE(hpp_levels)
{
    std::atomic<int> called{0};
    auto owns = [&](int n) { return [&called, n, text = std::make_unique<std::string>("12345")] { called += n * (int)text->size(); }; };
    sched::run(2, [&] {
        for (sched::level level : {sched::level::normal, sched::level::urgent, sched::level::background})
            sched::spawn_at(level, owns(1));
        sched::group group;
        for (sched::level level : {sched::level::background, sched::level::urgent, sched::level::normal})
            group.spawn_at(level, owns(100));
        CHECK(group.wait());
        CHECK(called >= 1500);
        group.cancel();
        group.spawn_at(sched::level::urgent, owns(10000));
        CHECK(!group.wait());
        group.spawn_at(sched::level::background, [] { throw std::runtime_error("from a group"); });
        CHECK_EQ(std::string(thrown_by<std::runtime_error>([&] { group.wait(); }).what()) == "from a group", 1);
    });
    CHECK_EQ(called, 1515);
    CHECK(out_of_run(2, [] { sched::spawn_at(sched::level::urgent, [] { throw std::runtime_error("urgent"); }); }) == "urgent");
}
