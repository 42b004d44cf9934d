// boost.cpp: Boost's coroutines, two of them that hand over to each other:
//
//   boost context|fiber WORKLOAD [-n SIZE] [-t THREADS] [-r REPETITIONS]     a line a run, as in bench_c
//   boost context|fiber --version
//
// Boost.Context is the bare switch: yield goes straight to the other context, and no queue says who is
// next; it has one thread. Boost.Fiber has a scheduler above it, with a queue, and with more threads than one
// work stealing; suspend waits for an element of a channel.

#include "../measure.h"

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <boost/context/fiber.hpp>
#include <boost/fiber/all.hpp>
#include <boost/version.hpp>

namespace context = boost::context;
namespace fibers = boost::fibers;

static long each;
static struct {
    long done;
    char pad[56];
} seen[2];

static void context_yield()
{
    context::fiber other([](context::fiber &&back) {
        for (long k = 0; k < each; k++) {
            seen[1].done++;
            back = std::move(back).resume();
        }
        return std::move(back);
    });
    for (long k = 0; k < each; k++) {
        seen[0].done++;
        other = std::move(other).resume();
    }
    std::move(other).resume(); // to its end
}

// Threads that take what fibers there are, beside the one that makes it.
class stealers {
    using stealing = fibers::algo::work_stealing;

    std::vector<std::thread> threads;
    fibers::mutex lock;
    fibers::condition_variable changed;
    bool over = false;

public:
    explicit stealers(uint32_t all)
    {
        for (uint32_t i = 1; i < all; i++)
            threads.emplace_back([this, all] {
                fibers::use_scheduling_algorithm<stealing>(all, true);
                std::unique_lock<fibers::mutex> guard(lock);
                changed.wait(guard, [this] { return over; });
            });
        if (all > 1)
            fibers::use_scheduling_algorithm<stealing>(all, true);
    }

    ~stealers()
    {
        lock.lock();
        over = true;
        lock.unlock();
        changed.notify_all();
        for (std::thread &t : threads)
            t.join();
    }
};

static void fiber_pair(const std::function<void(int)> &f)
{
    fibers::fiber first(f, 0), second(f, 1);
    first.join();
    second.join();
}

static void fiber_yield()
{
    fiber_pair([](int i) {
        for (long k = 0; k < each; k++) {
            seen[i].done++;
            boost::this_fiber::yield();
        }
    });
}

static void fiber_suspend()
{
    using channel = fibers::buffered_channel<int>;
    channel turn[2] = {channel(2), channel(2)}; // the least room that it takes
    turn[0].push(0);
    fiber_pair([&turn](int i) {
        for (long k = 0; k < each; k++) {
            turn[i].value_pop();
            seen[i].done++;
            turn[1 - i].push(0);
        }
    });
}

static const bench_about yields = {"yield", "yields together", 1L << 20, 2, 1L << 40, nullptr};
static const bench_about turns = {"suspend", "turns together", 1L << 18, 2, 1L << 40, nullptr};

static const struct workload {
    const char *system;
    const bench_about *about;
    void (*run)();
} workloads[] = {
    {"context", &yields, context_yield},
    {"fiber", &yields, fiber_yield},
    {"fiber", &turns, fiber_suspend},
};

static int measure(const workload &w, int argc, char **argv)
{
    struct bench b = bench_start(w.about, argc, argv);
    int threads = b.threads > 0 ? b.threads : (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (b.serial || (w.run == context_yield && threads > 1)) {
        std::fprintf(stderr, "boost: contexts have one thread, and the serial version is bench_c's\n");
        return 2;
    }
    stealers others((uint32_t)threads);
    each = b.n / 2;
    std::string kind = std::string("boost.") + w.system;
    const char *field = w.about == &yields ? "ns_a_yield" : "ns_a_turn";
    uint64_t sum = bench_mix((uint64_t)(w.about == &yields ? each : 2 * each));
    for (int r = 0; r < b.repetitions; r++) {
        seen[0].done = seen[1].done = 0;
        bench_clock_start(&b);
        w.run();
        bench_clock_stop(&b);
        bench_field(&b, field, 1e9 * b.wall / (double)(2 * each));
        int right = seen[0].done == each && seen[1].done == each;
        bench_print(&b, kind.c_str(), threads, 2, sum, right);
    }
    return bench_end(&b);
}

int main(int argc, char **argv)
{
    if (argc == 3 && std::strcmp(argv[2], "--version") == 0) {
        std::printf("Boost %d.%d\n", BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000);
        return 0;
    }
    for (const workload &w : workloads)
        if (argc > 2 && std::strcmp(argv[1], w.system) == 0 && std::strcmp(argv[2], w.about->name) == 0)
            return measure(w, argc - 2, argv + 2);
    std::fprintf(stderr, "usage: boost context|fiber yield|suspend [-n SIZE] [-t THREADS] [-r REPETITIONS]\n");
    return 2;
}
