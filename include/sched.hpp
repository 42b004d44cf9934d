/* sched.hpp: libsched for C++17 and later: tasks that are closures, and have values and exceptions. It needs only
 * sched_tasks.h. The manual page sched.hpp(3) has examples.
 *
 * No function takes an s. In a task a function acts in the task's own run, elsewhere in the default pool of the process
 * (libsched(7)): sched::parallel_for works in main, without a run.
 *
 * Errors: std::system_error with errno where the C function returns -1, and std::bad_alloc. The function that waits for
 * a task rethrows an exception that leaves the task. If several tasks throw, the first exception is rethrown; the
 * others are lost.
 *
 * All functions are thread-safe. Several threads may call the functions that a program passes at the same time.
 * Suspension points, at which a task may be resumed on another thread (libsched(7)), are those of the C functions, and
 * the destructors of group and block_guard. A task may wait in a handler of exceptions, and in destructors while an
 * exception unwinds its stack. */
#ifndef LIBSCHED_SCHED_HPP
#define LIBSCHED_SCHED_HPP
#include "sched_tasks.h"
#if __cplusplus < 201703L || !defined __cpp_exceptions
#error "sched.hpp needs C++17 or later, as by -std=c++17, and exceptions; sched_tasks.h needs neither"
#else
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <system_error>
#include <type_traits>
#include <utility>
namespace sched {
using std::size_t;
namespace detail {
/* Not inlined: the task may have been resumed on another thread, whose errno is at another address. */
[[noreturn, gnu::noinline, gnu::cold]] inline void fail(const char *call)
{ throw std::system_error(errno, std::generic_category(), call); }
inline int check(int result, const char *call) { return result < 0 ? (fail(call), 0) : result; }
struct fixed { constexpr fixed() noexcept = default; fixed(fixed &&) = delete; }; /* neither copied nor moved */
struct first_error : fixed { /* the first exception of several tasks */
    std::atomic<bool> any{false};
    std::exception_ptr first;
    void keep() noexcept { if (!any.exchange(true)) first = std::current_exception(); }
    void rethrow() { if (any.exchange(false)) std::rethrow_exception(std::exchange(first, nullptr)); }
};
struct nothing {}; /* the value of a call that returns void */
template <class F> auto value_of(F &f)
{
    if constexpr (std::is_void_v<decltype(f())>) return f(), nothing();
    else return f();
}
template <class F> struct outcome { /* of a forked call */
    F &f;
    std::optional<decltype(value_of(std::declval<F &>()))> value;
    std::exception_ptr thrown;
    static void call(void *p, ::scheduler *)
    {
        auto &me = *static_cast<outcome *>(p);
        try { me.value.emplace(value_of(me.f)); } catch (...) { me.thrown = std::current_exception(); }
    }
};
struct fork_guard : fixed {
    sched_task task;
    fork_guard(taskfunc f, void *p) { sched_fork(&task, f, p, nullptr); }
    ~fork_guard() { sched_join(&task, nullptr); }
};
/* Adds a task that calls call(): by copy(f, pointer, size) if C++ guarantees that a copy of its bytes is the object.
 * Other objects go to the heap: C++17 does not tell which of them may be moved byte by byte (unique_ptr may,
 * libstdc++'s string may not), and the library has no place in which to construct one. */
template <class Call, class Copy, class Spawn> void add(Call &&call, const char *name, Copy copy, Spawn spawn)
{
    if constexpr (std::is_trivially_copyable_v<Call> && sizeof(Call) <= SCHED_COPY_MAX && alignof(Call) <= 16) {
        check(copy([](void *p, ::scheduler *) { (*static_cast<Call *>(p))(); }, &call, sizeof call), name);
    } else {
        auto owned = std::make_unique<Call>(std::move(call));
        auto run = [](void *p, ::scheduler *) { (*std::unique_ptr<Call>(static_cast<Call *>(p)))(); };
        check(spawn(run, owned.get()), name);
        owned.release(); /* it belongs to the task, which may have ended */
    }
}
/* A call of run, which rethrows. The list of the calls that have begun has no destructor, since a run may begin in the
 * destructor of any object that lives until the end of the program. */
struct root : first_error {
    static inline pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static inline root *youngest = nullptr; /* the lock protects this and the next two */
    root *older = nullptr;
    ::scheduler *s = nullptr;
    struct locked {
        locked() { pthread_mutex_lock(&lock); }
        ~locked() { pthread_mutex_unlock(&lock); }
    };
    void begin(::scheduler *mine)
    {
        locked now;
        s = mine;
        older = std::exchange(youngest, this);
    }
    ~root()
    {
        locked now;
        root **at = &youngest;
        while (*at && *at != this) at = &(*at)->older;
        if (*at) *at = older;
    }
    static void keep_in_run() noexcept
    {
        locked now;
        /* If this thread is a worker of several runs, one on top of the other, the task belongs to the youngest. A run
         * that has ended may have left its records to a run that began later, while its call has not yet returned. */
        root *run = youngest;
        while (run && sched_worker_index(run->s) < 0) run = run->older;
        run ? run->keep() : std::terminate();
    }
};
/* into = f(into, x), or f(into, x), which changes into. */
template <class F, class T, class X> void fold(F &f, T &into, X &&x)
{
    if constexpr (std::is_invocable_r_v<T, F &, T, X>) into = f(std::move(into), std::forward<X>(x));
    else f(into, std::forward<X>(x));
}
template <class At> struct range { /* the numbers first to last - 1, or the elements at iterators, counted from 0 */
    At first, last;
    template <class I, class J> range(I from, J to) : first(At(from)), last(At(to)) {}
    size_t size() const
    {
        if constexpr (std::is_integral_v<At>) return first < last ? size_t(last) - size_t(first) : 0;
        else return first < last ? size_t(last - first) : 0;
    }
    template <class Call> void each(size_t lo, size_t hi, Call &&call) const
    {
        for (At x = At(first + std::ptrdiff_t(lo)), end = At(first + std::ptrdiff_t(hi)); x != end; ++x)
            if constexpr (std::is_integral_v<At>) call(std::as_const(x));
            else call(*x);
    }
};
template <class I, class J> range(I, J) -> range<std::common_type_t<I, J>>;
} // namespace detail

/* Calls f() as the first task of a run with `workers` workers (0: sched_default_threads()), and returns its value when
 * all tasks of the run have ended. Rethrows the first exception that left f or a task of spawn. Cost: that of
 * sched_init. */
template <class F> auto run(int workers, F &&f)
{
    detail::root here;
    std::optional<decltype(detail::value_of(f))> value;
    auto first = [&](::scheduler *s) {
        here.begin(s);
        try { value.emplace(detail::value_of(f)); } catch (...) { here.keep(); }
    };
    auto call = [](void *p, ::scheduler *s) { (*static_cast<decltype(first) *>(p))(s); };
    detail::check(sched_init(workers, 0, call, &first), "sched_init");
    here.rethrow();
    if constexpr (!std::is_void_v<decltype(f())>) return std::move(*value);
}
template <class F> auto run(F &&f) { return run(0, f); }

/* Adds the task f(), for which run waits. In other runs and pools nothing waits for it, and an exception that leaves f
 * calls std::terminate. If spawn throws, there is no task, and f may have been moved. Cost: that of sched_spawn_copy,
 * and an allocation if f is not trivially copyable or has more than SCHED_COPY_MAX bytes. */
template <class F> void spawn(F &&f)
{
    struct task {
        std::decay_t<F> f;
        void operator()() { try { f(); } catch (...) { detail::root::keep_in_run(); } }
    };
    detail::add(task{std::forward<F>(f)}, "sched_spawn", [](auto... a) { return sched_spawn_copy(a..., nullptr); },
                [](auto... a) { return sched_spawn(a..., nullptr); });
}

/* Calls f() here, and g() here or on another worker. When both have ended, returns nothing, the value of the one that
 * has a value, or a std::pair of both (by value). If both throw, rethrows f's exception. Cost: that of sched_fork and
 * sched_join. */
template <class F, class G> auto fork_join(F &&f, G &&g)
{
    detail::outcome<std::remove_reference_t<G>> other{g, {}, {}};
    auto mine = [&] { detail::fork_guard joined(other.call, &other); return detail::value_of(f); }();
    if (other.thrown) std::rethrow_exception(other.thrown);
    constexpr bool f_has_value = !std::is_void_v<decltype(f())>, g_has_value = !std::is_void_v<decltype(g())>;
    if constexpr (f_has_value && g_has_value) return std::pair(std::move(mine), std::move(*other.value));
    else if constexpr (f_has_value) return mine;
    else if constexpr (g_has_value) return std::move(*other.value);
}

/* A set of tasks that a program waits for together. The destructor waits, and drops exceptions that no wait has
 * rethrown. */
class group : detail::fixed {
    sched_group tasks = SCHED_GROUP_INIT;
    std::atomic<bool> stop{false};
    detail::first_error error;
public:
    ~group() { sched_group_wait(&tasks, nullptr); }
    /* As sched::spawn, for the group. sched_group_spawn says who may call it, and when. */
    template <class F> void spawn(F &&f)
    {
        struct task {
            group *to;
            std::decay_t<F> f;
            void operator()() { try { if (!to->cancelled()) f(); } catch (...) { to->error.keep(); } }
        };
        detail::add(task{this, std::forward<F>(f)}, "sched_group_spawn",
                    [this](auto... a) { return sched_group_spawn_copy(&tasks, a..., nullptr); },
                    [this](auto... a) { return sched_group_spawn(&tasks, a..., nullptr); });
    }
    bool wait() /* until no task is left; rethrows. False: the group was cancelled; it no longer is. */
    {
        detail::check(sched_group_wait(&tasks, nullptr), "sched_group_wait");
        bool whole = !stop.exchange(false);
        return error.rethrow(), whole;
    }
    void cancel() noexcept { stop = true; } /* a task that has not begun is destroyed without a call */
    bool cancelled() const noexcept { return stop; }
};

/* Calls body(i) for the numbers first to last - 1, or body(*i) for the iterators, or body(x) for the elements of a
 * range, in any order. After an exception some calls may be left out. grain and the cost are those of sched_for. */
template <class I, class J, class Body> void parallel_for(I first, J last, Body &&body, size_t grain = 0)
{
    detail::range all(first, last);
    detail::first_error error;
    auto part = [&](size_t lo, size_t hi) {
        try { if (!error.any) all.each(lo, hi, body); } catch (...) { error.keep(); }
    };
    auto call = [](size_t lo, size_t hi, void *p, ::scheduler *) { (*static_cast<decltype(part) *>(p))(lo, hi); };
    detail::check(sched_for(0, all.size(), grain, call, &part, nullptr), "sched_for");
    error.rethrow();
}
template <class R, class B> void parallel_for(R &&all, B &&body) { parallel_for(std::begin(all), std::end(all), body); }

/* Reduces numbers, or the elements at iterators, to one T. Each part of grain elements (0: at most 1024 parts) begins
 * with a copy of identity, to which each x is added by acc = body(acc, x), or if that gives no T, by body(acc, x)
 * alone. The values of neighbouring parts are combined in the same way. combine must be associative; it need not be
 * commutative. The values that it gets depend only on the range and on grain, not on workers. Cost: for each part a
 * fork_join, and moves of T. */
template <class I, class J, class T, class Body, class Combine>
T parallel_reduce(I first, J last, T identity, Body &&body, Combine &&combine, size_t grain = 0)
{
    detail::range all(first, last);
    size_t size = all.size(), each = grain ? grain : size / 1024 + 1;
    auto reduce = [&](auto &self, size_t lo, size_t hi) -> T {
        if (hi - lo > each) {
            size_t middle = lo + ((hi - lo - 1) / each + 1) / 2 * each;
            auto both = fork_join([&] { return self(self, lo, middle); }, [&] { return self(self, middle, hi); });
            detail::fold(combine, both.first, std::move(both.second));
            return std::move(both.first);
        }
        T acc(std::as_const(identity));
        all.each(lo, hi, [&](auto &&x) { detail::fold(body, acc, std::forward<decltype(x)>(x)); });
        return acc;
    };
    return reduce(reduce, 0, size);
}

/* As parallel_reduce, but the combinations depend on the course of the run: there is one T, and another one for each
 * part that another worker takes. The result may differ a little if combine is only nearly associative. Cost: that of
 * parallel_for, an allocation for each T, and a call of combine for each T but the first. */
template <class I, class J, class T, class Body, class Combine>
T parallel_reduce_relaxed(I first, J last, T identity, Body &&body, Combine &&combine, size_t grain = 0)
{
    detail::range all(first, last);
    detail::first_error error;
    struct value { T *at; }; /* null: identity */
    auto add = [&](size_t lo, size_t hi, value *acc) {
        try {
            if (error.any) return;
            if (!acc->at) acc->at = new T(std::as_const(identity));
            all.each(lo, hi, [&](auto &&x) { detail::fold(body, *acc->at, std::forward<decltype(x)>(x)); });
        } catch (...) { error.keep(); }
    };
    auto join = [&](value *into, const value *from) {
        std::unique_ptr<T> right(from->at);
        try {
            if (!into->at) into->at = right.release();
            else if (right && !error.any) detail::fold(combine, *into->at, std::move(*right));
        } catch (...) { error.keep(); }
    };
    auto both = std::pair(&add, &join);
    using calls = decltype(both);
    value none{nullptr}, sum{nullptr};
    detail::check(sched_reduce_relaxed(
        0, all.size(), grain, sizeof none, &none,
        [](size_t lo, size_t hi, void *acc, void *p, ::scheduler *)
        { (*static_cast<calls *>(p)->first)(lo, hi, static_cast<value *>(acc)); },
        [](void *into, const void *from, void *p)
        { (*static_cast<calls *>(p)->second)(static_cast<value *>(into), static_cast<const value *>(from)); },
        &both, &sum, nullptr), "sched_reduce_relaxed");
    std::unique_ptr<T> owned(sum.at);
    error.rethrow();
    if (owned) return std::move(*owned);
    return identity;
}

/* Sorts as std::sort does: in place, not stable, O(n log n). After an exception the order is unspecified, and the
 * elements that comp was called for may be moved from. Cost: that of std::sort; one worker makes the first partition,
 * two the next, and so on. */
template <class It, class Comp = std::less<>> void sort(It first, It last, Comp comp = {})
{
    auto median = [&](It a, It b, It c) {
        if (comp(*b, *a)) std::swap(a, b);
        return !comp(*c, *b) ? b : comp(*c, *a) ? a : c;
    };
    auto part = [&](auto &self, It begin, It end, int splits) -> void {
        auto n = end - begin;
        if (n < 4096 || splits == 0) return std::sort(begin, end, std::ref(comp));
        auto near = [&](It x) { return median(x, x + n / 8, x + n / 4); };
        std::iter_swap(begin, median(near(begin), near(begin + n / 3), near(begin + n / 3 * 2)));
        It right = std::partition(begin + 1, end, [&](auto &&x) { return comp(x, *begin); }), left = right - 1;
        std::iter_swap(begin, left); /* the pivot is in its place */
        if (left - begin < n / 8)    /* and now the elements equal to it */
            right = std::partition(right, end, [&](auto &&x) { return !comp(*left, x); });
        fork_join([&] { self(self, begin, left, splits - 1); }, [&] { self(self, right, end, splits - 1); });
    };
    part(part, first, last, 64);
}

/* These four have the names of the standard library's classes, but a task that waits is suspended. Tasks of all runs,
 * and threads without a run, may use them. The C functions take native. Cost: an atomic operation if there is nothing
 * to wait for. */
struct mutex : detail::fixed { /* for std::lock_guard, std::unique_lock and std::scoped_lock */
    sched_mutex native = SCHED_MUTEX_INIT;
    void lock() { detail::check(sched_mutex_lock(&native, nullptr), "sched_mutex_lock"); }
    bool try_lock() noexcept { return sched_mutex_trylock(&native) == 0; }
    void unlock() { detail::check(sched_mutex_unlock(&native), "sched_mutex_unlock"); }
};
struct condition_variable : detail::fixed { /* no wake-up is spurious */
    sched_cond native = SCHED_COND_INIT;
    void wait(std::unique_lock<mutex> &held)
    { detail::check(sched_cond_wait(&native, &held.mutex()->native, nullptr), "sched_cond_wait"); }
    template <class Test> void wait(std::unique_lock<mutex> &held, Test test) { while (!test()) wait(held); }
    void notify_one() noexcept { sched_cond_signal(&native); }
    void notify_all() noexcept { sched_cond_broadcast(&native); }
};
struct semaphore : detail::fixed { /* as std::counting_semaphore */
    sched_sem native;
    explicit constexpr semaphore(size_t units) noexcept : native SCHED_SEM_INIT(units) {}
    void acquire() { detail::check(sched_sem_wait(&native, nullptr), "sched_sem_wait"); }
    bool try_acquire() noexcept { return sched_sem_trywait(&native) == 0; }
    void release(size_t units = 1) { while (units-- > 0) detail::check(sched_sem_post(&native), "sched_sem_post"); }
};
struct barrier : detail::fixed { /* arrive_and_wait: true for one of the tasks that have met */
    sched_barrier native;
    explicit constexpr barrier(size_t size) noexcept : native SCHED_BARRIER_INIT(size) {}
    bool arrive_and_wait() { return detail::check(sched_barrier_wait(&native, nullptr), "sched_barrier_wait") > 0; }
};

struct block_guard : detail::fixed { /* a section that may block its thread, and its worker if it cannot begin */
    const bool began = sched_block_begin(nullptr) == 0;
    ~block_guard() { if (began) sched_block_end(nullptr); }
};
inline void yield() noexcept { sched_task_yield(nullptr); }
inline int worker_index() noexcept { return sched_worker_index(nullptr); } /* -1 outside of tasks */
inline int worker_count() { return detail::check(sched_worker_count(nullptr), "sched_worker_count"); }
} // namespace sched
#endif
#endif
