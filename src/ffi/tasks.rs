//! Tasks beyond the course's interface: with a copied argument, forked and joined, yielding.
//! `include/sched_tasks.h` is made from this file and others; their comments become the header's.

use crate::api::fork;
use crate::api::fork::Forked;
use crate::ffi::{INVALID, given, report, taskfunc, waited};
use crate::runtime::identity;
use crate::runtime::record::Worker;
use crate::runtime::{arg_blocks, spawn_copy, yielding};
use crate::sys::{detector, probe, time};
use crate::task::Scheduler;
use std::ffi::{c_int, c_void};

/// The most bytes that sched_spawn_copy copies.
pub const SCHED_COPY_MAX: usize = 256;

const _: () = assert!(SCHED_COPY_MAX == arg_blocks::MAX_ARG);

/// Adds the task f(copy, s) to the run of s. copy points to a copy of the size bytes at arg, which
/// is made before f is called and before this function returns. The copy is aligned for any type. f
/// may change it; it is valid until f returns, and the program does not free it. In kind cont the
/// task is called first, as by sched_spawn.
///
/// Returns 0, or -1 with errno, and nothing has changed: EINVAL (f is NULL, size is greater than
/// SCHED_COPY_MAX, arg is NULL and size is not 0, or the run of s has ended), EAGAIN (there is no
/// memory for the copy or for the queue to grow, or the queue already holds qlen tasks under
/// SCHED_OVERFLOW=refuse).
/// Suspension point in kind cont: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: from a task of the run of s, that of sched_spawn and some nanoseconds. Memory
/// is allocated only when more copies are in use at a time than ever before in the run.
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
    report(|| {
        let f = f.filter(|_| can_be_copied(arg, size)).ok_or(INVALID)?;
        // SAFETY: `f` accepts a copy of `arg`, which has `size` bytes; `s` is NULL or a task's.
        unsafe { Ok(spawn_copy::spawn(f, arg, size, given(s)?)) }
    })
}

probe::entry!("spawn", sched_spawn_copy, 0, 1, 3);

/// True if the arguments are valid.
pub(super) fn can_be_copied(arg: *const c_void, size: usize) -> bool {
    size <= SCHED_COPY_MAX && (size == 0 || !arg.is_null())
}

/// The descriptor of a forked task. The task that forks declares it, and does not touch it until
/// sched_join has returned.
#[repr(C)]
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct sched_task {
    // For the library only.
    state: usize,
    closure: *mut c_void,
    f: usize,
    check: usize,
}

const _: () = assert!(size_of::<sched_task>() == size_of::<Forked>());

/// Forks the task f(closure, s): any worker of the run of s may run it from now on, and
/// sched_join(t, s) waits for its end. The task that forks must call sched_join before it returns,
/// and t must live until sched_join has returned. Nothing is allocated. In kind cont the forked
/// task is called first, as by sched_spawn; in every kind it is called first if no queue has room
/// for it.
///
/// sched_fork cannot fail. The process ends with a message if f is NULL, if the run of s has ended,
/// or if the library recognises a misuse of t: see libsched(7), DIAGNOSTICS. If s is NULL and the
/// default pool cannot be made, the task is run at once, with s NULL. The behaviour is undefined if
/// t is NULL; the debug library recognises that.
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe, for different t. Cost: from a task of the run of s, that of sched_spawn.
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
    // SAFETY: the descriptor is the caller's. Its fields are atomics, for which any bytes are
    // valid.
    let forked = unsafe { &*t.cast::<Forked>() };
    if s.is_null() {
        // SAFETY: `f` is NULL or accepts `closure`; the descriptor lives until it is joined.
        return unsafe { fork_by_null(forked, f, closure, s) };
    }
    // SAFETY: `s` is not NULL, so this library has given it; the caller promises the rest.
    unsafe { forked.fork(f, closure, Worker::of(s)) }
}

probe::entry!("spawn", sched_fork, 1, 2, 3);

/// The slow path of `sched_fork`: `s` is NULL.
///
/// # Safety
/// The contract of `sched_fork`.
#[cold]
#[inline(never)]
unsafe extern "C" fn fork_by_null(
    forked: &Forked,
    f: taskfunc,
    closure: *mut c_void,
    s: *mut Scheduler,
) {
    let Some(function) = f else { fork::misuse("sched_fork", "f is NULL") };
    // SAFETY: `f` accepts `closure`, and NULL for its `s`; the descriptor lives until it is joined.
    unsafe {
        match given(s) {
            Ok(worker) => forked.fork(f, closure, worker),
            Err(_) => forked.run_outside(function, closure),
        }
    }
}

/// Waits until the task that was forked on t has ended. The caller then sees what the task has
/// written. If no worker has begun the task, it is called now. Otherwise the caller is suspended,
/// its stack is kept, and its worker runs other tasks. If SCHED_JOIN is help, or no memory is left
/// for another stack, the caller is not suspended: its worker runs other tasks on top of it, on the
/// same stack. A thread that is not a worker of the run calls the task on its own stack if nobody
/// has begun it, and sleeps otherwise. Tasks may be joined in any order; the reverse order of
/// forking is the fastest.
///
/// s is the s that was given to sched_fork, or the caller's own s in the same run. sched_join
/// cannot fail. The process ends with a message if the library recognises one of these mistakes: t
/// was joined already, was forked on again before it was joined, or was copied; or a task has
/// returned without joining a task that it forked. See libsched(7), DIAGNOSTICS. The debug library
/// always recognises these mistakes. It also recognises a t that is NULL or was forked in another
/// run; with the other library the behaviour is then undefined.
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Cost: that of running a task from the worker's own queue; if another worker runs the task, the
/// time until the task has ended.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_join(t: *mut sched_task, s: *mut Scheduler) {
    #[cfg(debug_assertions)]
    if t.is_null() {
        fork::misuse("sched_join", "t is NULL");
    }
    // SAFETY: the descriptor was forked on, and lives until it is joined.
    let forked = unsafe { &*t.cast::<Forked>() };
    if s.is_null() {
        // SAFETY: `s` is NULL; the descriptor was forked on, and not joined yet.
        return unsafe { join_by_null(forked, s) };
    }
    // SAFETY: `s` is not NULL, so this library has given it; the caller promises the rest.
    unsafe { forked.join(Worker::of(s)) }
}

/// The slow path of `sched_join`: `s` is NULL.
///
/// # Safety
/// The contract of `sched_join`.
#[cold]
#[inline(never)]
unsafe extern "C" fn join_by_null(forked: &Forked, s: *mut Scheduler) {
    // SAFETY: `s` is NULL; the descriptor was forked on, and not joined yet.
    unsafe {
        match waited(s) {
            Some(worker) => forked.join(worker),
            None => forked.join_outside(),
        }
    }
}

/// Lets other tasks run. The calling task continues after the tasks that are in the queue for all
/// workers at the time of the call; with SCHED_DEQUE=ring or queue, after the tasks in its own
/// worker's queue, as in Tokio (C. Lerche, 2019).
///
/// s is the s of any worker of the run. If the calling thread is not a worker of that run, or if s
/// is NULL outside of a task, this is sched_yield(2). There are no errors: if there is no memory
/// for another stack, the call does nothing.
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: one or two switches of stacks, and two uses of a queue.
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
    // SAFETY: `s` is not NULL, so this library has given it.
    let worker = unsafe { Worker::of(s) };
    detector::ignored(|| yielding::yield_now(worker));
}

#[cold]
#[inline(never)]
fn yield_by_null() {
    match identity::task_worker() {
        Some(worker) => detector::ignored(|| yielding::yield_now(worker)),
        None => time::give_way(),
    }
}
