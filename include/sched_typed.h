/* sched_typed.h: forked tasks with arguments and results, called like functions.
 *
 *     SCHED_TASK(long, fib, long, n)
 *     {
 *         if (n < 2)
 *             return n;
 *         fib_task a;
 *         SCHED_FORK(fib, &a, n - 1);
 *         long b = SCHED_CALL(fib, n - 2);
 *         return SCHED_JOIN(fib, &a) + b;
 *     }
 *
 *     long value = fib(40, NULL);
 *
 * SCHED_TASK(R, f, T1, a1, ..., T8, a8) begins the definition of a task: a static function of 1 to
 * 8 parameters, of type T1 and so on, that returns an R. SCHED_VOID_TASK(f, T1, a1, ...) begins one
 * that returns nothing. A type must stand before the name that it declares; give other types a name
 * by typedef. Either macro defines
 *
 *   f_task              the type of a descriptor of a forked call
 *   R f(a1, ..., s)     an ordinary function, to be called from anywhere: it runs the task in the
 *                       run of s and returns its result; sched_tasks.h says what s NULL means
 *
 * The parameters are variables of the call. f is known only in this file. Give a task without
 * parameters one that it does not use.
 *
 * In the body of a task, and only there:
 *
 *   SCHED_FORK(f, &t, a1, ...)   forks a call of f: any worker may run it from now on
 *   SCHED_JOIN(f, &t)            waits until the call has ended, or runs it here if no worker has
 *                                begun it; its value is the result
 *   SCHED_CALL(f, a1, ...)       calls f here, at less cost than f(a1, ..., s)
 *   SCHED_SELF                   the s of this task, for the functions of sched_tasks.h
 *
 * SCHED_FORK and SCHED_JOIN follow the rules of sched_fork and sched_join, and a task may use all
 * four. The task that forks a call must join it, and leaves the descriptor alone until then. The
 * descriptor must not be thread-local, since the task may be resumed on another thread. Joins in
 * the reverse order of the forks cost least. SCHED_JOIN is a suspension point. The fork copies the
 * arguments, so a parameter's type must not be const at its top level.
 *
 * SCHED_TASK_DECL(R, f, T1, a1, ...) and SCHED_VOID_TASK_DECL(f, T1, a1, ...), without a semicolon,
 * declare a task that SCHED_TASK_IMPL or SCHED_VOID_TASK_IMPL, with the same arguments, defines
 * later in the same file. Tasks that call each other need this. In C++ the types of results and
 * arguments need a default constructor and a copy assignment. A C++ exception that leaves a task
 * ends the process, even if the task was called by SCHED_CALL. The macros define further names that
 * begin with f_ and end in an underscore.
 *
 * A program that includes this header needs a library with the same layout of queues, as
 * sched_inline.h says. With the usual kind and deque, fork, join and call are compiled into the
 * program; otherwise they call the library. A frame passes its worker and the end of the worker's
 * queue to the next frame, in registers. Each fork compares both with the calling thread and the
 * queue, since the code before the fork may have waited and been resumed on another thread. A join
 * compares only the worker, and loads the end: to keep the end across the call before the join, a
 * frame would have to store and reload it. A fork does not load the end, since the load would wait
 * for the store of the operation before (fib: 4.4 ns instead of 3.6).
 *
 * (Wool has tasks by value: K.-F. Faxen, "Efficient work stealing for fine grained parallelism",
 * 2010. Lace also has them.) */

#ifndef LIBSCHED_SCHED_TYPED_H
#define LIBSCHED_SCHED_TYPED_H

#ifdef __GNUC__
#pragma GCC system_header /* as in sched_inline.h */
#endif
#include "sched_inline.h"

/* ThreadSanitizer sees the orderings of the library's functions, but not the orderings of this
 * header's loads and stores. */
#if defined __SANITIZE_THREAD__
#define SCHED_TYPED_INLINE_ 0
#elif defined __has_feature
#if __has_feature(thread_sanitizer)
#define SCHED_TYPED_INLINE_ 0
#endif
#endif
#ifndef SCHED_TYPED_INLINE_
#ifdef SCHED_LAYOUT_PLACE
#define SCHED_TYPED_INLINE_ 1
#else
#define SCHED_TYPED_INLINE_ 0
#endif
#endif

#ifdef __GNUC__
#define SCHED_TYPED_FN_ static __inline__ __attribute__((always_inline, unused))
#define SCHED_TYPED_COLD_ static __attribute__((noinline, cold, unused))
#define SCHED_TYPED_STATIC_ static __attribute__((unused))
#define SCHED_TYPED_UNUSED_ __attribute__((unused))
#define SCHED_TYPED_LIKELY_(condition) __builtin_expect(!!(condition), 1)
#else
#define SCHED_TYPED_FN_ static inline
#define SCHED_TYPED_COLD_ static
#define SCHED_TYPED_STATIC_ static
#define SCHED_TYPED_UNUSED_
#define SCHED_TYPED_LIKELY_(condition) (condition)
#endif

/* The place where a frame believes that it runs: a worker of its run, and the end of that worker's
 * queue (0: unknown, or a queue of another layout). Both may be outdated. s is not NULL: if there
 * is no worker, since no pool can be made, it is a dummy worker that nobody owns. */
struct sched_at_ {
    struct scheduler *s;
    size_t end;
};

SCHED_TYPED_FN_ struct scheduler *sched_typed_none_(void)
{
    static size_t none[2]; /* the words that sched_owns_ reads */
    return (struct scheduler *)none;
}

/* The s for the library's functions. */
SCHED_TYPED_FN_ struct scheduler *sched_typed_self_(struct scheduler *s)
{
    return s == sched_typed_none_() ? NULL : s;
}

#if SCHED_TYPED_INLINE_

/* The end of the queue that the calling thread owns as worker s; 0 if it owns none, or s is
 * NULL. */
SCHED_TYPED_FN_ size_t sched_typed_end_(struct scheduler *s)
{
    return sched_is_own_(s) ? SCHED_GET_(SCHED_GET_(s, SCHED_LAYOUT_DEQUE), SCHED_LAYOUT_BOT) : 0;
}

/* True if the calling thread owns worker s, and end is the end of its queue. (The loads need no
 * order: only the owner writes the two words.) */
SCHED_TYPED_FN_ int sched_typed_is_at_(struct scheduler *s, size_t end)
{
    return sched_owns_(s)
           && SCHED_TYPED_LIKELY_(
               SCHED_WORD_(SCHED_WORD_(s, SCHED_LAYOUT_DEQUE), SCHED_LAYOUT_BOT) == end);
}

/* Returns t. Compilers would keep the address in a register from the fork to the join, which costs
 * each frame a store and a load. The assembly hides from them that the result is t. (t must not be
 * thread-local: lea does not compute such addresses.) */
SCHED_TYPED_FN_ struct sched_task *sched_typed_address_(struct sched_task *t)
{
#ifdef __x86_64__
    __asm__("{lea %1, %0|lea %0, %1}" : "=r"(t) : "m"(t->state));
#endif
    return t;
}

#else

SCHED_TYPED_FN_ size_t sched_typed_end_(struct scheduler *s)
{
    (void)s;
    return 0;
}

#endif

SCHED_TYPED_COLD_ void sched_typed_find_(struct sched_at_ *at)
{
    if (sched_typed_self_(at->s))
        at->s = sched_inline_current(at->s);
    at->end = sched_typed_end_(at->s);
}

SCHED_TYPED_FN_ struct sched_at_ sched_typed_at_(struct scheduler *s)
{
    struct sched_at_ at;
    at.s = s ? s : sched_typed_none_();
    at.end = sched_typed_end_(s);
    return at;
}

/* Fork and join outside of the usual case. If begun, the queue has already been changed. */
SCHED_TYPED_COLD_ struct sched_at_ sched_typed_fork_rest_(struct sched_task *t, taskfunc f,
                                                          struct scheduler *s, int begun)
{
    struct sched_at_ at;
    at.s = s;
#if SCHED_TYPED_INLINE_
    if (begun)
        sched_inline_fork_rest(t, f, t, s);
    else
#endif
        (sched_fork)(t, f, t, sched_typed_self_(s));
    (void)begun;
    sched_typed_find_(&at);
    return at;
}

SCHED_TYPED_COLD_ struct sched_at_ sched_typed_join_rest_(struct sched_task *t,
                                                          struct scheduler *s, int begun)
{
    struct sched_at_ at;
    at.s = s;
#if SCHED_TYPED_INLINE_
    if (begun)
        sched_inline_join_rest(t, s);
    else
#endif
        (sched_join)(t, sched_typed_self_(s));
    (void)begun;
    sched_typed_find_(&at);
    return at;
}

/* Forks a call whose descriptor contains t: f(t, s). *s and *end are the members of sched_at_. They
 * are two variables and not one struct, because GCC can split a function and inline its first part
 * into the caller only if no parameter is a struct. */
SCHED_TYPED_FN_ void sched_typed_fork_(struct scheduler **s, size_t *end, struct sched_task *t,
                                       taskfunc f)
{
    struct sched_at_ at;
    int begun = 0;
#if SCHED_TYPED_INLINE_
    if (sched_typed_is_at_(*s, *end)) {
        size_t deque = SCHED_WORD_(*s, SCHED_LAYOUT_DEQUE), bot = *end;
        struct sched_task *closure;
        __atomic_store_n(&t->state, (size_t)f, __ATOMIC_RELAXED);
        closure = sched_typed_address_(t);
        __atomic_store_n(&t->closure, (void *)closure, __ATOMIC_RELAXED);
        *end = bot + SCHED_LAYOUT_PLACE;
        if (sched_put_at_(deque, bot, (size_t)sched_layout_1, closure))
            return;
        begun = 1;
    }
#endif
    at = sched_typed_fork_rest_(t, f, *s, begun);
    *s = at.s;
    *end = at.end;
}

/* Takes a forked call back, or waits for its end. Returns 1 if taken: then the caller calls it. */
SCHED_TYPED_FN_ int sched_typed_join_(struct scheduler **s, size_t *end, struct sched_task *t,
                                      taskfunc f)
{
    struct sched_at_ at;
    int begun = 0;
    (void)f;
#if SCHED_TYPED_INLINE_
    if (sched_owns_(*s)) {
        size_t deque = SCHED_WORD_(*s, SCHED_LAYOUT_DEQUE);
        size_t last = SCHED_WORD_(deque, SCHED_LAYOUT_BOT) - SCHED_LAYOUT_PLACE;
        /* No other task has this closure: the descriptor is not the first member of a program's
         * object, so no program uses its address. A state that is not the fork's is a mistake,
         * which the library reports. */
        if (sched_take_at_(deque, last, sched_typed_address_(t))
            && SCHED_TYPED_LIKELY_(SCHED_WORD_(&t->state, 0) == (size_t)f)) {
            *end = last;
            SCHED_WORD_(*s, SCHED_LAYOUT_TASKS)++;
            __atomic_store_n(&t->state, (size_t)sched_inline_joined, __ATOMIC_RELAXED);
            return 1;
        }
        begun = 1;
    }
#endif
    at = sched_typed_join_rest_(t, *s, begun);
    *s = at.s;
    *end = at.end;
    return 0;
}

/* Used by an ordinary call: true if the caller runs in the run of s, so that the body may run right
 * here. Otherwise the call is forked and joined, so that a worker runs it. */
SCHED_TYPED_FN_ int sched_typed_is_task_(struct scheduler *s)
{
    return s && (sched_typed_end_(s) || sched_worker_index(s) >= 0);
}

/* An exception that leaves a task ends the process. */
#ifndef __cplusplus
#define SCHED_TYPED_NOEXCEPT_
#elif __cplusplus >= 201103L
#define SCHED_TYPED_NOEXCEPT_ noexcept
#else
#define SCHED_TYPED_NOEXCEPT_ throw()
#endif

/* Lists made of the pairs (type, name) of a task's parameters. */
#define SCHED_TYPED_PICK_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, pick, ...) pick
#define SCHED_TYPED_PAIRS_(...)                                                                    \
    SCHED_TYPED_PICK_(__VA_ARGS__, SCHED_TYPED_8_, SCHED_TYPED_ODD_, SCHED_TYPED_7_,               \
                      SCHED_TYPED_ODD_, SCHED_TYPED_6_, SCHED_TYPED_ODD_, SCHED_TYPED_5_,          \
                      SCHED_TYPED_ODD_, SCHED_TYPED_4_, SCHED_TYPED_ODD_, SCHED_TYPED_3_,          \
                      SCHED_TYPED_ODD_, SCHED_TYPED_2_, SCHED_TYPED_ODD_, SCHED_TYPED_1_,          \
                      SCHED_TYPED_ODD_, )
/* The name appears in the compiler's message. */
#define SCHED_TYPED_ODD_(...) sched_task_has_1_to_8_pairs_of_a_type_and_a_name
#define SCHED_TYPED_1_(m, T, a) m(T, a)
#define SCHED_TYPED_2_(m, T, a, ...) m(T, a) SCHED_TYPED_1_(m, __VA_ARGS__)
#define SCHED_TYPED_3_(m, T, a, ...) m(T, a) SCHED_TYPED_2_(m, __VA_ARGS__)
#define SCHED_TYPED_4_(m, T, a, ...) m(T, a) SCHED_TYPED_3_(m, __VA_ARGS__)
#define SCHED_TYPED_5_(m, T, a, ...) m(T, a) SCHED_TYPED_4_(m, __VA_ARGS__)
#define SCHED_TYPED_6_(m, T, a, ...) m(T, a) SCHED_TYPED_5_(m, __VA_ARGS__)
#define SCHED_TYPED_7_(m, T, a, ...) m(T, a) SCHED_TYPED_6_(m, __VA_ARGS__)
#define SCHED_TYPED_8_(m, T, a, ...) m(T, a) SCHED_TYPED_7_(m, __VA_ARGS__)
#define SCHED_TYPED_EACH_(m, ...) SCHED_TYPED_PAIRS_(__VA_ARGS__)(m, __VA_ARGS__)

#define SCHED_TYPED_FIELD_(T, a) T a;
#define SCHED_TYPED_PARAMETER_(T, a) , T a
#define SCHED_TYPED_FIRST_(T, a) T a,
#define SCHED_TYPED_PASS_(T, a) , a
#define SCHED_TYPED_KEEP_(T, a) sched_t_->a = a;
#define SCHED_TYPED_KEPT_(T, a) , sched_t_->a

#define SCHED_TYPED_DECL_(R, FIELD, SET, RETURN, GET, f, ...)                                      \
    typedef struct {                                                                               \
        SCHED_TYPED_EACH_(SCHED_TYPED_FIELD_, __VA_ARGS__)                                         \
        struct sched_task sched_task_; /* not the first: see sched_typed_join_ */                  \
        FIELD                                                                                      \
    } f##_task;                                                                                    \
    SCHED_TYPED_STATIC_ R f##_run_(struct scheduler *, size_t SCHED_TYPED_EACH_(                   \
        SCHED_TYPED_PARAMETER_, __VA_ARGS__)) SCHED_TYPED_NOEXCEPT_;                               \
    SCHED_TYPED_STATIC_ void f##_forked_(void *sched_p_, struct scheduler *sched_s_)               \
    {                                                                                              \
        f##_task *sched_t_ =                                                                       \
            (f##_task *)((char *)sched_p_ - __builtin_offsetof(f##_task, sched_task_));            \
        struct sched_at_ sched_at_ = sched_typed_at_(sched_s_);                                    \
        SET f##_run_(sched_at_.s, sched_at_.end SCHED_TYPED_EACH_(SCHED_TYPED_KEPT_, __VA_ARGS__)); \
    }                                                                                              \
    SCHED_TYPED_FN_ void f##_fork_(struct scheduler **sched_s_, size_t *sched_end_,                \
                                   f##_task *sched_t_                                              \
                                       SCHED_TYPED_EACH_(SCHED_TYPED_PARAMETER_, __VA_ARGS__))     \
    {                                                                                              \
        SCHED_TYPED_EACH_(SCHED_TYPED_KEEP_, __VA_ARGS__)                                          \
        sched_typed_fork_(sched_s_, sched_end_, &sched_t_->sched_task_, f##_forked_);              \
    }                                                                                              \
    SCHED_TYPED_FN_ R f##_join_(struct scheduler **sched_s_, size_t *sched_end_,                   \
                                f##_task *sched_t_)                                                \
    {                                                                                              \
        if (SCHED_TYPED_LIKELY_(                                                                   \
                sched_typed_join_(sched_s_, sched_end_, &sched_t_->sched_task_, f##_forked_)))     \
            RETURN f##_run_(                                                                       \
                *sched_s_, *sched_end_ SCHED_TYPED_EACH_(SCHED_TYPED_KEPT_, __VA_ARGS__));         \
        else                                                                                       \
            GET;                                                                                   \
    }                                                                                              \
    SCHED_TYPED_STATIC_ R f(SCHED_TYPED_EACH_(SCHED_TYPED_FIRST_, __VA_ARGS__)                     \
                                struct scheduler *sched_s_)                                        \
    {                                                                                              \
        if (sched_typed_is_task_(sched_s_)) {                                                      \
            struct sched_at_ sched_at_ = sched_typed_at_(sched_s_);                                \
            RETURN f##_run_(                                                                       \
                sched_at_.s, sched_at_.end SCHED_TYPED_EACH_(SCHED_TYPED_PASS_, __VA_ARGS__));     \
        } else {                                                                                   \
            f##_task sched_call_, *sched_t_ = &sched_call_;                                        \
            SCHED_TYPED_EACH_(SCHED_TYPED_KEEP_, __VA_ARGS__)                                      \
            (sched_fork)(&sched_t_->sched_task_, f##_forked_, &sched_t_->sched_task_, sched_s_);   \
            (sched_join)(&sched_t_->sched_task_, sched_s_);                                        \
            GET;                                                                                   \
        }                                                                                          \
    }

/* The first two parameters are the members of sched_at_, which the macros in the body use and
 * change. */
#define SCHED_TYPED_IMPL_(R, f, ...)                                                               \
    static R f##_run_(struct scheduler *sched_only_in_a_task_ SCHED_TYPED_UNUSED_,                 \
                      size_t sched_end_ SCHED_TYPED_UNUSED_ SCHED_TYPED_EACH_(                     \
                          SCHED_TYPED_PARAMETER_, __VA_ARGS__)) SCHED_TYPED_NOEXCEPT_

#define SCHED_TASK_DECL(R, f, ...)                                                                 \
    SCHED_TYPED_DECL_(R, R sched_value_;, sched_t_->sched_value_ =, return,                        \
                      return sched_t_->sched_value_, f, __VA_ARGS__)
#define SCHED_TASK_IMPL(R, f, ...) SCHED_TYPED_IMPL_(R, f, __VA_ARGS__)
#define SCHED_TASK(R, f, ...)                                                                      \
    SCHED_TASK_DECL(R, f, __VA_ARGS__)                                                             \
    SCHED_TASK_IMPL(R, f, __VA_ARGS__)

#define SCHED_TYPED_NONE_ /* C89 and C++98 have no empty arguments */
#define SCHED_VOID_TASK_DECL(f, ...)                                                               \
    SCHED_TYPED_DECL_(void, SCHED_TYPED_NONE_, SCHED_TYPED_NONE_, SCHED_TYPED_NONE_, return, f,    \
                      __VA_ARGS__)
#define SCHED_VOID_TASK_IMPL(f, ...) SCHED_TYPED_IMPL_(void, f, __VA_ARGS__)
#define SCHED_VOID_TASK(f, ...)                                                                    \
    SCHED_VOID_TASK_DECL(f, __VA_ARGS__)                                                           \
    SCHED_VOID_TASK_IMPL(f, __VA_ARGS__)

#define SCHED_FORK(f, ...) f##_fork_(&sched_only_in_a_task_, &sched_end_, __VA_ARGS__)
#define SCHED_JOIN(f, t) f##_join_(&sched_only_in_a_task_, &sched_end_, t)
#define SCHED_CALL(f, ...) f##_run_(sched_only_in_a_task_, sched_end_, __VA_ARGS__)
#define SCHED_SELF sched_typed_self_(sched_only_in_a_task_)

#endif
