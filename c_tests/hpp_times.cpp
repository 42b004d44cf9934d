/* hpp_times: sched.hpp: deadlines, cancelled waits, timers and channels. */
#include "case.h"
#include "places.hpp"
#include "counted.hpp"
#include "thrown.hpp"
#include <sched.hpp>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using std::chrono::steady_clock;

/* hpp_deadlines: sched.hpp: a deadline is a time of any clock, or a duration of any unit, however long. Nothing that waits
 * for a time ends before it; what has passed is a try.
 * ctest: static debug
 * ctest: matrix few */
static void conversions()
{
    using sched::deadline;
    CHECK_EQ(deadline(steady_clock::time_point(5ns)).at, 5);
    CHECK_EQ(deadline(steady_clock::time_point(-7s)).at, -7 * SCHED_SECOND);
    CHECK_EQ(deadline(steady_clock::time_point::max()).at, SCHED_FOREVER);
    CHECK(deadline(steady_clock::time_point::min()).at < 0);
    CHECK_EQ(deadline(std::chrono::hours::max()).at, SCHED_FOREVER);
    CHECK(deadline(std::chrono::hours::min()).at < 0);
    CHECK_EQ(deadline(std::chrono::nanoseconds::max()).at, SCHED_FOREVER);
    CHECK_EQ(deadline(std::chrono::duration<double>(1e300)).at, SCHED_FOREVER);
    CHECK_EQ(deadline(steady_clock::time_point(9000000000s)).at, 9000000000 * SCHED_SECOND);
    std::chrono::duration<long, std::pico> part(1);
    CHECK_EQ(deadline(std::chrono::time_point<steady_clock, decltype(part)>(part)).at, 1); /* not early */
    sched_time before = sched_now();
    sched_time in_an_hour = deadline(std::chrono::system_clock::now() + 1h).at, after = sched_now();
    CHECK(in_an_hour > before + 3590 * SCHED_SECOND && in_an_hour < after + 3610 * SCHED_SECOND);
    CHECK(deadline(1h).at >= before + 3600 * SCHED_SECOND);
    using std::chrono::system_clock;
    CHECK(deadline(system_clock::time_point::min()).at < before);
    CHECK_EQ(deadline(std::chrono::time_point<system_clock, std::chrono::seconds>::max()).at, SCHED_FOREVER);
    CHECK(deadline(std::chrono::time_point<system_clock, std::chrono::seconds>::min()).at < before);
    CHECK(deadline(system_clock::now() + 24h * 365 * 20).at > before + 24 * 3600 * 365 * 19 * SCHED_SECOND);
}

static void sleeps()
{
    for (auto time : {-1ms, 0ms, 1ms, 3ms}) {
        auto end = steady_clock::now() + time;
        sched::sleep_for(time);
        CHECK(steady_clock::now() >= end);
        end = steady_clock::now() + time;
        sched::sleep_until(end);
        CHECK(steady_clock::now() >= end);
    }
}

static void objects()
{
    sched::mutex m;
    sched::condition_variable c;
    sched::semaphore sem(1), tried(0);
    std::unique_lock<sched::mutex> held(m, 1h);
    CHECK(held.owns_lock());
    sched::group g;
    g.spawn([&] {
        auto end = steady_clock::now() + 2ms;
        std::unique_lock<sched::mutex> late(m, end);
        CHECK(!late.owns_lock());
        CHECK(steady_clock::now() >= end);
        CHECK(!m.try_lock_for(-1s));
        CHECK(!m.try_lock_until(std::chrono::system_clock::now() - 1h));
        tried.release();
    });
    tried.acquire(); /* g.wait() with SCHED_JOIN=help would run the task on top of this one, which has locked m */
    auto end = steady_clock::now() + 2ms;
    CHECK(c.wait_until(held, end) == std::cv_status::timeout);
    CHECK(steady_clock::now() >= end);
    CHECK(held.owns_lock());
    bool is_done = false;
    CHECK(!c.wait_for(held, 1ms, [&] { return is_done; }));
    CHECK(c.wait_for(held, -1ms, [] { return true; }));
    g.spawn([&] {
        std::lock_guard<sched::mutex> guard(m);
        is_done = true;
        c.notify_one();
    });
    CHECK(c.wait_for(held, 1h, [&] { return is_done; }));
    held.unlock();
    CHECK(m.try_lock_for(0s));
    m.unlock();

    CHECK(sem.try_acquire_for(0s));
    CHECK(!sem.try_acquire_for(1ms));
    g.spawn([&] { sem.release(); });
    CHECK(sem.try_acquire_until(steady_clock::now() + 1h));
    CHECK(g.wait());

    g.spawn([&] { sem.acquire(); });
    CHECK(!g.wait_for(1ms));
    CHECK(!g.wait_until(steady_clock::now()));
    sem.release();
    CHECK(g.wait_for(1h));
    CHECK(g.wait_for(-1h)); /* no task is left */
    CHECK(g.wait());
    g.spawn([] { throw 1; });
    CHECK(g.wait_for(1h));
    CHECK_EQ(thrown_by<int>([&] { g.wait(); }), 1);
}

CASE(hpp_deadlines)
{
    conversions();
    in_each_place([] {
        sleeps();
        objects();
    });
    sched::semaphore go(0);
    sched::pool pool(2);
    auto value = pool.submit([&] { return go.acquire(), 4; });
    CHECK(!value.wait_for(1ms));
    CHECK(!pool.wait_for(1ms));
    CHECK(!pool.wait_until(steady_clock::now() - 1s));
    go.release();
    CHECK(value.wait_until(steady_clock::now() + 1h));
    CHECK(value.wait_for(0s)); /* each time */
    CHECK_EQ(value.get(), 4);
    CHECK(pool.wait_until(steady_clock::time_point::max()));
}

/* hpp_cancel: sched.hpp: a cancelled group's tasks leave their sleeps, and their waits with a deadline, by an exception that
 * says so; so do those of the groups for which they wait. That exception is not the group's; each other one is. Each
 * closure is destroyed, called or not.
 * ctest: static debug
 * ctest: matrix few */
static void waits_of_each_kind()
{
    sched::mutex m;
    std::lock_guard<sched::mutex> locked(m);
    sched::mutex own;
    sched::condition_variable c;
    sched::semaphore sem(0);
    sched::channel<int> channel;
    std::atomic<int> cut{0}, waiting{0};
    std::function<void()> waits[] = {
        [] { sched::sleep_for(std::chrono::hours::max()); },
        [] { sched::sleep_until(steady_clock::now() + 1h); },
        [&] { m.try_lock_for(1h); },
        [&] { std::unique_lock<sched::mutex> held(own); c.wait_for(held, 1h); },
        [&] { sem.try_acquire_for(1h); },
        [&] { std::optional<int> into; channel.receive_for(into, 1h); },
        [&] {
            sched::group inner;
            inner.spawn([] { sched::sleep_for(1h); });
            inner.wait(); /* not cancelled itself: it rethrows */
        },
        [&] {
            sched::group inner;
            inner.spawn([] { sched::sleep_for(1h); });
            inner.wait_for(1h); /* either its task leaves first, or this call throws */
            inner.wait();
        },
    };
    sched::group g;
    for (auto &wait : waits)
        g.spawn([&] {
            waiting++;
            try {
                wait();
            } catch (const std::system_error &e) {
                CHECK(e.code() == std::errc::operation_canceled);
                cut++;
                throw;
            }
        });
    while (waiting < (int)std::size(waits))
        sched::sleep_for(1ms);
    g.cancel();
    CHECK(g.wait_for(1h));
    CHECK(g.cancelled());
    CHECK(!g.wait());
    CHECK(!g.cancelled());
    CHECK_EQ(cut, std::size(waits));
}

static void closures()
{
    enum { EACH = 50 };
    sched::group g;
    std::atomic<int> begun{0};
    for (int round = 0; round < 5; round++) {
        begun = 0;
        for (int i = 0; i < EACH; i++) {
            g.spawn([&, counted = Counted()] { begun++, sched::sleep_for(1h); });
            g.spawn([&] { begun++, sched::sleep_for(1h); });
        }
        for (int i = 0; i < round && begun == 0; i++) /* before the tasks begin, or amid them */
            sched::yield();
        g.cancel();
        CHECK(!g.wait());
        CHECK_EQ(alive, 0);
        CHECK(begun <= 2 * EACH);
    }
    g.spawn([counted = Counted()] { sched::sleep_for(1h); });
    g.cancel();
    CHECK(g.wait_for(1h)); /* tells nothing of the cancellation, and destroys nothing before wait */
    CHECK(!g.wait());
    CHECK_EQ(alive, 0);
    {
        sched::group left;
        left.spawn([counted = Counted()] { sched::sleep_for(1h); });
        left.cancel();
    }
    CHECK_EQ(alive, 0);
}

static void other_exceptions()
{
    sched::group g;
    g.spawn([] {
        try {
            sched::sleep_for(1h);
        } catch (const std::system_error &) {
            throw std::runtime_error("mine");
        }
    });
    while (g.wait_for(2ms)) {}
    g.cancel();
    try {
        if (g.wait()) CHECK(!"not cancelled");
    } catch (const std::runtime_error &e) {
        CHECK(strcmp(e.what(), "mine") == 0);
    }
    /* Without a cancellation the error is an error like others. */
    g.spawn([] { throw std::system_error(ECANCELED, std::generic_category()); });
    CHECK_EQ(error_of([&] { g.wait(); }), ECANCELED);
}

CASE(hpp_cancel)
{
    in_each_place([] {
        waits_of_each_kind();
        closures();
        other_exceptions();
    });
}

/* hpp_timer: sched.hpp: a timer calls its function once, not before its time, unless it is cancelled; the function may start
 * the timer again. The destructor cancels, and waits for the function. The closure is destroyed, called or not.
 * ctest: static debug
 * ctest: matrix few */
static void timers()
{
    sched::semaphore ran(0);
    std::atomic<int> calls{0};
    {
        sched::timer t;
        CHECK(!t.cancel());
        for (auto time : {-1s, 0s}) {
            t.start(time, [&] { ran.release(); });
            ran.acquire();
        }
        auto end = steady_clock::now() + 2ms;
        t.start(end, [&, end] {
            CHECK(steady_clock::now() >= end);
            ran.release();
        });
        ran.acquire();
        CHECK(!t.cancel());
        t.start(1h, [&, counted = Counted()] { calls++; });
        CHECK_EQ(error_of([&] { t.start(1h, [counted = Counted()] {}); }), EBUSY);
        CHECK(t.cancel());
        CHECK_EQ(alive, 0);
        t.start(steady_clock::time_point::max(), [&, counted = Counted()] { calls++; });
    }
    CHECK_EQ(alive, 0);
    CHECK_EQ(calls, 0);
    {
        sched::timer again;
        std::function<void()> tick = [&] {
            if (++calls < 10)
                again.start(100us, tick);
            else
                ran.release();
        };
        again.start(0s, tick);
        ran.acquire();
        CHECK_EQ(calls, 10);
    }
    { /* it is destroyed while its function runs, and starts it again */
        std::atomic<bool> began{false}, ended{false};
        {
            sched::timer t;
            t.start(0s, [&] {
                began = true;
                sched::sleep_for(2ms);
                t.start(0s, [&] { calls++; });
                ended = true;
            });
            while (!began)
                sched::sleep_for(100us);
        }
        CHECK(ended);
    }
    for (int i = 0; i < 200 / SMALLER; i++) { /* it is destroyed or cancelled at its deadline */
        int before = calls;
        bool was_cancelled = false;
        {
            sched::timer t;
            t.start(std::chrono::microseconds(i % 100), [&, counted = Counted()] { calls++; });
            if (i % 2)
                sched::sleep_for(std::chrono::microseconds(i % 100));
            if (i % 3)
                was_cancelled = t.cancel();
        }
        CHECK(calls <= before + !was_cancelled);
        CHECK_EQ(alive, 0);
    }
}

CASE(hpp_timer)
{
    in_each_place(timers);
    std::atomic<int> calls{0};
    { /* the timer of a pool keeps the pool from being at rest */
        sched::pool pool(2);
        sched::timer t(pool.scheduler());
        t.start(2ms, [&] { calls++; });
        pool.wait();
        CHECK_EQ(calls, 1);
    }
    auto e = thrown_by<std::runtime_error>([] {
        sched::timer t;
        sched::run(2, [&] {
            static sched::timer inner;
            inner.start(1ms, [] { throw std::runtime_error("due"); });
        });
    });
    CHECK(strcmp(e.what(), "due") == 0);
}

/* hpp_channel: sched.hpp: a channel moves elements of any type from tasks and threads to others, each once and in the order
 * of its sender. An element that was not sent is as it was; one that nobody receives is destroyed with the channel.
 * ctest: static debug
 * ctest: matrix few */
struct Message {
    std::unique_ptr<std::string> text;
    int sender, number;
    Counted counted;
};

struct Fixed { /* can neither be copied nor assigned */
    const int n;
    std::unique_ptr<int> p;
    explicit Fixed(int of) : n(of), p(new int(of)) {}
    Fixed(Fixed &&) = default;
};

struct alignas(64) Wide {
    long n;
    explicit Wide(long of) : n(of) {}
};

struct Empty {};

static void pipeline(size_t capacity)
{
    enum { SENDERS = 3, RECEIVERS = 2, EACH = 200 / SMALLER };
    {
        sched::channel<Message> channel(capacity);
        std::atomic<int> left{SENDERS}, received{0};
        sched::group g;
        for (int sender = 0; sender < SENDERS; sender++)
            g.spawn([&, sender] {
                for (int i = 0; i < EACH; i++) {
                    auto text = std::make_unique<std::string>(std::to_string(i));
                    CHECK(channel.send(Message{std::move(text), sender, i, {}}));
                }
                if (--left == 0)
                    channel.close();
            });
        for (int receiver = 0; receiver < RECEIVERS; receiver++)
            g.spawn([&] {
                int last[SENDERS] = {-1, -1, -1};
                while (auto message = channel.receive()) {
                    CHECK(*message->text == std::to_string(message->number));
                    CHECK(message->number > last[message->sender]);
                    last[message->sender] = message->number;
                    received++;
                }
            });
        CHECK(g.wait());
        CHECK_EQ(received, SENDERS * EACH);
    }
    CHECK_EQ(alive, 0);
}

static void statuses()
{
    using sched::channel_status;
    sched::channel<std::string> texts(1);
    std::string text(100, 'x');
    std::optional<std::string> into;
    CHECK(texts.send(text));
    CHECK_EQ(text.size(), 100);
    CHECK(texts.send_for(text, 1ms) == channel_status::timeout);
    CHECK(texts.send_for(std::move(text), 1ms) == channel_status::timeout);
    CHECK_EQ(text.size(), 100); /* it is not lost */
    CHECK(texts.receive_for(into, 0s) == channel_status::success);
    CHECK(into == text);
    auto end = steady_clock::now() + 2ms;
    CHECK(texts.receive_until(into, end) == channel_status::timeout);
    CHECK(steady_clock::now() >= end);
    CHECK(!into);
    CHECK(texts.send_until(std::move(text), steady_clock::now() + 1h) == channel_status::success);
    texts.close();
    CHECK(!texts.send("late"));
    text = "kept";
    CHECK(!texts.send(std::move(text)));
    CHECK(text == "kept");
    CHECK(texts.send_for(text, 1h) == channel_status::closed);
    CHECK_EQ(texts.receive()->size(), 100);
    CHECK(!texts.receive());
    CHECK(texts.receive_for(into, 1h) == channel_status::closed);

    sched::channel<int> numbers;
    std::optional<int> number;
    CHECK(numbers.send_for(1, 1ms) == channel_status::timeout);
    sched::group g;
    g.spawn([&] { CHECK(numbers.send(5)); });
    CHECK(numbers.receive_for(number, 1h) == channel_status::success);
    CHECK_EQ(*number, 5);
    g.spawn([&] { CHECK(!numbers.receive()); });
    CHECK(!g.wait_for(1ms));
    numbers.close();
    CHECK(g.wait());
    CHECK_EQ(error_of([] { sched::channel<Wide> too_large(SIZE_MAX / 2); }), EINVAL);
}

static void types()
{
    sched::channel<Fixed> fixed(2);
    CHECK(fixed.send(Fixed(3)));
    auto three = fixed.receive();
    CHECK_EQ(three->n + *three->p, 6);
    sched::channel<Wide> wide(2);
    CHECK(wide.send(Wide(4)));
    auto four = wide.receive();
    CHECK_EQ(four->n, 4);
    CHECK_EQ((uintptr_t)&*four % 64, 0);
    sched::channel<Empty> signals(3);
    CHECK(signals.send({}));
    CHECK(signals.receive());
    sched::channel<std::function<int()>> jobs(1);
    CHECK(jobs.send([] { return 7; }));
    CHECK_EQ((*jobs.receive())(), 7);
    {
        sched::channel<Message> left(5);
        for (int i = 0; i < 5; i++)
            left.send(Message{nullptr, 0, i, {}});
        left.receive();
        CHECK_EQ(alive, 4);
    }
    CHECK_EQ(alive, 0);
}

CASE(hpp_channel)
{
    in_each_place([] {
        for (size_t capacity : {0u, 1u, 10u})
            pipeline(capacity);
        statuses();
        types();
    });
    sched::channel<std::unique_ptr<int>> shared(2); /* between a thread and a run */
    std::thread thread([&] {
        for (int i = 1; i <= 100; i++)
            shared.send(std::make_unique<int>(i));
        shared.close();
    });
    int sum = 0;
    sched::run(2, [&] {
        while (auto p = shared.receive())
            sum += **p;
    });
    thread.join();
    CHECK_EQ(sum, 5050);
}
