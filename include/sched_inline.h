/* sched_inline.h: sched_tasks.h with sched_spawn, sched_fork and sched_join compiled into the
 * program. Include this header instead of sched_tasks.h. The calls mean the same and may be mixed
 * with the library's. The library handles all but the usual case.
 *
 * A program that includes this knows where the library keeps a worker's queue. It therefore needs
 * the symbol sched_layout_1, and does not start with a library that keeps it elsewhere. On
 * processors other than x86-64 and aarch64, and for compilers other than gcc and clang, this is
 * sched_tasks.h.
 *
 * The three functions are macros with arguments: (name)(...) and &name are the
 * library's functions. */

#ifndef LIBSCHED_SCHED_INLINE_H
#define LIBSCHED_SCHED_INLINE_H

#ifdef __GNUC__
#pragma GCC system_header /* no warnings of casts, and of variadic macros in C89 and C++98 */
#endif
#include "sched_tasks.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For sched_typed.h only. s is the s of a task. Returns the worker that the calling task runs on if
 * this worker is in the run of s, otherwise s. */
struct scheduler *sched_inline_current(struct scheduler *s);

#ifdef __cplusplus
}
#endif

#if defined __GNUC__ && defined __LP64__ && (defined __x86_64__ || defined __aarch64__)

/* Layout 1: bytes from the start of a worker, which is what s points to, ... */
#define SCHED_LAYOUT_QUICK 0
#define SCHED_LAYOUT_DEQUE 8
#define SCHED_LAYOUT_TASKS 128
/* ... of its deque, ... */
#define SCHED_LAYOUT_BOT 0
#define SCHED_LAYOUT_SPLIT 128
#define SCHED_LAYOUT_LIM 136
/* ... and of a place in the deque. */
#define SCHED_LAYOUT_F 0
#define SCHED_LAYOUT_CLOSURE 8
#define SCHED_LAYOUT_PLACE 16

#define SCHED_WORD_(base, offset) (*(size_t *)((char *)(base) + (offset)))
#define SCHED_GET_(base, offset) __atomic_load_n(&SCHED_WORD_(base, offset), __ATOMIC_RELAXED)
#define SCHED_SET_(base, offset, value)                                                            \
    __atomic_store_n(&SCHED_WORD_(base, offset), (size_t)(value), __ATOMIC_RELAXED)

#ifdef __cplusplus
extern "C" {
#endif

/* For this header only: the function queued for a forked task, and the slow parts of the three
 * functions. */
void sched_layout_1(void *t, struct scheduler *s);
int sched_inline_spawn_rest(taskfunc f, void *closure, struct scheduler *s);
void sched_inline_fork_rest(struct sched_task *t, taskfunc f, void *closure, struct scheduler *s);
void sched_inline_join_rest(struct sched_task *t, struct scheduler *s);
void sched_inline_join_threw(void) __attribute__((noreturn, cold));
/* The function that a join leaves in the descriptor. */
void sched_inline_joined(void *closure, struct scheduler *s);

/* Makes each program that includes this need the symbol. */
__attribute__((used)) static void (*const sched_layout_needed_)(void *,
                                                                struct scheduler *) = sched_layout_1;

/* True if the calling thread owns the worker, which is not NULL, and the worker has a deque of this
 * layout. (Volatile: a task may be resumed on another thread, so the answer must not be reused.) */
static __inline__ int sched_owns_(struct scheduler *s)
{
    size_t self;
#ifdef __x86_64__
    __asm__ volatile("{mov %%fs:0, %0|mov %0, QWORD PTR fs:0}" : "=r"(self));
#else
    __asm__ volatile("mrs %0, tpidr_el0" : "=r"(self));
#endif
    return __builtin_expect(SCHED_GET_(s, SCHED_LAYOUT_QUICK) == self, 1);
}

static __inline__ int sched_is_own_(struct scheduler *s)
{
    return __builtin_expect(s != NULL, 1) && sched_owns_(s);
}

/* Adds a task at the bottom of the deque, which is bot. Returns 0 if the room ends there, or if
 * another worker has asked for tasks: then the library does the rest. The release pairs with the
 * raider's load of the bottom. The compiler fence, here and below, is the light half of an
 * asymmetric fence; a raider or a sleeper executes the heavy half, membarrier. */
static __inline__ int sched_put_at_(size_t deque, size_t bot, size_t f, void *closure)
{
    SCHED_SET_(bot, SCHED_LAYOUT_F, f);
    SCHED_SET_(bot, SCHED_LAYOUT_CLOSURE, closure);
    __atomic_store_n(&SCHED_WORD_(deque, SCHED_LAYOUT_BOT), bot + SCHED_LAYOUT_PLACE,
                     __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return __builtin_expect(bot < SCHED_GET_(deque, SCHED_LAYOUT_LIM), 1);
}

static __inline__ int sched_put_(struct scheduler *s, size_t f, void *closure)
{
    size_t deque = SCHED_GET_(s, SCHED_LAYOUT_DEQUE);
    return sched_put_at_(deque, SCHED_GET_(deque, SCHED_LAYOUT_BOT), f, closure);
}

/* Takes the task at the bottom, whose place is last, if its closure is t. Returns 0 if it is not,
 * or if a thief may be taking the task. */
static __inline__ int sched_take_at_(size_t deque, size_t last, struct sched_task *t)
{
    __atomic_store_n(&SCHED_WORD_(deque, SCHED_LAYOUT_BOT), last, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return __builtin_expect(last >= SCHED_GET_(deque, SCHED_LAYOUT_SPLIT)
                                && SCHED_GET_(last, SCHED_LAYOUT_CLOSURE) == (size_t)t,
                            1);
}

static __inline__ int sched_spawn_inline(taskfunc f, void *closure, struct scheduler *s)
{
    if (!sched_is_own_(s) || !f)
        return sched_spawn(f, closure, s);
    return sched_put_(s, (size_t)f, closure) ? 0 : sched_inline_spawn_rest(f, closure, s);
}

static __inline__ void sched_fork_inline(struct sched_task *t, taskfunc f, void *closure,
                                     struct scheduler *s)
{
    if (!sched_is_own_(s) || !f) {
        sched_fork(t, f, closure, s);
        return;
    }
    __atomic_store_n(&t->state, (size_t)f, __ATOMIC_RELAXED);
    __atomic_store_n(&t->closure, closure, __ATOMIC_RELAXED);
    if (!sched_put_(s, (size_t)sched_layout_1, t))
        sched_inline_fork_rest(t, f, closure, s);
}

static __inline__ void sched_join_inline(struct sched_task *t, struct scheduler *s)
{
    size_t deque, last;
    taskfunc f;
    if (!sched_is_own_(s)) {
        sched_join(t, s);
        return;
    }
    deque = SCHED_GET_(s, SCHED_LAYOUT_DEQUE);
    last = SCHED_GET_(deque, SCHED_LAYOUT_BOT) - SCHED_LAYOUT_PLACE;
    if (__builtin_expect(!sched_take_at_(deque, last, t)
                             || SCHED_GET_(last, SCHED_LAYOUT_F) != (size_t)sched_layout_1,
                         0)) {
        sched_inline_join_rest(t, s);
        return;
    }
    SCHED_SET_(s, SCHED_LAYOUT_TASKS, SCHED_GET_(s, SCHED_LAYOUT_TASKS) + 1);
    f = (taskfunc)__atomic_load_n(&t->state, __ATOMIC_RELAXED);
    __atomic_store_n(&t->state, (size_t)sched_inline_joined, __ATOMIC_RELAXED);
#if defined __cplusplus && defined __EXCEPTIONS
    try { /* costs no instruction */
        f(__atomic_load_n(&t->closure, __ATOMIC_RELAXED), s);
    } catch (...) {
        sched_inline_join_threw();
    }
#else
    f(__atomic_load_n(&t->closure, __ATOMIC_RELAXED), s);
#endif
}

#ifdef __cplusplus
}
#endif

/* Variadic, since commas in braces or in <> divide a macro's arguments. */
#define sched_spawn(...) sched_spawn_inline(__VA_ARGS__)
#define sched_fork(...) sched_fork_inline(__VA_ARGS__)
#define sched_join(...) sched_join_inline(__VA_ARGS__)

#endif

#endif
