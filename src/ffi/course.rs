//! The course's functions. `include/sched.h` is their documentation.

use crate::api::names::function_of;
use crate::ffi::{INVALID, given, report, taskfunc};
use crate::runtime::record::Worker;
use crate::sys::processors::Mask;
use crate::sys::thread::Uncancelled;
use crate::sys::{probe, processors};
use crate::table;
use crate::task::{Scheduler, Task};
use std::ffi::{c_int, c_void};

/// See sched.h.
#[unsafe(no_mangle)]
pub extern "C" fn sched_default_threads() -> c_int {
    let _uncancelled = Uncancelled::begin(); // opening a file is a cancellation point
    processors::default_threads(&Mask::of_caller()) as c_int // at most 4096
}

/// See sched.h.
///
/// # Safety
/// `f` is NULL or a function of its type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_init(
    nthreads: c_int,
    qlen: c_int,
    f: taskfunc,
    closure: *mut c_void,
) -> c_int {
    report(|| {
        let f = f.ok_or(INVALID)?;
        let uncancelled = Uncancelled::begin();
        table::run(&uncancelled, nthreads, qlen, Task { f, closure }, function_of).map(|()| 0)
    })
}

/// The slow path of `sched_spawn`: `s` is NULL.
///
/// # Safety
/// The contract of `sched_spawn`.
#[cold]
#[inline(never)]
unsafe extern "C" fn spawn_by_null(f: taskfunc, closure: *mut c_void, s: *mut Scheduler) -> c_int {
    report(|| {
        f.ok_or(INVALID)?;
        // SAFETY: `s` is NULL, and `f` is NULL or accepts `closure`.
        unsafe { Ok(given(s)?.spawn(f, closure)) }
    })
}

/// See sched.h.
///
/// # Safety
/// `s` is NULL or was given to a task by this library; `f` is NULL or a function of its type.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".text.hot")]
pub unsafe extern "C" fn sched_spawn(
    f: taskfunc,
    closure: *mut c_void,
    s: *mut Scheduler,
) -> c_int {
    if s.is_null() {
        // SAFETY: `s` is NULL, and `f` is NULL or accepts `closure`.
        return unsafe { spawn_by_null(f, closure, s) };
    }
    // SAFETY: `s` is not NULL, so this library has given it; the caller promises the rest.
    unsafe { Worker::of(s).spawn(f, closure) }
}

probe::entry!("spawn", sched_spawn, 0, 1, 2);
