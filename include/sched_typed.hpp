/* sched_typed.hpp: forked lambdas at the cost of sched_typed.h, for C++17 and later. The manual page is
 * sched_typed.hpp(3). It includes sched.hpp, whose rules for threads, exceptions and suspension points also hold here.
 *
 *     long fib(long n, sched::frame at)
 *     {
 *         if (n < 2) return n;
 *         auto [a, b] = sched::fork_join(at, [=](sched::frame at) { return fib(n - 1, at); },
 *                                            [=](sched::frame at) { return fib(n - 2, at); });
 *         return a + b;
 *     }
 *
 *     long value = fib(40, sched::frame());
 *
 * With the usual kind and deque, forks and joins are compiled into the program, and a call that no other worker has
 * begun is a plain call, which the compiler may inline. sched_inline.h says which library such a program needs. */
#ifndef LIBSCHED_SCHED_TYPED_HPP
#define LIBSCHED_SCHED_TYPED_HPP
#include "sched.hpp"
#if __cplusplus >= 201703L && defined __cpp_exceptions
#include <new>
#include "sched_typed.h"
namespace sched {
namespace detail { struct frames; }
/* The place where a function runs: its worker, and the end of the worker's queue. It is passed by
 * value, in two registers. The functions below update the frame that they get. An outdated frame,
 * or one of another task of the same run, costs time but is not wrong. A frame is not thread-safe:
 * each task has its own. */
class frame {
    friend struct detail::frames;
    sched_at_ at;
public:
    frame() : frame(nullptr) {} /* the caller's run, or outside of tasks the default pool */
    explicit frame(::scheduler *s); /* for a task that is a C function, with this s */
};
namespace detail {
struct frames { /* the operations on frames */
    static constexpr size_t outside = 1; /* the end in a frame made outside of the tasks of its run; no queue has it */
    static bool is_inside(const frame &of) { return SCHED_TYPED_LIKELY_(of.at.end != outside); }
    static ::scheduler *self(const frame &of) { return sched_typed_self_(of.at.s); }
    static frame of_task(::scheduler *s) /* s is null if the library cannot make a pool */
    {
        frame made;
        made.at = sched_typed_at_(s);
        return made;
    }
    [[gnu::always_inline]] static void fork(frame &of, sched_task *t, taskfunc f)
    {
        if (is_inside(of)) sched_typed_fork_(&of.at.s, &of.at.end, t, f);
        else (sched_fork)(t, f, t, self(of));
    }
    [[gnu::always_inline]] static bool join(frame &of, sched_task *t, taskfunc f) /* true: the caller must call it */
    { return SCHED_TYPED_LIKELY_(sched_typed_join_(&of.at.s, &of.at.end, t, f)); }
};
template <class F> auto value_at(F &f, frame at)
{
    if constexpr (std::is_void_v<decltype(f(at))>) return f(at), nothing();
    else return f(at);
}
struct before_descriptor { char unused; }; /* gives a descriptor an address of its own: see sched_typed_join_ */
/* A forked call of g, which is a reference if G is one. Its descriptor is a base, and the argument of run. */
template <class G> struct forked_call : before_descriptor, sched_task {
    struct outcome {
        std::optional<decltype(value_at(std::declval<G &>(), frame()))> value;
        std::exception_ptr thrown;
    };
    G g;
    union { outcome theirs; }; /* exists once the library has called run; otherwise join calls g itself */
    forked_call(frame &at, G &&from) : g(std::forward<G>(from)) { frames::fork(at, this, run); }
    ~forked_call() {}
    static void run(void *p, ::scheduler *s)
    {
        auto &me = *static_cast<forked_call *>(static_cast<sched_task *>(p));
        auto &made = *::new (static_cast<void *>(&me.theirs)) outcome;
        try { made.value.emplace(value_at(me.g, frames::of_task(s))); }
        catch (...) { made.thrown = std::current_exception(); }
    }
    [[gnu::always_inline]] auto join(frame &at) /* with is_inside(at) */
    {
        if (frames::join(at, this, run)) return g(at);
        return take();
    }
    [[gnu::always_inline]] auto join_anywhere(frame &at)
    {
        if (frames::is_inside(at)) return join(at);
        (sched_join)(this, frames::self(at));
        return take();
    }
    [[gnu::noinline, gnu::cold]] auto take()
    {
        struct end { outcome &of; ~end() { of.~outcome(); } } ended{theirs};
        if (theirs.thrown) std::rethrow_exception(theirs.thrown);
        if constexpr (!std::is_void_v<decltype(g(frame()))>) return std::move(*theirs.value);
    }
    [[gnu::noinline, gnu::cold]] void drop(::scheduler *s) noexcept { (sched_join)(this, s), theirs.~outcome(); }
};
/* fork_join with is_inside(at). */
template <class F, class G> [[gnu::always_inline]] inline auto both(frame &at, F &f, G &&g)
{
    forked_call<G> other(at, std::forward<G>(g));
    auto mine = [&] { try { return value_at(f, at); } catch (...) { other.drop(frames::self(at)); throw; } }();
    constexpr bool f_has_value = !std::is_void_v<decltype(f(at))>, g_has_value = !std::is_void_v<decltype(g(at))>;
    if constexpr (f_has_value && g_has_value) return std::pair(std::move(mine), other.join(at));
    else if constexpr (g_has_value) return other.join(at);
    else {
        other.join(at);
        if constexpr (f_has_value) return mine;
    }
}
/* Outside of tasks: a worker also calls f. (g is a copy, so that fork_join can keep its own g in registers.) */
template <class G, class F> [[gnu::noinline, gnu::cold]] auto both_in_task(frame at, F &f, G g)
{
    auto call = [&](frame inside) { return both(inside, f, std::forward<G>(g)); };
    return forked_call<decltype(call) &>(at, call).join_anywhere(at);
}
} // namespace detail
inline frame::frame(::scheduler *s) : at(sched_typed_at_(s))
{ if (!sched_typed_is_task_(s)) at.end = detail::frames::outside; }

/* Like sched::fork_join(f, g), but calls f(frame) and g(frame); outside of tasks workers call both.
 * g is moved, unless it is an lvalue. */
template <class F, class G> [[gnu::always_inline]] inline auto fork_join(frame &at, F &&f, G &&g)
{
    if (detail::frames::is_inside(at)) return detail::both(at, f, std::forward<G>(g));
    return detail::both_in_task<G>(at, f, std::forward<G>(g));
}
template <class F, class G> auto fork_join(frame &&at, F &&f, G &&g) { return fork_join(at, f, std::forward<G>(g)); }

/* A forked call of g(frame), of which a function may have several. join, to be called once, returns the value or
 * rethrows; at is the frame of the function that has forked the call. The destructor waits if join was not called, and
 * drops what g returns or throws. */
template <class G> class forked : detail::fixed {
    detail::forked_call<G> call;
    ::scheduler *s; /* for the destructor */
    bool joined = false;
public:
    forked(frame &at, G g) : call(at, std::move(g)), s(detail::frames::self(at)) {}
    ~forked() { if (!joined) call.drop(s); }
    [[gnu::always_inline]] auto join(frame &at) { joined = true; return call.join_anywhere(at); }
};
} // namespace sched
#endif
#endif
