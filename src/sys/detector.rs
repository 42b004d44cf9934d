//! Tells the program's race detector which of the program's accesses are ordered.
//!
//! ThreadSanitizer sees the accesses of code that was compiled for it. This library is not, so its
//! atomic operations order nothing for the tool. The tool has two functions for that: what a thread
//! has done before it *releases* an address is ordered before what a thread does after it
//! *acquires* the same address. An address is only a name, and nothing is read there.
//!
//! | ordered | released | acquired |
//! | --- | --- | --- |
//! | spawn, fork → start | the record of the task, when it is queued | when it starts |
//! | end → join | the record, when the task has ended | by the join |
//! | end → `sched_init` returns, a pool is at rest | the run, when a task has ended | by the waiter |
//! | end → group wait | the group | by the waiter |
//! | unlock → lock, post → wait, signal → wait, barrier, cancel | the object | the object |
//! | last use of a block of arguments → next use by another worker | the run's blocks | the same |
//! | a thread leaves a worker → another one occupies it | the worker | the worker |
//!
//! The tool also sees the memory functions of libc that the library calls. It *ignores* these calls
//! while the library works: on a stack of the library's until a task begins there, in the library's
//! threads, and in each function that starts, waits or queues. While a task runs it is not ignored.
//! So a function that may run tasks is ignored once, not twice: `heeded` ends what one `ignored` has
//! begun.
//!
//! `fiber::sanitizers` orders what is done on one stack, and on the stacks that one thread switches
//! between. The records are those of observed runs: where there is a detector, each run has an
//! observed row (`runtime::observed`), so spawn, fork and join contain nothing of this. All other
//! rows of the table stand where the program waits, or where memory changes hands: a load and a
//! comparison there.
//!
//! A library that is compiled for the tool itself (`make tsan`) is seen, and tells nothing.

use crate::sys::weak::weak;
use std::ffi::c_void;

type Edge = unsafe extern "C" fn(*mut c_void);
type Ignore = unsafe extern "C" fn();

#[cfg(not(sched_instrumented))]
#[inline(always)]
fn release_function() -> Option<Edge> {
    weak!("__tsan_release", Edge)
}

#[cfg(not(sched_instrumented))]
#[inline(always)]
fn acquire_function() -> Option<Edge> {
    weak!("__tsan_acquire", Edge)
}

#[cfg(sched_instrumented)]
fn release_function() -> Option<Edge> {
    None
}

#[cfg(sched_instrumented)]
fn acquire_function() -> Option<Edge> {
    None
}

/// True if the process has a race detector that must be told what the library orders.
#[inline(always)]
pub fn is_present() -> bool {
    acquire_function().is_some()
}

/// What the calling thread has done is ordered before what a thread does that acquires this
/// address later.
#[inline(always)]
pub fn release<T: ?Sized>(at: *const T) {
    if let Some(release) = release_function() {
        call(release, at.cast());
    }
}

/// What threads have done that have released this address is ordered before what the calling thread
/// does from now on.
#[inline(always)]
pub fn acquire<T: ?Sized>(at: *const T) {
    if let Some(acquire) = acquire_function() {
        call(acquire, at.cast());
    }
}

/// While this lives, the detector ignores the calling thread or the stack that it is on, apart from
/// the tasks that it runs.
pub struct Ignored(());

impl Ignored {
    #[inline(always)]
    pub fn begin() -> Self {
        if is_present() {
            ignore();
        }
        Ignored(())
    }
}

impl Drop for Ignored {
    #[inline(always)]
    fn drop(&mut self) {
        if is_present() {
            heed_again();
        }
    }
}

/// Calls `work`, which the detector ignores, apart from the tasks that it runs.
#[inline]
pub fn ignored<R>(work: impl FnOnce() -> R) -> R {
    let _ignored = Ignored::begin();
    work()
}

/// Calls `task`, which the detector does not ignore. The caller is ignored once.
#[inline(always)]
pub fn heeded<R>(task: impl FnOnce() -> R) -> R {
    if is_present() { heeded_here(task) } else { task() }
}

#[cold]
#[inline(never)]
fn heeded_here<R>(task: impl FnOnce() -> R) -> R {
    heed_again();
    let result = task();
    ignore();
    result
}

/// The detector ignores the calling thread, or the stack that it is on, until `heed_again`.
#[cold]
pub fn ignore() {
    if let Some(begin) = weak!("__tsan_ignore_thread_begin", Ignore) {
        // SAFETY: the function has no arguments; the runtime counts the calls.
        unsafe { begin() };
    }
}

/// Ends what `ignore` has begun.
#[cold]
pub fn heed_again() {
    if let Some(end) = weak!("__tsan_ignore_thread_end", Ignore) {
        // SAFETY: the function has no arguments, and `ignore` was called.
        unsafe { end() };
    }
}

#[cold]
#[inline(never)]
fn call(edge: Edge, at: *const c_void) {
    // SAFETY: the detector takes any address, and does not access what is there.
    unsafe { edge(at.cast_mut()) };
}
