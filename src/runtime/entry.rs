//! `sched_spawn`, as the table has it for each policy: where its built-in part does not apply, or has begun.

use crate::policy::Policy;
use crate::policy::operations::Hosted;
use crate::queue::Full;
use crate::runtime::record::Worker;
use crate::sys::errno;
use crate::task::{Task, TaskFn};
use std::ffi::{c_int, c_void};

/// # Safety
/// If the caller owns `worker`, its run is one of `K`.
pub unsafe extern "C" fn spawn<P: Policy>(
    f: Option<TaskFn>,
    closure: *mut c_void,
    worker: &Worker,
) -> c_int {
    match f {
        // SAFETY: passed on.
        Some(f) if worker.is_mine() => unsafe { queue::<P>(f, closure, worker) },
        // SAFETY: passed on.
        _ => unsafe { Worker::spawn_elsewhere(f, closure, worker) },
    }
}

/// # Safety
/// The caller owns `worker`, whose run is one of `K`.
pub unsafe extern "C" fn queue<P: Policy>(
    f: TaskFn,
    closure: *mut c_void,
    worker: &Worker,
) -> c_int {
    // SAFETY: passed on.
    outcome(unsafe { worker.policy::<P>().spawn(worker, Task { f, closure }) })
}

/// The rest of a spawn that `Worker::put_built_in` has begun.
///
/// # Safety
/// It was begun just now, with the same arguments.
#[cold]
pub unsafe extern "C" fn finish_spawn<P: Policy>(
    f: Option<TaskFn>,
    closure: *mut c_void,
    worker: &Worker,
) -> c_int {
    // SAFETY: begun, so not NULL.
    let f = unsafe { f.unwrap_unchecked() };
    // SAFETY: passed on.
    outcome(unsafe { worker.policy::<P>().finish_spawn(worker, Task { f, closure }) })
}

fn outcome(pushed: Result<(), Full>) -> c_int {
    match pushed {
        Ok(()) => 0,
        Err(Full) => errno::failed(libc::EAGAIN),
    }
}
