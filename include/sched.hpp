/* sched.hpp: libsched for C++17 and later: tasks that are closures, and have values and exceptions. It needs only
 * sched_tasks.h. The manual page sched.hpp(3) has examples.
 *
 * A function that takes an s takes it last. Without one it acts in the run of the calling task, elsewhere in the default
 * pool of the process (libsched(7)): sched::parallel_for works in main, without a run.
 *
 * Errors: std::system_error with errno where the C function returns -1, and std::bad_alloc. The function that waits for
 * a task rethrows an exception that leaves the task. If several tasks throw, the first exception is rethrown; the
 * others are lost.
 *
 * All functions are thread-safe. Several threads may call the functions that a program passes at the same time.
 * Suspension points, at which a task may be resumed on another thread (libsched(7)), are those of the C functions, and
 * the destructors of group, timer and block_guard. A task may wait in a handler of exceptions, and in destructors while an
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
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <stdexcept>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
namespace sched {
using std::size_t;
namespace detail {
/* Not inlined: the task may have been resumed on another thread, whose errno is at another address. */
[[noreturn, gnu::noinline, gnu::cold]] inline void fail(const char *call)
{ throw std::system_error(errno, std::generic_category(), call); }
inline int check(int result, const char *call) { return result < 0 ? (fail(call), 0) : result; }
[[gnu::noinline, gnu::cold]] inline bool was_stopped() noexcept { return errno == ECANCELED; } /* as fail */
/* True if a loop or a group has done all; false if it was stopped. */
inline bool whole(int result, const char *call) { return result == 0 || (was_stopped() ? false : (fail(call), false)); }
[[gnu::noinline, gnu::cold]] inline int error() noexcept { return errno; }
/* True if a call has succeeded before its deadline. */
inline bool in_time(int result, const char *call)
{ return result == 0 || (error() == ETIMEDOUT ? false : (fail(call), false)); }
template <class R, class P> sched_time nanoseconds(std::chrono::duration<R, P> time) /* rounded up; too long a time means forever */
{
    double seconds = std::chrono::duration<double>(time).count();
    if (seconds < -9.2e9) return -SCHED_FOREVER;
    return seconds < 9.2e9 ? sched_time(std::chrono::ceil<std::chrono::nanoseconds>(time).count()) : SCHED_FOREVER;
}
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
    ::scheduler *s;
    fork_guard(taskfunc f, void *p, ::scheduler *in) : s(in) { sched_fork(&task, f, p, s); }
    ~fork_guard() { sched_join(&task, s); }
};
/* Adds a task that calls call(): by copy(f, pointer, size) if C++ guarantees that a copy of its bytes is the object.
 * Other objects go to the heap: C++17 does not tell which of them may be moved byte by byte (unique_ptr may,
 * libstdc++'s string may not), and the library has no place in which to construct one. */
template <class Call> inline constexpr bool by_copy =
    std::is_trivially_copyable_v<Call> && sizeof(Call) <= SCHED_COPY_MAX && alignof(Call) <= 16;
template <class Call, class Spawn> void add_owned(Call &&call, const char *name, Spawn spawn) /* on the heap */
{
    auto owned = std::make_unique<Call>(std::move(call));
    auto run = [](void *p, ::scheduler *) { (*std::unique_ptr<Call>(static_cast<Call *>(p)))(); };
    check(spawn(run, owned.get()), name);
    owned.release(); /* it belongs to the task, which may have ended */
}
template <class Call, class Copy, class Spawn> void add(Call &&call, const char *name, Copy copy, Spawn spawn)
{
    if constexpr (by_copy<Call>) {
        check(copy([](void *p, ::scheduler *) { (*static_cast<Call *>(p))(); }, &call, sizeof call), name);
    } else {
        add_owned(std::move(call), name, spawn);
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
template <class F> struct spawned {
    F f;
    void operator()() { try { f(); } catch (...) { root::keep_in_run(); } }
};
#ifdef __GNUC__ /* the parameters of a body may be other types of integers than the numbers of the range */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
#endif
/* into = f(into, x), or f(into, x), which changes into. */
template <class F, class T, class X> void fold(F &f, T &into, X &&x)
{
    if constexpr (std::is_invocable_r_v<T, F &, T, X>) into = f(std::move(into), std::forward<X>(x));
    else f(into, std::forward<X>(x));
}
/* A number, or an iterator: where a range begins or ends. */
template <class At, class = void> inline constexpr bool is_random_access =
    std::is_base_of_v<std::random_access_iterator_tag, typename std::iterator_traits<At>::iterator_category>;
#ifdef __cpp_lib_concepts /* the iterators of a view may have the category of input, since they return no references */
template <class At>
inline constexpr bool is_random_access<At, std::enable_if_t<std::random_access_iterator<At>>> = true;
#endif
template <class At, class = void> struct position : std::is_integral<At> {};
template <class At> struct position<At, std::void_t<typename std::iterator_traits<At>::iterator_category>>
    : std::bool_constant<!std::is_function_v<std::remove_pointer_t<At>>> {
    static_assert(is_random_access<At>,
                  "libsched divides a range between workers: it needs iterators of random access, as a vector's");
};
template <class I, class J> inline constexpr bool are_positions = /* two numbers, or two iterators */
    position<I>::value && position<J>::value && std::is_integral_v<I> == std::is_integral_v<J>;
template <class I, class J, class R> using if_positions = std::enable_if_t<are_positions<I, J>, R>;
template <class C, class R>
using if_range = std::enable_if_t<!position<std::remove_cv_t<std::remove_reference_t<C>>>::value, R>;
/* An array is a range, and also an iterator: the output and the operation of a scan tell which one
 * is meant. */
template <class Op, class R> using if_operation = std::enable_if_t<!position<Op>::value, R>;
template <class I, class J, class Out, class R>
using if_scan = std::enable_if_t<are_positions<I, J> && position<Out>::value && !std::is_integral_v<Out>, R>;
template <class At> struct range { /* the numbers first to last - 1, or the elements at iterators, counted from 0 */
    At first, last;
    template <class I, class J> range(I from, J to) : first(At(from)), last(At(to))
    {
        if constexpr (std::is_integral_v<I> && std::is_integral_v<J>)
            if ((std::is_signed_v<I> && std::is_unsigned_v<At> && from < I(0)) ||
                (std::is_signed_v<J> && std::is_unsigned_v<At> && to < J(0)))
                throw std::system_error(EINVAL, std::generic_category(), "sched: a negative number beside an unsigned one");
    }
    size_t size() const
    {
        if constexpr (std::is_integral_v<At>) return first < last ? size_t(last) - size_t(first) : 0;
        else return first < last ? size_t(last - first) : 0;
    }
    At at(size_t n) const
    {
        if constexpr (std::is_integral_v<At>) { /* without overflow: modulo 2 to the number of bits */
            using bits = std::make_unsigned_t<At>;
            return At(bits(bits(first) + bits(n)));
        } else return first + std::ptrdiff_t(n);
    }
    template <class Call> void each(size_t lo, size_t hi, Call &&call) const
    {
        for (At x = at(lo), end = at(hi); x != end; ++x)
            if constexpr (std::is_integral_v<At>) call(std::as_const(x));
            else call(*x);
    }
};
template <class I, class J> range(I, J) -> range<std::common_type_t<I, J>>;
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif
template <class At, bool = std::is_integral_v<At>> struct element { using type = const At &; };
template <class At> struct element<At, false> { using type = typename std::iterator_traits<At>::reference; };
template <class At, class Body> inline constexpr bool by_block =
    !std::is_invocable_v<Body &, typename element<At>::type> && std::is_invocable_v<Body &, At, At>;
} // namespace detail

/* Calls f() as the first task of a run with `workers` workers (0: sched_default_threads()), and
 * returns its value when all tasks of the run have ended. Rethrows the first exception that left f
 * or a task of spawn. Cost: that of sched_init. */
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

/* Adds the task f(), for which run waits. In other runs and pools nothing waits for it, and an
 * exception that leaves f calls std::terminate. If spawn throws, there is no task, and f may have
 * been moved. Cost: that of sched_spawn_copy, and an allocation if f is not trivially copyable or has
 * more than SCHED_COPY_MAX bytes. */
template <class F> void spawn(F &&f, ::scheduler *s = nullptr)
{
    detail::add(detail::spawned<std::decay_t<F>>{std::forward<F>(f)}, "sched_spawn",
                [s](auto... a) { return sched_spawn_copy(a..., s); }, [s](auto... a) { return sched_spawn(a..., s); });
}

/* When a task begins: before all others that are queued, or when a worker finds nothing else. See sched_spawn_at(3). */
enum class level { normal = SCHED_NORMAL, urgent = SCHED_URGENT, background = SCHED_BACKGROUND };
/* Like spawn, for a task of this level. Cost: that of sched_spawn_at, and an allocation. */
template <class F> void spawn_at(level at, F &&f, ::scheduler *s = nullptr)
{
    detail::add_owned(detail::spawned<std::decay_t<F>>{std::forward<F>(f)}, "sched_spawn_at",
                      [=](auto... a) { return sched_spawn_at(static_cast<int>(at), a..., s); });
}

/* Calls f() here, and g() here or on another worker. When both have ended, returns nothing, the
 * value of the one that has a value, or a std::pair of both (by value). If both throw, rethrows f's
 * exception. Cost: that of sched_fork and sched_join. */
template <class F, class G> auto fork_join(F &&f, G &&g, ::scheduler *s = nullptr)
{
    detail::outcome<std::remove_reference_t<G>> other{g, {}, {}};
    auto mine = [&] { detail::fork_guard joined(other.call, &other, s); return detail::value_of(f); }();
    if (other.thrown) std::rethrow_exception(other.thrown);
    constexpr bool f_has_value = !std::is_void_v<decltype(f())>, g_has_value = !std::is_void_v<decltype(g())>;
    if constexpr (f_has_value && g_has_value) return std::pair(std::move(mine), std::move(*other.value));
    else if constexpr (f_has_value) return mine;
    else if constexpr (g_has_value) return std::move(*other.value);
}

/* The end of a call's wait: a time of a clock of std::chrono, or a duration from now on. A time of
 * steady_clock is exact, since that is the library's clock; a time of another clock is converted
 * once. If the time has passed, the call does not wait. The calls that take a deadline, and the
 * sleeps, throw std::system_error with std::errc::operation_canceled if the group of the calling
 * task is cancelled: sched_group_cancel(3). */
struct deadline {
    sched_time at;
    template <class R, class P> deadline(std::chrono::duration<R, P> time)
    {
        sched_time now = sched_now(), ns = detail::nanoseconds(time);
        at = ns > SCHED_FOREVER - now ? SCHED_FOREVER : now + ns;
    }
    template <class C, class D> deadline(std::chrono::time_point<C, D> time)
    {
        if constexpr (std::is_same_v<C, std::chrono::steady_clock>) at = detail::nanoseconds(time.time_since_epoch());
        else { /* a difference of years may overflow as a number of ticks; as a double it does not */
            using seconds = std::chrono::duration<double>;
            auto now = C::now();
            seconds left = seconds(time.time_since_epoch()) - seconds(now.time_since_epoch());
            at = left < seconds(1e8) && left > seconds(-1e8) ? deadline(time - now).at : deadline(left).at;
        }
    }
};
inline void sleep_until(deadline end) { detail::check(sched_sleep_until(end.at, nullptr), "sched_sleep_until"); }
template <class R, class P> void sleep_for(std::chrono::duration<R, P> time) { sleep_until(time); }

/* A set of tasks that a program waits for together. The destructor waits, and drops exceptions that no wait has
 * rethrown. */
class group : detail::fixed {
    /* A task on the heap that has not begun. If the group is cancelled, the library drops such a task, and wait deletes
     * it. */
    struct queued {
        queued *next = nullptr, **at = nullptr;
        virtual ~queued() = default;
    };
    sched_group tasks = SCHED_GROUP_INIT;
    ::scheduler *const s;
    std::mutex lock;
    queued *first = nullptr; /* the lock protects the list */
    detail::first_error error;
    template <class F> struct task {
        group *to;
        F f;
        void operator()() { try { f(); } catch (...) { to->keep(); } }
    };
    template <class F> struct owned_task : queued {
        task<F> call;
        explicit owned_task(task<F> &&from) : call(std::move(from)) {}
        void operator()() { call.to->unlink(this); call(); }
    };
    void link(queued *it)
    {
        std::lock_guard<std::mutex> held(lock);
        it->next = first, it->at = &first;
        if (first) first->at = &it->next;
        first = it;
    }
    void unlink(queued *it)
    {
        std::lock_guard<std::mutex> held(lock);
        *it->at = it->next;
        if (it->next) it->next->at = it->at;
    }
    void drop() noexcept
    {
        queued *all;
        {
            std::lock_guard<std::mutex> held(lock);
            all = std::exchange(first, nullptr);
        }
        while (all) delete std::exchange(all, all->next);
    }
    int add(taskfunc run, queued *it, void *p, level at = level::normal)
    {
        link(it);
        int result = at == level::normal ? sched_group_spawn(&tasks, run, p, s)
                                         : sched_group_spawn_at(&tasks, static_cast<int>(at), run, p, s);
        if (result != 0) unlink(it);
        return result;
    }
    void keep() noexcept /* the exception of a task, unless it only says that the group is cancelled */
    {
        try { throw; }
        catch (const std::system_error &e) { if (cancelled() && e.code() == std::errc::operation_canceled) return; }
        catch (...) {}
        error.keep();
    }
public:
    explicit group(::scheduler *in = nullptr) noexcept : s(in) {}
    ~group() { sched_group_wait(&tasks, s), drop(); }
    /* Like sched::spawn, for the group. sched_group_spawn says which callers may call it, and
     * when. */
    template <class F> void spawn(F &&f)
    {
        using plain = task<std::decay_t<F>>;
        std::conditional_t<detail::by_copy<plain>, plain, owned_task<std::decay_t<F>>> call(plain{this, std::forward<F>(f)});
        detail::add(std::move(call), "sched_group_spawn",
                    [this](auto... a) { return sched_group_spawn_copy(&tasks, a..., s); },
                    [this](taskfunc run, auto *p) { return add(run, p, p); });
    }
    template <class F> void spawn_at(level at, F &&f) /* as sched::spawn_at, for the group */
    {
        detail::add_owned(owned_task<std::decay_t<F>>(task<std::decay_t<F>>{this, std::forward<F>(f)}), "sched_group_spawn_at",
                          [this, at](taskfunc run, auto *p) { return add(run, p, p, at); });
    }
    bool wait() /* waits until no task is left; rethrows. False if the group was cancelled; it no longer is. */
    {
        bool whole = detail::whole(sched_group_wait(&tasks, s), "sched_group_wait");
        if (!whole) drop();
        return error.rethrow(), whole;
    }
    /* True: no task is left, and wait will return at once. False: tasks were left at the deadline. */
    bool wait_until(deadline end)
    {
        int result = sched_group_wait_until(&tasks, end.at, s);
        /* If this group was cancelled and no task is left, wait reports the cancellation. Otherwise
         * the caller's own group is cancelled. */
        if (result != 0 && detail::error() == ECANCELED && !cancelled() && sched_group_wait_until(&tasks, 0, s) == 0)
            return cancel(), true;
        return detail::in_time(result, "sched_group_wait_until");
    }
    template <class R, class P> bool wait_for(std::chrono::duration<R, P> time) { return wait_until(time); }
    /* A task that has not begun is destroyed without a call. Sleeps and waits with a deadline in the others throw. */
    void cancel() noexcept { sched_group_cancel(&tasks); }
    bool cancelled() const noexcept { return sched_group_cancelled(&tasks) != 0; }
};

/* Nodes, which are tasks, and edges between them, made once and run any number of times: sched_graph(3). The graph owns
 * the nodes and their closures, and the destructor frees them. While the graph runs it can be neither changed, nor drawn,
 * nor run: std::system_error with std::errc::device_or_resource_busy. */
class graph : detail::fixed {
    struct owned {
        sched_node native;
        owned *next = nullptr;
        virtual ~owned() = default;
    };
    template <class F> struct task : owned {
        graph *to;
        F f;
        template <class From> task(graph *of, From &&from) : to(of), f(std::forward<From>(from))
        { detail::check(sched_node_init(&native, run, this), "sched_node_init"); }
        static void run(void *p, ::scheduler *)
        {
            auto me = static_cast<task *>(p);
            try { me->f(); } catch (...) { me->to->keep(); }
        }
    };
    sched_graph native = SCHED_GRAPH_INIT;
    owned *first = nullptr;
    detail::first_error error;      /* of the run that is in progress */
    std::atomic<bool> runs{false}; /* until run has returned, and not only sched_graph_run */
    void keep() noexcept /* the exception of a node, unless it only says that something is cancelled */
    {
        cancel();
        try { throw; }
        catch (const std::system_error &e) { if (e.code() == std::errc::operation_canceled) return; }
        catch (...) {}
        error.keep();
    }
public:
    /* A handle, which can be copied, and is valid as long as the graph. precede makes the node a predecessor of others,
     * succeed makes it a successor of others. If one of them throws, the edges before that one were added. */
    class node {
        friend graph;
        sched_node *of = nullptr;
        explicit node(owned *from) noexcept : of(&from->native) {}
        static void add(sched_node *n, sched_node *before) { detail::check(sched_after(n, before), "sched_after"); }
    public:
        node() noexcept = default; /* of no node */
        template <class... Node> node precede(const Node &...after) const { return (add(after.of, of), ...), *this; }
        template <class... Node> node succeed(const Node &...before) const { return (add(of, before.of), ...), *this; }
    };
    graph() noexcept = default;
    ~graph()
    {
        sched_graph_destroy(&native);
        while (first) delete std::exchange(first, first->next);
    }
    /* Adds a node that calls f(), without edges, and returns its handle. For several functions: a std::tuple of handles.
     * If emplace throws, no node was added, and f may have been moved. Cost: an allocation for each node. */
    template <class... F> auto emplace(F &&...f)
    {
        static_assert(sizeof...(F) > 0, "libsched makes a node for each function, and there is none");
        std::tuple made{std::make_unique<task<std::decay_t<F>>>(this, std::forward<F>(f))...};
        auto add = [this](auto &one) { /* the first call fails if the graph runs */
            detail::check(sched_graph_add(&native, &one->native), "sched_graph_add");
            one->next = first;
            return node(first = one.release());
        };
        return std::apply([&](auto &...one) {
            if constexpr (sizeof...(one) == 1) return (add(one), ...);
            else return std::tuple{add(one)...};
        }, made);
    }
    /* Calls the function of each node once, after the functions of all its predecessors, and
     * returns when all have ended. The first exception that leaves a function cancels the rest of
     * this run, and is rethrown. Returns false if the run was cancelled, by cancel or by
     * std::errc::operation_canceled in a node. Throws std::system_error with
     * std::errc::resource_deadlock_would_occur if nodes wait for each other in a circle. Cost:
     * that of sched_graph_run. */
    bool run(::scheduler *s = nullptr)
    {
        if (runs.exchange(true)) throw std::system_error(EBUSY, std::generic_category(), "sched_graph_run");
        struct release : fixed { graph *of; explicit release(graph *g) : of(g) {} ~release() { of->runs = false; } } at_end(this);
        bool whole = detail::whole(sched_graph_run(&native, s), "sched_graph_run");
        return error.rethrow(), whole;
    }
    /* Functions that have not begun are not called in this run, and sleeps and waits with a deadline in the others throw. If
     * the graph does not run, the next run is cancelled. */
    void cancel() noexcept { sched_graph_cancel(&native); }
    /* Writes the graph for graphviz's dot(1), a box for each node with the name of its function. */
    void dot(std::FILE *file) { detail::check(sched_graph_dot(&native, file), "sched_graph_dot"); }
};

/* Calls body(i) for the numbers first to last - 1, or body(*i) for the iterators, or body(x) for
 * the elements of a range, in any order. A body of two arguments is called for blocks: body(lo,
 * hi), numbers or iterators. Returns false if a body has called sched::stop. After that, or after
 * an exception, some calls are left out. grain and the cost are as in sched_for. */
template <class I, class J, class Body>
detail::if_positions<I, J, bool> parallel_for(I first, J last, Body &&body, size_t grain = 0, ::scheduler *s = nullptr)
{
    detail::range all(first, last);
    detail::first_error error;
    auto part = [&](size_t lo, size_t hi) {
        try {
            if constexpr (detail::by_block<decltype(all.first), std::remove_reference_t<Body>>) body(all.at(lo), all.at(hi));
            else all.each(lo, hi, body);
        } catch (...) { error.keep(); sched_stop(nullptr); }
    };
    auto call = [](size_t lo, size_t hi, void *p, ::scheduler *) { (*static_cast<decltype(part) *>(p))(lo, hi); };
    bool whole = detail::whole(sched_for(0, all.size(), grain, call, &part, s), "sched_for");
    error.rethrow();
    return whole;
}
template <class R, class Body>
detail::if_range<R, bool> parallel_for(R &&all, Body &&body, size_t grain = 0, ::scheduler *s = nullptr)
{ return parallel_for(std::begin(all), std::end(all), body, grain, s); }
inline void stop() noexcept { sched_stop(nullptr); } /* the innermost parallel_for whose body the caller is in */

/* Reduces numbers, or the elements at iterators, to one T. Each part of grain elements (0: at most 1024 parts) begins
 * with a copy of identity, to which each x is added by acc = body(acc, x), or if that gives no T, by body(acc, x)
 * alone. The values of neighbouring parts are combined in the same way. combine must be associative; it need not be
 * commutative. The values that it gets depend only on the range and on grain, not on workers. Cost: for each part a
 * fork_join, and moves of T. */
template <class I, class J, class T, class Body, class Combine>
detail::if_positions<I, J, T> parallel_reduce(I first, J last, T identity, Body &&body, Combine &&combine, size_t grain = 0,
                                          ::scheduler *s = nullptr)
{
    static_assert(std::is_copy_constructible_v<T>, "libsched copies the identity of a reduction for each part");
    detail::range all(first, last);
    size_t size = all.size(), each = grain ? grain : size / 1024 + 1;
    auto reduce = [&](auto &self, size_t lo, size_t hi) -> T {
        if (hi - lo > each) {
            size_t middle = lo + ((hi - lo - 1) / each + 1) / 2 * each;
            auto both = fork_join([&] { return self(self, lo, middle); }, [&] { return self(self, middle, hi); }, s);
            detail::fold(combine, both.first, std::move(both.second));
            return std::move(both.first);
        }
        T acc(std::as_const(identity));
        all.each(lo, hi, [&](auto &&x) { detail::fold(body, acc, std::forward<decltype(x)>(x)); });
        return acc;
    };
    return reduce(reduce, 0, size);
}

template <class R, class T, class Body, class Combine>
detail::if_range<R, T> parallel_reduce(R &&all, T identity, Body &&body, Combine &&combine, size_t grain = 0,
                                       ::scheduler *s = nullptr)
{ return parallel_reduce(std::begin(all), std::end(all), std::move(identity), body, combine, grain, s); }

/* Like parallel_reduce, but the combinations depend on the course of the run: there is one T, and
 * another one for each part that another worker takes. The result may differ a little if combine is
 * only nearly associative. Cost: that of parallel_for, an allocation for each T, and a call of combine
 * for each T but the first. */
template <class I, class J, class T, class Body, class Combine>
detail::if_positions<I, J, T> parallel_reduce_relaxed(I first, J last, T identity, Body &&body, Combine &&combine,
                                                  size_t grain = 0, ::scheduler *s = nullptr)
{
    static_assert(std::is_copy_constructible_v<T>, "libsched copies the identity of a reduction for each part");
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
        &both, &sum, s), "sched_reduce_relaxed");
    std::unique_ptr<T> owned(sum.at);
    error.rethrow();
    if (owned) return std::move(*owned);
    return identity;
}

template <class R, class T, class Body, class Combine>
detail::if_range<R, T> parallel_reduce_relaxed(R &&all, T identity, Body &&body, Combine &&combine, size_t grain = 0,
                                               ::scheduler *s = nullptr)
{ return parallel_reduce_relaxed(std::begin(all), std::end(all), std::move(identity), body, combine, grain, s); }

namespace detail {
/* Does sched_scan with values that are numbers of parts: the sum of each part, and the value before
 * it, are in two tables, so that a T need not be trivially copyable. before is the value before the
 * first part, or empty. */
template <bool inclusive, class T, class I, class J, class Out, class Op>
Out scan(I first, J last, Out to, std::optional<T> start, Op &op, size_t grain, ::scheduler *s)
{
    static_assert(std::is_copy_constructible_v<T>, "libsched copies the values of a scan");
    static_assert(position<Out>::value && !std::is_integral_v<Out>, "the results of a scan go to iterators of random access");
    range all(first, last);
    size_t size = all.size(), each = grain ? std::min(grain, size) : size / 1024 + 1, parts = size ? (size - 1) / each + 1 : 0;
    std::vector<std::optional<T>> sums(parts), before(parts + 1);
    if (start) before[0].emplace(std::move(*start));
    first_error error;
    auto value = [](auto &at) -> decltype(auto) {
        if constexpr (std::is_integral_v<std::remove_reference_t<decltype(at)>>) return std::as_const(at);
        else return *at;
    };
    auto part = [&](size_t lo, size_t hi, size_t *acc, bool writes) {
        *acc = lo / each;
        if (error.any) return sched_stop(nullptr);
        try {
            const std::optional<T> &from = before[*acc];
            auto x = all.at(lo);
            auto result = to + std::ptrdiff_t(lo);
            auto with = [&](const T &sum) {
                if (!from) return sum;
                T both(*from);
                return fold(op, both, sum), both;
            };
            T sum(value(x));
            if (writes) {
                if constexpr (!inclusive) *result++ = *from;
                while (++lo != hi) { /* the next sum before this result: each sum waits for the last one, results do not */
                    ++x;
                    T next(sum);
                    fold(op, next, value(x));
                    *result = with(sum);
                    ++result;
                    sum = std::move(next);
                }
                if constexpr (inclusive) *result = with(sum);
            } else while (++lo != hi) ++x, fold(op, sum, value(x));
            if (!sums[*acc]) sums[*acc].emplace(std::move(sum));
        } catch (...) { error.keep(); sched_stop(nullptr); }
    };
    auto chain = [&](size_t *into, size_t last_part) {
        if (error.any) return;
        try {
            *into = last_part + 1;
            if (!before[last_part]) before[*into].emplace(*sums[last_part]);
            else fold(op, before[*into].emplace(*before[last_part]), std::as_const(*sums[last_part]));
        } catch (...) { error.keep(); }
    };
    auto both = std::pair(&part, &chain);
    using calls = decltype(both);
    const size_t none = 0;
    int outcome = sched_scan(
        0, size, each, sizeof none, &none,
        [](size_t lo, size_t hi, void *acc, const void *until, void *p, ::scheduler *)
        { (*static_cast<calls *>(p)->first)(lo, hi, static_cast<size_t *>(acc), until != nullptr); },
        [](void *into, const void *from, void *p)
        { (*static_cast<calls *>(p)->second)(static_cast<size_t *>(into), *static_cast<const size_t *>(from)); },
        &both, nullptr, s);
    if (outcome != 0 && !error.any) fail("sched_scan");
    error.rethrow();
    return to + std::ptrdiff_t(size);
}
template <class At, class = void> struct value_type { using type = At; };
template <class At> struct value_type<At, std::enable_if_t<!std::is_integral_v<At>>> { using type = typename std::iterator_traits<At>::value_type; };
} // namespace detail

/* Like std::inclusive_scan and std::exclusive_scan. For each number, or each element at iterators,
 * they write the sum of all elements up to it, or of init and all elements before it, to `to`, `to`
 * + 1 and so on, and return the end of the results. `to` may be first. op(a, b) returns a T or
 * changes a; it must be associative, and need not be commutative. T is the type of the elements, or
 * the type of init, to which the elements are converted. The calls of op depend only on the range
 * and on grain (0: at most 1024 parts), not on workers, so that sums of floating-point numbers are
 * the same each time. After an exception some results have been written. Cost: that of sched_scan; also
 * two calls of op for each element, and two std::optional<T> for each part. */
template <class I, class J, class Out, class Op = std::plus<>>
detail::if_scan<I, J, Out, Out> inclusive_scan(I first, J last, Out to, Op op = {}, size_t grain = 0, ::scheduler *s = nullptr)
{
    using T = typename detail::value_type<std::common_type_t<I, J>>::type;
    return detail::scan<true, T>(first, last, to, std::optional<T>(), op, grain, s);
}
template <class R, class Out, class Op = std::plus<>>
detail::if_range<R, detail::if_operation<Op, Out>> inclusive_scan(R &&all, Out to, Op op = {}, size_t grain = 0, ::scheduler *s = nullptr)
{ return inclusive_scan(std::begin(all), std::end(all), to, std::move(op), grain, s); }
template <class I, class J, class Out, class T, class Op = std::plus<>>
detail::if_scan<I, J, Out, Out> exclusive_scan(I first, J last, Out to, T init, Op op = {}, size_t grain = 0,
                                               ::scheduler *s = nullptr)
{ return detail::scan<false, T>(first, last, to, std::optional<T>(std::move(init)), op, grain, s); }
template <class R, class Out, class T, class Op = std::plus<>>
detail::if_range<R, detail::if_operation<Op, Out>> exclusive_scan(R &&all, Out to, T init, Op op = {}, size_t grain = 0,
                                                                  ::scheduler *s = nullptr)
{ return exclusive_scan(std::begin(all), std::end(all), to, std::move(init), std::move(op), grain, s); }

/* Sorts as std::sort does: in place, not stable, O(n log n). After an exception the order is
 * unspecified, and the elements that comp was called for may be moved from. Cost: that of std::sort; one
 * worker makes the first partition, two the next, and so on. */
template <class It, class Comp = std::less<>>
detail::if_positions<It, It, void> sort(It first, It last, Comp comp = {}, ::scheduler *s = nullptr)
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
        fork_join([&] { self(self, begin, left, splits - 1); }, [&] { self(self, right, end, splits - 1); }, s);
    };
    part(part, first, last, 64);
}
template <class R, class Comp = std::less<>>
detail::if_range<R, void> sort(R &&all, Comp comp = {}, ::scheduler *s = nullptr)
{ sort(std::begin(all), std::end(all), std::move(comp), s); }

/* Sorts as std::stable_sort does: equal elements keep their order. It needs memory for as many
 * elements, or throws std::bad_alloc. After an exception of comp elements may be moved from. Cost:
 * that of a merge sort whose merges are also divided, and two moves of each element for each halving of
 * a long range. */
template <class It, class Comp = std::less<>>
detail::if_positions<It, It, void> stable_sort(It first, It last, Comp comp = {}, ::scheduler *s = nullptr)
{
    using T = typename std::iterator_traits<It>::value_type;
    constexpr std::ptrdiff_t alone = 4096; /* this many elements are not worth a task */
    auto less = [&](const T &a, const T &b) { return comp(a, b); };
    auto merge = [&](auto &self, auto a, auto a_end, auto b, auto b_end, auto to) -> void {
        auto n = a_end - a, m = b_end - b;
        if (n + m <= 2 * alone) {
            auto move = [](auto at) { return std::make_move_iterator(at); };
            std::merge(move(a), move(a_end), move(b), move(b_end), to, less);
            return;
        }
        auto a_middle = a + n / 2;
        auto b_middle = b + m / 2;
        if (n >= m) b_middle = std::lower_bound(b, b_end, *a_middle, less);
        else a_middle = std::upper_bound(a, a_end, *b_middle, less);
        auto to_middle = to + ((a_middle - a) + (b_middle - b));
        fork_join([&] { self(self, a, a_middle, b, b_middle, to); },
                  [&] { self(self, a_middle, a_end, b_middle, b_end, to_middle); }, s);
    };
    /* Sorts the elements at `at`, and leaves them there or at `other`. */
    auto part = [&](auto &self, auto at, auto other, std::ptrdiff_t n, bool there) -> void {
        if (n <= alone) {
            std::stable_sort(at, at + n, less);
            if (!there) std::move(at, at + n, other);
            return;
        }
        auto half = n / 2;
        fork_join([&] { self(self, at, other, half, !there); },
                  [&] { self(self, at + half, other + half, n - half, !there); }, s);
        if (there) merge(merge, other, other + half, other + half, other + n, at);
        else merge(merge, at, at + half, at + half, at + n, other);
    };
    auto n = last - first;
    if (n <= alone) return part(part, first, first, n, true);
    std::vector<T> room(std::make_move_iterator(first), std::make_move_iterator(last));
    part(part, room.begin(), first, n, false);
}
template <class R, class Comp = std::less<>>
detail::if_range<R, void> stable_sort(R &&all, Comp comp = {}, ::scheduler *s = nullptr)
{ stable_sort(std::begin(all), std::end(all), std::move(comp), s); }

/* These four have the names of the standard library's classes, but a task that waits is suspended. Tasks of all runs,
 * and threads without a run, may use them. The C functions take native. Cost: an atomic operation if there is nothing
 * to wait for. */
struct mutex : detail::fixed { /* like std::timed_mutex: for std::lock_guard, std::unique_lock and std::scoped_lock */
    sched_mutex native = SCHED_MUTEX_INIT;
    void lock() { detail::check(sched_mutex_lock(&native, nullptr), "sched_mutex_lock"); }
    bool try_lock() noexcept { return sched_mutex_trylock(&native) == 0; }
    bool try_lock_until(deadline end)
    { return detail::in_time(sched_mutex_lock_until(&native, end.at, nullptr), "sched_mutex_lock_until"); }
    template <class R, class P> bool try_lock_for(std::chrono::duration<R, P> time) { return try_lock_until(time); }
    void unlock() { detail::check(sched_mutex_unlock(&native), "sched_mutex_unlock"); }
};
struct condition_variable : detail::fixed { /* no wake-up is spurious */
    sched_cond native = SCHED_COND_INIT;
    void wait(std::unique_lock<mutex> &held)
    { detail::check(sched_cond_wait(&native, &held.mutex()->native, nullptr), "sched_cond_wait"); }
    template <class Test> void wait(std::unique_lock<mutex> &held, Test test) { while (!test()) wait(held); }
    std::cv_status wait_until(std::unique_lock<mutex> &held, deadline end)
    {
        int result = sched_cond_wait_until(&native, &held.mutex()->native, end.at, nullptr);
        return detail::in_time(result, "sched_cond_wait_until") ? std::cv_status::no_timeout : std::cv_status::timeout;
    }
    template <class Test> bool wait_until(std::unique_lock<mutex> &held, deadline end, Test test)
    {
        while (!test())
            if (wait_until(held, end) == std::cv_status::timeout) return test();
        return true;
    }
    template <class R, class P, class... Test> auto wait_for(std::unique_lock<mutex> &held, std::chrono::duration<R, P> time, Test... test)
    { return wait_until(held, time, std::move(test)...); }
    void notify_one() noexcept { sched_cond_signal(&native); }
    void notify_all() noexcept { sched_cond_broadcast(&native); }
};
struct semaphore : detail::fixed { /* as std::counting_semaphore */
    sched_sem native;
    explicit constexpr semaphore(size_t units) noexcept : native SCHED_SEM_INIT(units) {}
    void acquire() { detail::check(sched_sem_wait(&native, nullptr), "sched_sem_wait"); }
    bool try_acquire() noexcept { return sched_sem_trywait(&native) == 0; }
    bool try_acquire_until(deadline end)
    { return detail::in_time(sched_sem_wait_until(&native, end.at, nullptr), "sched_sem_wait_until"); }
    template <class R, class P> bool try_acquire_for(std::chrono::duration<R, P> time) { return try_acquire_until(time); }
    void release(size_t units = 1) { while (units-- > 0) detail::check(sched_sem_post(&native), "sched_sem_post"); }
};
struct barrier : detail::fixed { /* arrive_and_wait: true for one of the tasks that have met */
    sched_barrier native;
    explicit constexpr barrier(size_t size) noexcept : native SCHED_BARRIER_INIT(size) {}
    bool arrive_and_wait() { return detail::check(sched_barrier_wait(&native, nullptr), "sched_barrier_wait") > 0; }
};

enum class channel_status { success, closed, timeout };

/* A bounded queue between tasks and threads: sched_channel(3). A T that is trivially copyable lies in the channel itself;
 * another T is moved to the heap, and from there to its receiver. What is left in the channel is destroyed with it. */
template <class T> class channel : detail::fixed {
    static_assert(std::is_object_v<T> && !std::is_const_v<T>, "libsched moves an element into a channel, and out of it");
    static constexpr bool in_place = std::is_trivially_copyable_v<T>;
    union room {
        T value;
        room() {}
        ~room() {}
    };
    static channel_status status(int error, const char *call)
    {
        if (error != 0 && error != EPIPE && error != ETIMEDOUT) throw std::system_error(error, std::generic_category(), call);
        return error == 0 ? channel_status::success : error == EPIPE ? channel_status::closed : channel_status::timeout;
    }
    /* Calls send(pointer). An element that was not sent is moved back. */
    template <class V, class Send> static channel_status put(V &&value, const char *call, Send send)
    {
        if constexpr (in_place) {
            return status(send(std::addressof(value)) == 0 ? 0 : detail::error(), call);
        } else {
            auto element = std::make_unique<T>(std::forward<V>(value));
            T *pointer = element.get();
            int error = send(&pointer) == 0 ? 0 : detail::error();
            if (error == 0) element.release(); /* it belongs to the receiver, which may have deleted it */
            else if constexpr (std::is_rvalue_reference_v<V &&> && std::is_move_assignable_v<T>) value = std::move(*element);
            return status(error, call);
        }
    }
    template <class Receive> static channel_status take(std::optional<T> &into, const char *call, Receive receive)
    {
        into.reset();
        std::conditional_t<in_place, room, T *> element;
        int error = receive(&element) == 0 ? 0 : detail::error();
        if (error == 0) {
            if constexpr (in_place) into.emplace(std::move(element.value));
            else into.emplace(std::move(*std::unique_ptr<T>(element)));
        }
        return status(error, call);
    }
    template <class V> bool send_one(V &&value)
    {
        auto send = [this](const void *p) { return sched_channel_send(native, p, nullptr); };
        return put(std::forward<V>(value), "sched_channel_send", send) == channel_status::success;
    }
    template <class V> channel_status send_one(V &&value, deadline end)
    {
        auto send = [this, end](const void *p) { return sched_channel_send_until(native, p, end.at, nullptr); };
        return put(std::forward<V>(value), "sched_channel_send_until", send);
    }
public:
    sched_channel *const native;
    explicit channel(size_t capacity = 0) : native(sched_channel_create(capacity, in_place ? sizeof(T) : sizeof(T *)))
    { if (!native) detail::fail("sched_channel_create"); }
    ~channel()
    {
        close();
        if constexpr (!in_place)
            for (T *left; sched_channel_receive(native, &left, nullptr) == 0;) delete left;
        sched_channel_destroy(native);
    }
    /* False: the channel is closed, and value is as it was if T can be assigned; otherwise it is lost. */
    bool send(T &&value) { return send_one(std::move(value)); }
    bool send(const T &value) { return send_one(value); }
    channel_status send_until(T &&value, deadline end) { return send_one(std::move(value), end); }
    channel_status send_until(const T &value, deadline end) { return send_one(value, end); }
    template <class V, class R, class P> channel_status send_for(V &&value, std::chrono::duration<R, P> time)
    { return send_until(std::forward<V>(value), time); }
    std::optional<T> receive() /* nothing: the channel is closed and empty */
    {
        std::optional<T> element;
        take(element, "sched_channel_receive", [this](void *p) { return sched_channel_receive(native, p, nullptr); });
        return element;
    }
    channel_status receive_until(std::optional<T> &into, deadline end)
    {
        auto receive = [this, end](void *p) { return sched_channel_receive_until(native, p, end.at, nullptr); };
        return take(into, "sched_channel_receive_until", receive);
    }
    template <class R, class P> channel_status receive_for(std::optional<T> &into, std::chrono::duration<R, P> time)
    { return receive_until(into, time); }
    void close() noexcept { sched_channel_close(native); }
};

/* Spawns a task at a given time: sched_timer(3). The destructor cancels the timer, and waits until
 * its function, if it has been spawned, has ended; so the function itself must not destroy the
 * timer, but may spawn a task that does. An exception that leaves the function is treated as in a
 * task of spawn. Cost of a start: an allocation more than in C. */
class timer : detail::fixed {
    struct call { virtual ~call() = default; };
    sched_timer native = SCHED_TIMER_INIT;
    ::scheduler *const s;
    mutex lock; /* protects the next members */
    condition_variable ended;
    call *last = nullptr; /* exists while the timer is pending */
    size_t calls = 0;     /* pending or running */
    bool is_closed = false;
public:
    explicit timer(::scheduler *in = nullptr) noexcept : s(in) {}
    ~timer()
    {
        { std::lock_guard<mutex> held(lock); is_closed = true; }
        cancel();
        std::unique_lock<mutex> held(lock);
        ended.wait(held, [this] { return calls == 0; });
    }
    /* Calls f() in a task at the deadline. The function may start its timer again. Throws std::system_error with
     * std::errc::device_or_resource_busy if the timer is pending. Has no effect while the destructor waits. */
    template <class F> void start(deadline at, F &&f)
    {
        struct task : call {
            timer *of;
            std::decay_t<F> f;
            task(timer *owner, F &&from) : of(owner), f(std::forward<F>(from)) {}
            static void run(void *p, ::scheduler *)
            {
                std::unique_ptr<task> me(static_cast<task *>(p));
                timer *owner = me->of;
                try { me->f(); } catch (...) { detail::root::keep_in_run(); }
                me.reset();
                std::lock_guard<mutex> held(owner->lock);
                if (--owner->calls == 0) owner->ended.notify_all();
            }
        };
        auto owned = std::make_unique<task>(this, std::forward<F>(f));
        std::lock_guard<mutex> held(lock);
        if (is_closed) return;
        detail::check(sched_timer_start(&native, at.at, task::run, owned.get(), s), "sched_timer_start");
        last = owned.release();
        calls++;
    }
    bool cancel() noexcept /* false: the timer was not pending, or its task has been spawned */
    {
        std::unique_ptr<call> dropped;
        std::lock_guard<mutex> held(lock);
        if (sched_timer_cancel(&native) != 0) return false;
        calls--;
        return dropped.reset(last), true;
    }
};

struct block_guard : detail::fixed { /* a section that may block its thread, and its worker if it cannot begin */
    const bool began = sched_block_begin(nullptr) == 0;
    ~block_guard() { if (began) sched_block_end(nullptr); }
};

namespace detail {
template <class V> struct promise : fixed { /* shared by a task and its future; the last owner deletes it */
    std::atomic<int> owners{2};
    sched_sem ended = SCHED_SEM_INIT(0);
    std::optional<V> value;
    std::exception_ptr thrown;
    void release() noexcept { if (owners.fetch_sub(1) == 1) delete this; }
};
template <class T> using promise_of = promise<std::conditional_t<std::is_void_v<T>, nothing, T>>;
} // namespace detail
/* The value of a call that pool::submit has added. It is moved, not copied. One thread uses it at a time. */
template <class T> class future {
    struct release { void operator()(detail::promise_of<T> *of) noexcept { of->release(); } };
    std::unique_ptr<detail::promise_of<T>, release> state;
    detail::promise_of<T> *known() const
    {
        if (!state) throw std::system_error(EINVAL, std::generic_category(), "sched::future: no call, or get was called before");
        return state.get();
    }
public:
    future() noexcept = default; /* without a call: valid() is false, the others throw std::errc::invalid_argument */
    explicit future(detail::promise_of<T> *of) noexcept : state(of) {}
    bool valid() const noexcept { return state != nullptr; }
    bool ready() const { return sched_sem_trywait(&known()->ended) == 0 && sched_sem_post(&state->ended) == 0; }
    void wait() const /* until the call has ended: a task is suspended, a thread blocks */
    {
        detail::check(sched_sem_wait(&known()->ended, nullptr), "sched_sem_wait");
        detail::check(sched_sem_post(&state->ended), "sched_sem_post"); /* for the next wait */
    }
    bool wait_until(deadline end) const /* true: the call has ended */
    {
        return detail::in_time(sched_sem_wait_until(&known()->ended, end.at, nullptr), "sched_sem_wait_until") &&
               detail::check(sched_sem_post(&state->ended), "sched_sem_post") == 0;
    }
    template <class R, class P> bool wait_for(std::chrono::duration<R, P> time) const { return wait_until(time); }
    T get() /* waits, and returns the value or rethrows; once: then valid() is false */
    {
        wait();
        auto mine = std::move(state);
        if (mine->thrown) std::rethrow_exception(std::exchange(mine->thrown, nullptr)); /* so this thread frees it */
        if constexpr (!std::is_void_v<T>) return std::move(*mine->value);
    }
};

/* A run that stays open, on threads of its own: sched_pool_create. The destructor waits for all tasks. */
class pool : detail::fixed {
    static sched_pool *made(const sched_options &options)
    {
        sched_pool *pool = sched_pool_create(&options);
        return pool ? pool : (detail::fail("sched_pool_create"), nullptr);
    }
    static sched_options with(int threads, const char *settings) noexcept
    {
        sched_options options = {};
        options.size = sizeof options;
        options.nthreads = threads;
        options.settings = settings;
        return options;
    }
public:
    sched_pool *const native; /* for the C functions */
    explicit pool(int threads = 0, const char *settings = nullptr) : native(made(with(threads, settings))) {}
    explicit pool(const sched_options &options) : native(made(options)) {}
    ~pool() { sched_pool_destroy(native); }
    ::scheduler *scheduler() const noexcept { return sched_pool_scheduler(native); } /* the last argument elsewhere */
    /* Adds the task f(), from any thread, and returns the future of its value. The future need not
     * be used. Cost: that of sched_pool_submit, and one allocation, or two if f is not trivially
     * copyable. */
    template <class F> auto submit(F &&f)
    {
        using result = decltype(std::declval<std::decay_t<F> &>()());
        static_assert(!std::is_reference_v<result>,
                      "libsched keeps the value of a submitted call: return a pointer, not a reference");
        using T = std::remove_reference_t<result>;
        struct task {
            detail::promise_of<T> *to;
            std::decay_t<F> f;
            void operator()()
            {
                try { to->value.emplace(detail::value_of(f)); } catch (...) { to->thrown = std::current_exception(); }
                sched_sem_post(&to->ended);
                to->release();
            }
        };
        auto state = std::make_unique<detail::promise_of<T>>();
        detail::add(task{state.get(), std::forward<F>(f)}, "sched_pool_submit",
                    [this](auto... a) { return sched_pool_submit_copy(native, a...); },
                    [this](auto... a) { return sched_pool_submit(native, a...); });
        return future<T>(state.release());
    }
    void wait() { detail::check(sched_pool_wait(native), "sched_pool_wait"); } /* until no task is left */
    bool wait_until(deadline end) /* true: no task is left */
    { return detail::in_time(sched_pool_wait_until(native, end.at), "sched_pool_wait_until"); }
    template <class R, class P> bool wait_for(std::chrono::duration<R, P> time) { return wait_until(time); }
};

/* A value for each worker, on cache lines of its own: the bodies of a loop change local() without atomics. Each value
 * begins as a copy of initial. When the loop has ended, begin() to end() are all values, and combine folds them into
 * one. local throws outside of tasks and loops. A body must not keep the reference while it waits, since it may be
 * resumed by another worker, and another task may run on the first one. */
template <class T> class worker_local : detail::fixed {
    struct alignas(64) slot { T value; };
    ::scheduler *const s;
    std::vector<slot> slots;
    struct iterator {
        typename std::vector<slot>::iterator at;
        T &operator*() const { return at->value; }
        iterator &operator++() { return ++at, *this; }
        bool operator!=(const iterator &other) const { return at != other.at; }
    };
public:
    explicit worker_local(const T &initial = T(), ::scheduler *in = nullptr)
        : s(in), slots(size_t(detail::check(sched_worker_count(in), "sched_worker_count")), slot{initial}) {}
    T &local()
    {
        size_t index = size_t(sched_worker_index(s));
        if (index >= slots.size()) throw std::out_of_range("sched::worker_local: the caller is not a task of the run");
        return slots[index].value;
    }
    iterator begin() { return {slots.begin()}; }
    iterator end() { return {slots.end()}; }
    template <class Combine> T combine(Combine &&combine)
    {
        T all = std::move(slots[0].value);
        for (size_t i = 1; i < slots.size(); i++) detail::fold(combine, all, std::move(slots[i].value));
        return all;
    }
};

inline void yield() noexcept { sched_task_yield(nullptr); }
inline int worker_index() noexcept { return sched_worker_index(nullptr); } /* -1 outside of tasks */
inline int worker_count() { return detail::check(sched_worker_count(nullptr), "sched_worker_count"); }
} // namespace sched
#endif
#endif
