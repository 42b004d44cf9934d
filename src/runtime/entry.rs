//! `sched_spawn`, as the table has it for each policy: where its built-in part does not apply, or has begun.

use crate::policy::Kind;
use crate::queue::Full;
use crate::runtime::record::Worker;
use crate::sys::errno;
use crate::task::{Task, TaskFn};
use std::ffi::{c_int, c_void};

/// # Safety
/// If the caller owns `worker`, its run is one of `K`.
pub unsafe extern "C" fn spawn<K: Kind>(
    f: Option<TaskFn>,
    closure: *mut c_void,
    worker: &Worker,
) -> c_int {
    match f {
        // SAFETY: passed on.
        Some(f) if worker.is_mine() => unsafe { queue::<K>(f, closure, worker) },
        // SAFETY: passed on.
        _ => unsafe { Worker::spawn_elsewhere(f, closure, worker) },
    }
}

/// # Safety
/// The caller owns `worker`, whose run is one of `K`.
pub unsafe extern "C" fn queue<K: Kind>(f: TaskFn, closure: *mut c_void, worker: &Worker) -> c_int {
    // SAFETY: passed on.
    outcome(unsafe { worker.kind::<K>().spawn(worker, Task { f, closure }) })
}

/// The rest of a spawn that `Worker::quick_put` has begun.
///
/// # Safety
/// It was begun just now, with the same arguments.
#[cold]
pub unsafe extern "C" fn finish_spawn<K: Kind>(
    f: Option<TaskFn>,
    closure: *mut c_void,
    worker: &Worker,
) -> c_int {
    // SAFETY: begun, so not NULL.
    let f = unsafe { f.unwrap_unchecked() };
    // SAFETY: passed on.
    outcome(unsafe { worker.kind::<K>().finish_spawn(worker, Task { f, closure }) })
}

fn outcome(pushed: Result<(), Full>) -> c_int {
    match pushed {
        Ok(()) => 0,
        Err(Full) => errno::failed(libc::EAGAIN),
    }
}
