//! The exported functions; `no_mangle` appears on this floor only. Each function checks its
//! arguments, calls the floor below, and reports as C does: 0, or -1 with errno. [`course`]
//! implements `include/sched.h`, which is written by hand; tests/headers compares the two.
//! [`inline`] serves `include/sched_inline.h`. The other files are the source of
//! `include/sched_tasks.h`.
//!
//! A panic is a bug of the library; it ends the process with a message and never crosses into the
//! program. The release profile aborts at the panic itself; in other builds the language aborts
//! when a panic reaches an `extern "C"` function.

pub mod block;
pub mod channel;
pub mod course;
pub mod debugger;
pub mod graphs;
pub mod groups;
pub mod inline;
pub mod io;
pub mod levels;
pub mod loops;
pub mod nodes;
pub mod pool;
pub mod scan;
pub mod stats;
pub mod sync;
pub mod tasks;
pub mod time;

use crate::api::default_pool;
use crate::runtime::record::Worker;
use crate::sys::errno;
use crate::sys::errno::Errno;
use crate::task::{Scheduler, TaskFn};
use std::ffi::c_int;

#[cfg(not(any(panic = "abort", debug_assertions)))]
compile_error!("a release build of libsched needs panic = \"abort\"");

/// The C name of a [`TaskFn`] that may be NULL.
#[allow(non_camel_case_types, reason = "the name in sched.h")]
pub type taskfunc = Option<TaskFn>;

const INVALID: Errno = Errno(libc::EINVAL);

/// Calls `work`, and reports as C does: its result, or -1 with errno.
#[inline(always)]
fn report(work: impl FnOnce() -> Result<c_int, Errno>) -> c_int {
    match work() {
        Ok(result) => result,
        Err(Errno(error)) => errno::failed(error),
    }
}

/// The worker of `s`; if `s` is NULL, a worker of the run that NULL stands for: see `default_pool`.
///
/// # Safety
/// `s` is NULL, or this library has given it to a task.
#[inline(always)]
unsafe fn given<'a>(s: *mut Scheduler) -> Result<&'a Worker, Errno> {
    if s.is_null() {
        return default_pool::worker();
    }
    // SAFETY: `s` is not NULL, so this library has given it.
    Ok(unsafe { Worker::of(s) })
}

/// Like `given`, but makes no default pool: for functions that only wait. None: there is no
/// pool.
///
/// # Safety
/// The contract of `given`.
#[inline(always)]
unsafe fn waited<'a>(s: *mut Scheduler) -> Option<&'a Worker> {
    if s.is_null() {
        return default_pool::known();
    }
    // SAFETY: `s` is not NULL, so this library has given it.
    Some(unsafe { Worker::of(s) })
}

/// The object that a pointer from C points to. Fails with EINVAL if the pointer is NULL.
///
/// # Safety
/// `p` is NULL, or points to an initialised object with the layout of `T`.
#[inline(always)]
unsafe fn object<'a, T>(p: *const impl Sized) -> Result<&'a T, Errno> {
    // SAFETY: `p` is NULL, or points to an initialised object with the layout of `T`.
    unsafe { p.cast::<T>().as_ref() }.ok_or(INVALID)
}

/// Initialises an object of the program, which has the layout of `U`, and which nobody uses yet.
fn set<T, U>(p: *mut T, value: U) -> c_int {
    const { assert!(size_of::<T>() == size_of::<U>()) };
    if p.is_null() {
        return errno::failed(libc::EINVAL);
    }
    // SAFETY: the object is the caller's and has the same layout; nobody uses it yet.
    unsafe { p.cast::<U>().write(value) };
    0
}

/// Like `given`, but fails with EINVAL if the run has ended.
///
/// # Safety
/// The contract of `given`.
unsafe fn running<'a>(s: *mut Scheduler) -> Result<&'a Worker, Errno> {
    // SAFETY: `s` is NULL, or this library has given it to a task.
    let worker = unsafe { given(s) }?;
    if worker.run_id() == 0 { Err(Errno(libc::EINVAL)) } else { Ok(worker) }
}
