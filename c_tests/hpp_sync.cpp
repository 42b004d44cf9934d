/* sched.hpp: mutex, condition_variable, semaphore, barrier and block_guard, with the standard library's guards: tasks
 * of several runs and plain threads meet.
 * ctest: static debug
 * ctest: matrix few */
#include "check.h"
#include <sched.hpp>
#include <deque>
#include <thread>

enum { TASKS = 20, ROUNDS = 20 };

static sched::mutex first, second; /* static: constant-initialised */
static sched::semaphore two(2);

static void mutexes()
{
    long count = 0, total = 0;
    std::atomic<int> refused{0};
    sched::group g;
    for (int i = 0; i < TASKS; i++)
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
    CHECK_EQ(count, TASKS * ROUNDS);
    CHECK_EQ(total, TASKS * ROUNDS);
    CHECK(refused <= TASKS * ROUNDS);
    CHECK(first.try_lock());
    CHECK(!first.try_lock());
    first.unlock();
    try {
        first.unlock();
        CHECK(!"no exception");
    } catch (const std::system_error &e) {
        CHECK(e.code() == std::errc::operation_not_permitted);
    }
}

static void queue()
{
    std::deque<int> items;
    sched::mutex m;
    sched::condition_variable not_empty, all_taken;
    long sum = 0;
    int taken = 0;
    sched::group g;
    for (int i = 0; i < TASKS; i++)
        g.spawn([&] {
            std::unique_lock<sched::mutex> held(m);
            not_empty.wait(held, [&] { return !items.empty(); });
            sum += items.front();
            items.pop_front();
            if (++taken == TASKS)
                all_taken.notify_all();
        });
    for (int waiter = 0; waiter < 2; waiter++)
        g.spawn([&] {
            std::unique_lock<sched::mutex> held(m);
            while (taken < TASKS)
                all_taken.wait(held);
            CHECK(held.owns_lock());
        });
    for (int i = 0; i < TASKS; i++) {
        std::lock_guard<sched::mutex> guard(m);
        items.push_back(i);
        not_empty.notify_one();
    }
    g.wait();
    CHECK_EQ(sum, TASKS * (TASKS - 1) / 2);
    std::unique_lock<sched::mutex> none(m, std::defer_lock);
    try {
        not_empty.wait(none); /* not locked */
        CHECK(!"no exception");
    } catch (const std::system_error &e) {
        CHECK(e.code() == std::errc::operation_not_permitted);
    }
}

static void semaphores()
{
    std::atomic<int> inside{0};
    sched::parallel_for(0, (int)TASKS, [&](int) {
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
    try {
        of_none.arrive_and_wait();
        CHECK(!"no exception");
    } catch (const std::system_error &e) {
        CHECK(e.code() == std::errc::invalid_argument);
    }
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
                if (section.began && !kind_is("serial"))
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

int main()
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
    return 0;
}
