//! Tasks beyond the course's interface: with a copied argument, forked and joined, yielding.
//! `include/sched_tasks.h` is made from this file and others: the comments of the functions are the
//! header's, in C's terms.

use crate::api::fork::Forked;
use crate::api::{default_pool, fork};
use crate::ffi::{given, taskfunc, waited};
use crate::runtime::record::Worker;
use crate::runtime::{arg_blocks, spawn_copy, yielding};
use crate::sys::errno::Errno;
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
