//! What lies beyond the course's interface. `include/sched_tasks.h` is made from this file: the
//! comments of its functions are the header's, in C's terms.
//!
//! The header's comments are half of this file, which makes it long.

use crate::api::fork::Forked;
use crate::api::group::Group;
use crate::api::range::{Loop, Range, Reduction};
use crate::api::{default_pool, fork, range, sort};
use crate::ffi::{given, running, taskfunc, waited};
use crate::runtime::record::Worker;
use crate::runtime::{arg_blocks, spawn_copy, yielding};
use crate::sys::errno::Errno;
use crate::sys::unwind::{Comparison, LoopBody, Reducer, call_guarded};
use crate::sys::{errno, time};
use crate::task::Scheduler;
use std::ffi::{c_int, c_void};

/// The most bytes that sched_spawn_copy copies.
pub const SCHED_COPY_MAX: usize = 256;

const _: () = assert!(SCHED_COPY_MAX == arg_blocks::MAX_ARG);

/// Adds the task f(copy, s) to the run of s, where copy points to a copy of the size bytes at arg.
/// The copy is made before f is called or the function returns, is aligned for any type, and is
/// valid until f returns, which may change it. Nothing is to be freed. In kind cont the task is
/// called first, as by sched_spawn.
///
/// Returns 0, or -1 with errno, and nothing has changed: EINVAL (f is NULL, size is greater than
/// SCHED_COPY_MAX, arg is NULL and size is not 0, or the run of s has ended), EAGAIN (there is no
/// memory for the copy or for the queue to grow, or the queue holds qlen tasks already under
/// SCHED_OVERFLOW=refuse).
/// Suspension point in kind cont: the task may go on in another thread, see libsched(7).
/// Thread-safe. Cost: from a task of s, that of sched_spawn and some nanoseconds; no allocation,
/// once as many copies have been in use at the same time.
///
/// Example:
///
///     struct range { double *a; size_t lo, hi; } upper = { a, mid, hi };
///     if (sched_spawn_copy(work, &upper, sizeof upper, s) != 0)
///         work(&upper, s);
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn sched_spawn_copy(
    f: taskfunc,
    arg: *const c_void,
    size: usize,
    s: *mut Scheduler,
) -> c_int {
    let Some(f) = f else { return errno::failed(libc::EINVAL) };
    if !can_be_copied(arg, size) {
        return errno::failed(libc::EINVAL);
    }
    // SAFETY: by the caller's promise; `arg` has so many bytes.
    match unsafe { given(s) } {
        // SAFETY: as above.
        Ok(worker) => unsafe { spawn_copy::spawn(f, arg, size, worker) },
        Err(Errno(error)) => errno::failed(error),
    }
}

/// As far as one can see.
pub(super) fn can_be_copied(arg: *const c_void, size: usize) -> bool {
    size <= SCHED_COPY_MAX && (size == 0 || !arg.is_null())
}

/// A forked task: to be declared where it is forked, and left alone until it is joined.
#[repr(C)]
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct sched_task {
    // The library's.
    state: usize,
    closure: *mut c_void,
    f: usize,
    check: usize,
}

const _: () = assert!(size_of::<sched_task>() == size_of::<Forked>());

/// Forks the task f(closure, s): any worker of the run of s may run it from now on, and
/// sched_join(t, s) waits for its end. t is to live until sched_join has returned, which the task
/// that forks must call before it returns. Nothing is allocated. The task is called first in kind
/// cont, as by sched_spawn, and in every kind if no queue has room for it.
///
/// sched_fork cannot fail. If f is NULL or the run of s has ended, the process ends with a message,
/// and so it does after mistakes with t that the library recognises: see libsched(7), DIAGNOSTICS.
/// If s is NULL and the default pool cannot be made, the task is run at once, with s NULL. A t that
/// is NULL is undefined; the debug library finds it.
/// Suspension point: the task may go on in another thread, see libsched(7).
/// Thread-safe, for different t. Cost: from a task of s that of sched_spawn.
///
/// Example:
///
///     static void fib(void *p, struct scheduler *s) {
///         long *n = p;
///         if (*n < 2)
///             return;
///         long a = *n - 1, b = *n - 2;
///         sched_task t;
///         sched_fork(&t, fib, &a, s);
///         fib(&b, s);
///         sched_join(&t, s);
///         *n = a + b;
///     }
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".text.hot")]
pub unsafe extern "C" fn sched_fork(
    t: *mut sched_task,
    f: taskfunc,
    closure: *mut c_void,
    s: *mut Scheduler,
) {
    #[cfg(debug_assertions)]
    if t.is_null() {
        fork::misuse("sched_fork", "t is NULL");
    }
    // SAFETY: a descriptor of the caller's, whose fields are atomics for any bytes.
    let forked = unsafe { &*t.cast::<Forked>() };
    if s.is_null() {
        // SAFETY: passed on.
        return unsafe { fork_by_null(forked, f, closure, s) };
    }
    // SAFETY: not null, so given by this library; the rest by the caller's promise.
    unsafe { forked.fork(f, closure, Worker::of(s)) }
}

/// `sched_fork` with `s` NULL, which `s` is.
///
/// # Safety
/// As for that.
#[cold]
#[inline(never)]
unsafe extern "C" fn fork_by_null(
    forked: &Forked,
    f: taskfunc,
    closure: *mut c_void,
    s: *mut Scheduler,
) {
    let Some(function) = f else { fork::misuse("sched_fork", "f is NULL") };
    // SAFETY: passed on.
    unsafe {
        match given(s) {
            Ok(worker) => forked.fork(f, closure, worker),
            Err(_) => forked.run_outside(function, closure),
        }
    }
}

/// Waits until the task forked on t has ended: what it wrote is then seen. If nobody has begun it,
/// it is called now. Otherwise the caller is suspended with its stack, and its worker goes on with
/// other tasks; with SCHED_JOIN=help, and where there is no memory for another stack, the worker
/// runs them on top of the caller. A thread that is no worker of the run sleeps. Tasks may be
/// joined in any order; the reverse order of forking is the quickest.
///
/// s is that of sched_fork, or the caller's own of the same run. sched_join cannot fail. The
/// process ends with a message if t was joined already, forked on anew before it was joined, or
/// copied, and if a task has returned without joining what it forked, as far as the library
/// recognises that: see libsched(7), DIAGNOSTICS. The debug library always recognises it, and also
/// a t that is NULL or was forked in another run, which is undefined otherwise.
/// Suspension point: the task may go on in another thread, see libsched(7).
/// Cost: that of running a task from the worker's own queue; if another worker runs the task, the
/// time until it has ended.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_join(t: *mut sched_task, s: *mut Scheduler) {
    #[cfg(debug_assertions)]
    if t.is_null() {
        fork::misuse("sched_join", "t is NULL");
    }
    // SAFETY: a descriptor that was forked.
    let forked = unsafe { &*t.cast::<Forked>() };
    if s.is_null() {
        // SAFETY: passed on.
        return unsafe { join_by_null(forked, s) };
    }
    // SAFETY: not null, so given by this library; the rest by the caller's promise.
    unsafe { forked.join(Worker::of(s)) }
}

/// `sched_join` with `s` NULL, which `s` is.
///
/// # Safety
/// As for that.
#[cold]
#[inline(never)]
unsafe extern "C" fn join_by_null(forked: &Forked, s: *mut Scheduler) {
    // SAFETY: passed on.
    unsafe {
        match waited(s) {
            Some(worker) => forked.join(worker),
            None => forked.join_outside(),
        }
    }
}

/// Lets other tasks run: the calling task goes on when its turn has come, behind those that are
/// queued by then for all workers; with SCHED_DEQUE=ring or queue, behind those of its own worker,
/// as in Tokio (C. Lerche, 2019).
///
/// s is any worker's of the run; from a thread that is none, and with s NULL outside of a task,
/// this is sched_yield(2). There are no errors: with no memory for a stack to go on with, nothing
/// happens.
/// Suspension point: the task may go on in another thread, see libsched(7).
/// Thread-safe. Cost: a switch of stacks, or two, and the queue.
///
/// Example: while (!done(job)) sched_task_yield(s);
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_task_yield(s: *mut Scheduler) {
    if s.is_null() {
        return yield_by_null();
    }
    // SAFETY: not null, so given by this library.
    yielding::yield_now(unsafe { Worker::of(s) });
}

#[cold]
#[inline(never)]
fn yield_by_null() {
    match default_pool::current() {
        Some(worker) => yielding::yield_now(worker),
        None => time::give_way(),
    }
}

/// Tasks that are waited for together; SCHED_GROUP_INIT is one without tasks. It must stay where it
/// is until sched_group_wait has returned: it must be neither copied nor gone.
#[repr(C)]
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct sched_group {
    // The library's.
    state: usize,
    waiter: usize,
    cancelled: usize,
}

const _: () = assert!(size_of::<sched_group>() == size_of::<Group>());

/// Adds the task f(closure, s) to the group and to the run of s. In kind cont the task is called
/// first, as by sched_spawn.
///
/// Returns 0, or -1 with errno, and nothing has changed: EINVAL (g or f is NULL, or the run of s
/// has ended), EAGAIN (there is no memory, or the queue holds qlen tasks already under
/// SCHED_OVERFLOW=refuse).
/// Suspension point in kind cont: the task may go on in another thread, see libsched(7).
/// Thread-safe. The group's own tasks, and the task that will wait for it, may add tasks at any
/// time; others only while nobody waits for the group, or while it certainly has a task that has not
/// ended. Cost: that of sched_spawn_copy, and two atomic operations on the group.
///
/// Example:
///
///     sched_group g = SCHED_GROUP_INIT;
///     for (int i = 0; i < n; i++)
///         if (sched_group_spawn(&g, work, &part[i], s) != 0)
///             work(&part[i], s);
///     sched_group_wait(&g, s);
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn sched_group_spawn(
    g: *mut sched_group,
    f: taskfunc,
    closure: *mut c_void,
    s: *mut Scheduler,
) -> c_int {
    // SAFETY: NULL or a group of the caller's.
    let (Some(f), Some(group)) = (f, unsafe { group(g) }) else {
        return errno::failed(libc::EINVAL);
    };
    // SAFETY: by the caller's promise.
    match unsafe { given(s) } {
        // SAFETY: as above.
        Ok(worker) => unsafe { group.spawn(f, closure, worker) },
        Err(Errno(error)) => errno::failed(error),
    }
}

/// Adds the task f(copy, s) to the group and to the run of s, where copy points to a copy of the
/// size bytes at arg, as sched_spawn_copy makes it. In kind cont the task is called first, as by
/// sched_spawn.
///
/// Returns 0, or -1 with errno, and nothing has changed: EINVAL (g or f is NULL, size is greater
/// than SCHED_COPY_MAX, arg is NULL and size is not 0, or the run of s has ended), EAGAIN (there is
/// no memory, or the queue holds qlen tasks already under SCHED_OVERFLOW=refuse).
/// Suspension point in kind cont: the task may go on in another thread, see libsched(7).
/// Thread-safe, as sched_group_spawn is. Cost: that of sched_group_spawn.
///
/// Example:
///
///     sched_group g = SCHED_GROUP_INIT;
///     for (size_t lo = 0; lo < n; lo += 1000) {
///         struct range r = { a, lo, lo + 1000 < n ? lo + 1000 : n };
///         if (sched_group_spawn_copy(&g, work, &r, sizeof r, s) != 0)
///             work(&r, s);
///     }
///     sched_group_wait(&g, s);
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn sched_group_spawn_copy(
    g: *mut sched_group,
    f: taskfunc,
    arg: *const c_void,
    size: usize,
    s: *mut Scheduler,
) -> c_int {
    // SAFETY: NULL or a group of the caller's.
    let (Some(f), Some(group)) = (f, unsafe { group(g) }) else {
        return errno::failed(libc::EINVAL);
    };
    if !can_be_copied(arg, size) {
        return errno::failed(libc::EINVAL);
    }
    // SAFETY: by the caller's promise; `arg` has so many bytes.
    match unsafe { given(s) } {
        // SAFETY: as above.
        Ok(worker) => unsafe { group.spawn_copy(f, arg, size, worker) },
        Err(Errno(error)) => errno::failed(error),
    }
}

/// Waits until no task of the group is left: what they wrote is then seen, and the group may be
/// used anew. The caller is suspended with its stack, and its worker goes on with other tasks; with
/// SCHED_JOIN=help, and where there is no memory for another stack, the worker runs them on top of
/// the caller. A thread that is no worker of the run sleeps. s may be any worker's of the run. A
/// task of the group that waits for the group waits for itself: the process ends with a message.
///
/// Returns 0, or -1 with errno: ECANCELED (sched_group_cancel was called since the last wait),
/// EINVAL (g is NULL, or the run of s has ended and tasks are left: they are a parent process's).
/// Suspension point: the task may go on in another thread, see libsched(7).
/// Thread-safe. Cost: some nanoseconds if there is nothing to wait for.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_group_wait(g: *mut sched_group, s: *mut Scheduler) -> c_int {
    // SAFETY: NULL or a group of the caller's.
    let Some(group) = (unsafe { group(g) }) else { return errno::failed(libc::EINVAL) };
    // SAFETY: by the caller's promise.
    group.wait(unsafe { waited(s) })
}

/// Cancels the group: its tasks that have not begun are not run, and those that run may ask by
/// sched_group_cancelled. The group is no longer cancelled when somebody has waited for it. Groups
/// that its tasks use are groups of their own, and are not cancelled.
/// Thread-safe, also from outside of the run; async-signal-safe. Cost: a store.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_group_cancel(g: *mut sched_group) {
    // SAFETY: NULL or a group of the caller's.
    if let Some(group) = unsafe { group(g) } {
        group.cancel();
    }
}

/// 1 if the group was cancelled since the last wait, else 0.
/// Thread-safe and async-signal-safe. Cost: a load.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_group_cancelled(g: *const sched_group) -> c_int {
    // SAFETY: NULL or a group of the caller's.
    unsafe { group(g) }.is_some_and(Group::is_cancelled).into()
}

/// # Safety
/// NULL, or a group, which is 0 at first and whose fields are atomics.
unsafe fn group<'a>(g: *const sched_group) -> Option<&'a Group> {
    // SAFETY: by the caller's promise.
    unsafe { g.cast::<Group>().as_ref() }
}

/// The body of a loop: to be done for each number from lo to hi - 1.
#[allow(non_camel_case_types, reason = "the name in C")]
pub type sched_range =
    Option<unsafe extern "C" fn(lo: usize, hi: usize, ctx: *mut c_void, s: *mut Scheduler)>;

/// Calls body(l, h, ctx, s) for parts l to h - 1 of the numbers lo to hi - 1, each of which is in
/// exactly one part, and returns when all calls have; what they wrote is then seen. Parts are done
/// by any worker of the run, in any order, several at a time; a call gets the s of its worker. The
/// body may fork, spawn and loop in turn. Like a task, it must return; longjmp out of it is
/// undefined. If lo >= hi nothing is called.
///
/// grain  0: the library chooses, beginning with one number, by how much is left and by whether
///        workers are idle.
///        More: each part has exactly so many numbers; the last one may have fewer.
///
/// If the calling thread is no worker of the run, the workers do all the work while the thread
/// sleeps. Returns 0, or -1 with errno, and nothing was called: EINVAL (body is NULL, lo or hi is
/// greater than PTRDIFF_MAX, as a negative number becomes, or the run of s has ended), EAGAIN (the
/// caller is no worker of the run, and there is no memory to hand the work to one, or the queue
/// holds qlen tasks already under SCHED_OVERFLOW=refuse).
/// Suspension point: the task may go on in another thread, see libsched(7).
/// Thread-safe. Cost: nothing is allocated. While no other worker takes a part, n numbers cost
/// about 2 log2(n) forks and 10 log2(n) calls of body, or n / grain calls with a grain; each part
/// that another worker takes costs a steal.
///
/// Example:
///
///     static void scale(size_t lo, size_t hi, void *ctx, struct scheduler *s) {
///         double *a = ctx;
///         (void)s;
///         for (size_t i = lo; i < hi; i++)
///             a[i] *= 2;
///     }
///     ...
///     if (sched_for(0, n, 0, scale, a, s) != 0)
///         err(1, "sched_for");
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn sched_for(
    lo: usize,
    hi: usize,
    grain: usize,
    body: sched_range,
    ctx: *mut c_void,
    s: *mut Scheduler,
) -> c_int {
    let Some(body) = body else { return errno::failed(libc::EINVAL) };
    if is_negative(lo) || is_negative(hi) {
        return errno::failed(libc::EINVAL);
    }
    // SAFETY: by the caller's promise.
    let worker = match unsafe { running(s) } {
        Ok(worker) => worker,
        Err(Errno(error)) => return errno::failed(error),
    };
    let Some(range) = Range::new(lo, hi, grain.max(1)) else { return 0 };
    let most = if grain == 0 { usize::MAX } else { 1 };
    // SAFETY: by the caller's promise.
    call_guarded::<LoopBody, _>(|| unsafe {
        Loop { range, max_chunk: most, body, ctx }.run(worker)
    })
}

/// Reduces the numbers lo to hi - 1 to one value of size bytes. The numbers are cut into parts of
/// grain numbers; the last part may have fewer. For each part, body(l, h, acc, ctx, s) adds the
/// numbers l to h - 1 to the value at acc, which begins as a copy of the identity. combine(into,
/// from, ctx) adds the value at from, which stands for one or several parts, to the value at into,
/// which stands for the parts just before those. At the end the value of all parts is copied to
/// result; if lo >= hi, it is the identity.
///
/// combine must be associative; it need not be commutative. Which parts there are, and which values
/// are combined, depends on lo, hi, grain and size alone, not on the number of workers or on their
/// speed. So the result is the same each time, even if combine is only nearly associative, as the
/// addition of floating-point numbers is, provided that the caller has the floating-point modes of
/// the run.
///
/// grain  0: chosen from hi - lo and size, so that there are at most 1024 parts.
///
/// The values are aligned for any type. Calls are made by any worker of the run, several at a time;
/// a call of body gets the s of its worker. Both functions must return; longjmp out of them is
/// undefined.
///
/// If the calling thread is no worker of the run, the workers do all the work while the thread
/// sleeps. Returns 0, or -1 with errno, result unchanged: EINVAL (body, combine, identity or result
/// is NULL, size is 0, lo or hi is greater than PTRDIFF_MAX, as a negative number becomes, or the
/// run of s has ended), ENOMEM (size is greater than 128, and there is no memory for a value; some
/// parts may have been done), EAGAIN (the caller is no worker of the run, and there is no memory to
/// hand the work to one, or the queue holds qlen tasks already under SCHED_OVERFLOW=refuse).
/// Suspension point: the task may go on in another thread, see libsched(7).
/// Thread-safe. Cost: for each part a fork, a copy of the identity and a call of each function; an
/// allocation, if size is more than 128.
///
/// Example:
///
///     static void add(size_t lo, size_t hi, void *acc, void *ctx, struct scheduler *s) {
///         const double *a = ctx;
///         (void)s;
///         for (size_t i = lo; i < hi; i++)
///             *(double *)acc += a[i];
///     }
///     static void plus(void *into, const void *from, void *ctx) {
///         (void)ctx;
///         *(double *)into += *(const double *)from;
///     }
///     ...
///     double zero = 0, sum;
///     if (sched_reduce(0, n, 0, sizeof sum, &zero, add, plus, a, &sum, s) != 0)
///         err(1, "sched_reduce");
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn sched_reduce(
    lo: usize,
    hi: usize,
    grain: usize,
    size: usize,
    identity: *const c_void,
    body: Option<
        unsafe extern "C" fn(
            lo: usize,
            hi: usize,
            acc: *mut c_void,
            ctx: *mut c_void,
            s: *mut Scheduler,
        ),
    >,
    combine: Option<unsafe extern "C" fn(into: *mut c_void, from: *const c_void, ctx: *mut c_void)>,
    ctx: *mut c_void,
    result: *mut c_void,
    s: *mut Scheduler,
) -> c_int {
    let (Some(body), Some(combine)) = (body, combine) else { return errno::failed(libc::EINVAL) };
    if size == 0 || identity.is_null() || result.is_null() || is_negative(lo) || is_negative(hi) {
        return errno::failed(libc::EINVAL);
    }
    // SAFETY: by the caller's promise.
    let worker = match unsafe { running(s) } {
        Ok(worker) => worker,
        Err(Errno(error)) => return errno::failed(error),
    };
    let grain = if grain > 0 { grain } else { range::default_grain(hi.saturating_sub(lo), size) };
    let reduction = Reduction { size, identity, body, combine, ctx };
    // SAFETY: by the caller's promise.
    call_guarded::<Reducer, _>(|| unsafe {
        reduction.run(Range::new(lo, hi, grain), result, worker)
    })
}

/// Sorts the n elements of size bytes at base in the order that cmp defines, as qsort(3) does, on
/// all workers of the run. The sort is stable: elements that compare equal keep their order. It
/// needs memory for n more elements, and O(n log n) time in every case; n - 1 comparisons if the
/// elements are in order, or strictly in the reverse order.
///
/// cmp is called by several threads at once, with pointers to elements or to copies of them that
/// are aligned like the elements. It must return; longjmp out of it is undefined. If its answers
/// contradict each other, the elements end in some order.
///
/// If the calling thread is no worker of the run, the workers do all the work while the thread
/// sleeps. Returns 0, or -1 with errno, the array unchanged: EINVAL (cmp is NULL, size is 0, base
/// is NULL and n is not 0, or the run of s has ended), ENOMEM (there is no memory for the copies),
/// EAGAIN (the caller is no worker of the run, and there is no memory to hand the work to one, or
/// the queue holds qlen tasks already under SCHED_OVERFLOW=refuse).
/// Suspension point: the task may go on in another thread, see libsched(7).
/// Thread-safe, for different arrays. Cost: with one worker that of qsort(3) or less.
///
/// Example:
///
///     static int by_value(const void *a, const void *b) {
///         int x = *(const int *)a, y = *(const int *)b;
///         return (x > y) - (x < y);
///     }
///     ...
///     if (sched_sort(a, n, sizeof *a, by_value, s) != 0)
///         err(1, "sched_sort");
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn sched_sort(
    base: *mut c_void,
    n: usize,
    size: usize,
    cmp: Option<unsafe extern "C" fn(a: *const c_void, b: *const c_void) -> c_int>,
    s: *mut Scheduler,
) -> c_int {
    let Some(cmp) = cmp else { return errno::failed(libc::EINVAL) };
    if size == 0 || (base.is_null() && n > 0) {
        return errno::failed(libc::EINVAL);
    }
    // SAFETY: by the caller's promise.
    let worker = match unsafe { running(s) } {
        Ok(worker) => worker,
        Err(Errno(error)) => return errno::failed(error),
    };
    // SAFETY: by the caller's promise.
    call_guarded::<Comparison, _>(|| unsafe { sort::sort(base, n, size, cmp, worker) })
}

/// The number was negative before C made it a size_t: a loop that ends at -5 would not come
/// there.
fn is_negative(n: usize) -> bool {
    n > isize::MAX as usize
}
