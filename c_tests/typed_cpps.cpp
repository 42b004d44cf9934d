/* typed_cpps: sched_inline.h, sched_typed.h and sched_typed.hpp from C++. */
#include "case.h"
#include "child.h"
#include "retaken.h"
#include "counted.hpp"
#include "thrown.hpp"
#include <sched_inline.h>
#include <sched_typed.h>
#include <stdexcept>
#include <string>
#include <atomic>
#include <sched_typed.hpp>
#include <pthread.h>

/* inline_cpp: sched_inline.h in C++.
 * ctest: static
 * ctest: matrix deque=mutex,split idle=park threads=1,4 */
static void sum(void *closure, struct scheduler *s)
{
    long *n = static_cast<long *>(closure);
    if (*n == 0)
        return;
    long a = *n / 2, b = (*n - 1) / 2;
    sched_task t;
    sched_fork(&t, sum, &a, s);
    sum(&b, s);
    sched_join(&t, s);
    *n = a + b + 1;
}

/* The commas between a template's arguments divide those of a macro. */
template <typename T, int add> static void increase(void *closure, struct scheduler *)
{
    *static_cast<T *>(closure) += add;
}

static void first(void *closure, struct scheduler *s)
{
    long n = 1;
    sched_task t;
    sched_fork(&t, increase<long, 2>, &n, s);
    sched_join(&t, s);
    CHECK_EQ(n, 3);
    CHECK_EQ(sched_spawn(sum, closure, s), 0);
}

CASE(inline_cpp)
{
    long n = 100000;
    CHECK_EQ(sched_init(0, 0, first, &n), 0);
    CHECK_EQ(n, 100000);
}

/* throw_inline: sched_inline.h, compiled into a C++ program: the rule of throw_through.cpp holds
 * for what it compiles there, too.
 * ctest: static debug
 * ctest: matrix deque=mutex,split idle=park threads=1,4 */
static void throw_inline_task(void *, struct scheduler *)
{
    throw std::runtime_error("thrown by a task");
}

static void join(struct scheduler *s)
{
    sched_task t;
    sched_fork(&t, throw_inline_task, nullptr, s);
    sched_join(&t, s);
}

static void throw_inline_root(void *retaken, struct scheduler *s)
{
    try {
        retaken ? join_retaken(s) : join(s);
    } catch (...) {
        check_say("caught by the task\n");
        _exit(3);
    }
}

static void throw_inline_body(void *retaken)
{
    sched_init(4, 16, throw_inline_root, retaken);
}

CASE(throw_inline)
{
    static char retaken;
    for (thrower = -1; thrower < FORKS; thrower++) {
        in_child(throw_inline_body, thrower >= 0 ? &retaken : nullptr);
        CHECK_CHILD_ABORTED("libsched: an exception left a task of sched_fork;");
    }
}

/* typed_cpp: sched_typed.h in C++: objects with constructors are arguments and results, and an
 * exception must not leave a task.
 * ctest: static debug
 * ctest: matrix deque=mutex,split idle=park threads=1,4 */
struct range {
    unsigned from, to;
};

SCHED_TASK(std::string, digits, range, r)
{
    if (r.to - r.from == 1)
        return std::to_string(r.from);
    unsigned middle = r.from + (r.to - r.from) / 2;
    digits_task a;
    SCHED_FORK(digits, &a, range{r.from, middle});
    std::string back = SCHED_CALL(digits, range{middle, r.to});
    return SCHED_JOIN(digits, &a) + back;
}

static void fail()
{
    throw std::runtime_error("thrown by a task");
}

SCHED_VOID_TASK(throws, unsigned, depth)
{
    if (depth == 0)
        fail();
    throws_task a;
    SCHED_FORK(throws, &a, depth - 1);
    SCHED_JOIN(throws, &a);
}

static void typed_cpp_root(void *throwing, struct scheduler *s)
{
    try {
        if (throwing)
            throws(3, s);
        std::string text = digits({0, 1000}, s), expected;
        for (int i = 0; i < 1000; i++)
            expected += std::to_string(i);
        CHECK(text == expected);
    } catch (...) {
        check_say("caught by the task\n");
        _exit(3);
    }
}

static void typed_cpp_body(void *throwing)
{
    sched_init(4, 16, typed_cpp_root, throwing);
}

CASE(typed_cpp)
{
    static char throwing;
    typed_cpp_body(nullptr);
    in_child(typed_cpp_body, &throwing);
    CHECK_CHILD_ABORTED("terminat"); /* as std::terminate says it */
}

/* typed_closure_lambda: sched_typed.hpp: an object that begins with a forked call may be the
 * closure of another task that is spawned between the fork and the join: each of the two runs once.
 * ctest: static debug
 * ctest: matrix few threads=1,2,4 */
enum { ROUNDS = 1000 };

static std::atomic<int> forked, typed_closure_lambda_spawned;

struct next {
    long n;
    long operator()(sched::frame) const
    {
        forked++;
        return n + 1;
    }
};

struct shared {
    sched::forked<next> call;
    sched_sem done;
};

static void other(void *closure, struct scheduler *)
{
    typed_closure_lambda_spawned++;
    CHECK_EQ(sched_sem_post(&static_cast<shared *>(closure)->done), 0);
}

static void start(void *sum, struct scheduler *s)
{
    sched::frame at(s);
    for (long i = 0; i < ROUNDS; i++) {
        shared both{sched::forked<next>(at, next{i}), {}};
        CHECK_EQ(sched_sem_init(&both.done, 0), 0);
        CHECK_EQ(sched_spawn(other, &both, s), 0);
        *static_cast<long *>(sum) += both.call.join(at);
        CHECK_EQ(sched_sem_wait(&both.done, s), 0);
    }
}

CASE(typed_closure_lambda)
{
    long sum = 0;
    CHECK_EQ(sched_init(0, 0, start, &sum), 0);
    CHECK_EQ(sum, ROUNDS * (ROUNDS + 1L) / 2);
    CHECK_EQ(forked.load(), ROUNDS);
    CHECK_EQ(typed_closure_lambda_spawned.load(), ROUNDS);
}

/* typed_lambdas: sched_typed.hpp: forked lambdas have values of any type that can be moved, and
 * exceptions, whoever calls them; they may wait and go on in another thread, and are begun inside
 * and outside of tasks, with or without a pool.
 * ctest: static debug
 * ctest: matrix few threads=1,2,4 */
enum { LEAVES = 2048 / SMALLER, FORKED = 300 };

static long fib(long n, sched::frame at)
{
    if (n < 2)
        return n;
    auto [a, b] = sched::fork_join(at, [=](sched::frame at) { return fib(n - 1, at); },
                                   [=](sched::frame at) { return fib(n - 2, at); });
    return a + b;
}

/* Has no default and no copy. */
struct Only {
    explicit Only(int n) : p(new int(n)) {}
    std::unique_ptr<int> p;
};

/* Who calls g: the join, as the last that was forked; the library, in another task; the library, in the join. */
enum way { BY_JOIN, BY_ANOTHER, BY_LIBRARY };

/* fork_join, in which g is called in this way, if the kind has the choice. */
template <class F, class G> static auto forks(sched::frame &at, way how, F f, G g)
{
    sched::semaphore begun(0);
    Counted counted;
    auto first = [&, counted](sched::frame at) {
        if (how == BY_ANOTHER)
            begun.acquire();
        return f(at);
    };
    auto second = [&, counted](sched::frame at) {
        begun.release();
        return g(at);
    };
    if (how == BY_LIBRARY)
        return sched::fork_join(sched::frame(), first, std::move(second));
    return sched::fork_join(at, std::move(first), std::move(second));
}

/* --- values -------------------------------------------------------------------- */

static void values(sched::frame at, way how)
{
    int f = 0, g = 0, here = 8;
    auto set_f = [&](sched::frame) { f++; };
    auto set_g = [&](sched::frame) { g++; };
    forks(at, how, set_f, set_g);
    static_assert(std::is_void_v<decltype(sched::fork_join(at, set_f, set_g))>);
    static_assert(std::is_void_v<decltype(sched::fork_join(sched::frame(), set_f, set_g))>);
    CHECK_EQ(forks(at, how, [](sched::frame) { return 3; }, set_g), 3);
    CHECK_EQ(forks(at, how, set_f, [](sched::frame) { return 6; }), 6);
    CHECK_EQ(f, 2);
    CHECK_EQ(g, 2);
    Only only = forks(at, how, [](sched::frame) { return Only(4); }, set_g);
    CHECK_EQ(*only.p, 4);
    CHECK_EQ(*forks(at, how, set_f, [](sched::frame) { return Only(5); }).p, 5);
    auto both = forks(at, how, [](sched::frame) { return Only(7); }, [](sched::frame) { return std::string(1000, 'x'); });
    static_assert(std::is_same_v<decltype(both), std::pair<Only, std::string>>);
    CHECK_EQ(*both.first.p, 7);
    CHECK_EQ(both.second.size(), 1000);
    auto get = [&](sched::frame) -> const int & { return here; };
    auto by_value = forks(at, how, get, get);
    static_assert(std::is_same_v<decltype(by_value), std::pair<int, int>>);
    CHECK_EQ(by_value.first + by_value.second, 16);
}

static void closures(sched::frame at)
{
    auto f = [n = 0](sched::frame) mutable { return ++n; }, g = f;
    sched::fork_join(at, f, g);
    CHECK_EQ(f(at), 2); /* they were called, not copies of them */
    CHECK_EQ(g(at), 2);
    Only left(1), right(2);
    auto sum = sched::fork_join(at, [left = std::move(left)](sched::frame) { return *left.p; },
                                [right = std::move(right)](sched::frame) { return *right.p; });
    CHECK_EQ(sum.first + sum.second, 3);
}

/* --- exceptions ---------------------------------------------------------------- */

static std::string message(sched::frame at, way how, bool left, bool right)
{
    std::atomic<int> ended{0};
    auto throws = [&](const char *text, bool wanted) {
        Counted counted;
        sched::yield();
        ended++;
        if (wanted)
            throw std::runtime_error(text);
        return std::string(text);
    };
    try {
        forks(at, how, [&](sched::frame) { return throws("left", left); },
              [&](sched::frame) { return throws("right", right); });
    } catch (const std::runtime_error &e) {
        CHECK_EQ(ended, 2);
        return e.what();
    }
    return "none";
}

/* Throws from the deepest, through all joins above. */
static long deep(int n, sched::frame at)
{
    if (n == 0)
        throw n;
    auto on = [=](sched::frame at) { return deep(n - 1, at); };
    auto other = [](sched::frame at) { return fib(5, at); };
    auto [a, b] = n % 2 ? sched::fork_join(at, on, other) : sched::fork_join(at, other, on);
    return a + b;
}

static void exceptions(sched::frame at, way how)
{
    CHECK(message(at, how, false, false) == "none");
    CHECK(message(at, how, true, false) == "left");
    CHECK(message(at, how, false, true) == "right");
    CHECK(message(at, how, true, true) == "left");
    CHECK_EQ(thrown_by<int>([&] { deep(20, at); }), 0);
}

/* --- several at a time ----------------------------------------------------------- */

static long squares(sched::frame at, bool backwards)
{
    auto square = [](long n) { return [n](sched::frame) { return n * n; }; };
    std::vector<std::optional<sched::forked<decltype(square(0))>>> calls(FORKED);
    long sum = 0;
    for (int i = 0; i < FORKED; i++)
        calls[i].emplace(at, square(i));
    for (int i = 0; i < FORKED; i++)
        sum += calls[backwards ? FORKED - 1 - i : i]->join(at);
    return sum;
}

static void several(sched::frame at)
{
    long sum = (long)(FORKED - 1) * FORKED * (2 * FORKED - 1) / 6;
    CHECK_EQ(squares(at, true), sum);
    CHECK_EQ(squares(at, false), sum);
    std::atomic<int> ended{0};
    int two = thrown_by<int>([&] {
        sched::forked dropped(at, [&](sched::frame) { ended++; throw 1; });
        sched::forked name(at, [&](sched::frame) { return std::string(1000, 'y'); });
        sched::forked none(at, [&](sched::frame) { ended++; });
        sched::forked thrown(at, [&](sched::frame) { ended++; throw 2; });
        sched::forked also(at, [&](sched::frame) { ended++; return std::string(1000, 'z'); });
        none.join(at);
        CHECK_EQ(name.join(at).size(), 1000);
        thrown.join(at);
    });
    CHECK_EQ(two, 2);
    CHECK_EQ(ended, 4);
}

/* --- among waits ----------------------------------------------------------------- */

static sched::mutex mutex;
static sched::semaphore units(0);
static std::atomic<long> typed_lambdas_spawned;

/* Changes the queue, or suspends the task, which may then go on in another thread. */
static void disturb(unsigned n)
{
    switch (n % 6) {
    case 0:
        sched::spawn([] { typed_lambdas_spawned++; });
        break;
    case 1: {
        std::lock_guard<sched::mutex> guard(mutex);
        sched::yield();
        break;
    }
    case 2:
        sched::yield();
        break;
    case 3:
        sched::spawn([] { units.release(); });
        units.acquire();
        break;
    case 4: {
        sched::block_guard section;
        if (n % 64 == 4)
            usleep(10);
        break;
    }
    }
}

/* The sum of the numbers; one of them may be thrown. */
static long disturbed(unsigned from, unsigned to, unsigned thrown, sched::frame at)
{
    if (to - from == 1) {
        if (from == thrown)
            throw from;
        return from;
    }
    unsigned middle = from + (to - from) / 2;
    auto half = [&](unsigned lo, unsigned hi) {
        return [=](sched::frame at) {
            disturb(lo + hi);
            long sum = disturbed(lo, hi, thrown, at);
            disturb(lo + 2 * hi + 1);
            return sum;
        };
    };
    disturb(from);
    if (from % 3 == 0) {
        sched::forked right(at, half(middle, to));
        disturb(from + 3);
        sched::forked left(at, half(from, middle));
        disturb(from + 5);
        long sum = from % 2 ? left.join(at) : right.join(at);
        disturb(to);
        return sum + (from % 2 ? right.join(at) : left.join(at));
    }
    auto [left, right] = sched::fork_join(at, half(from, middle), half(middle, to));
    disturb(to);
    CHECK_EQ(fib(from % 8, at), fib(from % 8, sched::frame()));
    return left + right;
}

static void waits(sched::frame at)
{
    CHECK_EQ(disturbed(0, LEAVES, LEAVES, at), (long)LEAVES * (LEAVES - 1) / 2);
    for (unsigned thrown = 3; thrown < LEAVES; thrown += LEAVES / 4)
        CHECK_EQ(thrown_by<unsigned>([&] { disturbed(0, LEAVES, thrown, at); }), thrown);
}

/* --- from where ------------------------------------------------------------------ */

static void all(sched::frame at)
{
    CHECK_EQ(fib(15, at), 610);
    for (way how : {BY_JOIN, BY_ANOTHER, BY_LIBRARY}) {
        values(at, how);
        exceptions(at, how);
    }
    closures(at);
    several(at);
    CHECK_EQ(alive, 0);
}

static void typed_lambdas_task(void *done, struct scheduler *s)
{
    all(sched::frame(s));
    *static_cast<int *>(done) = 1;
}

/* By a thread's own frame, and by one of a task's run. */
static void *foreign(void *s)
{
    CHECK_EQ(fib(12, sched::frame(static_cast<struct scheduler *>(s))), 144);
    CHECK_EQ(fib(12, sched::frame()), 144);
    units.release();
    return nullptr;
}

static void starts_thread(void *, struct scheduler *s)
{
    pthread_t thread = begin_thread(foreign, s);
    units.acquire();
    CHECK_EQ(pthread_join(thread, nullptr), 0);
}

static void outside()
{
    auto index = [](sched::frame) { return sched::worker_index(); };
    auto [f, g] = sched::fork_join(sched::frame(), index, index);
    CHECK(f >= 0 && g >= 0);
    all(sched::frame());
}

/* Where no pool can be made, the caller does all of it. */
static void refused(void *)
{
    setenv("SCHED_KIND", "wrong", 1);
    CHECK_EQ(fib(10, sched::frame()), 55);
    unsetenv("SCHED_KIND");
    CHECK_EQ(fib(15, sched::frame()), 610);
}

CASE(typed_lambdas)
{
    in_child(refused, nullptr);
    CHECK_CHILD_PASSED();
    int done = 0;
    CHECK_EQ(sched_init(0, 0, typed_lambdas_task, &done), 0);
    CHECK_EQ(done, 1);
    sched::run(0, [] { all(sched::frame()); });
    sched::run(0, [] { waits(sched::frame()); });
    CHECK_EQ(sched_init(0, 0, starts_thread, nullptr), 0);
    outside();
}
