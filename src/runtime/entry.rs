//! The slow parts of `sched_spawn`, compiled for each policy: the spawn where the inlined one into
//! the built-in deque does not apply, and the second half of an inlined spawn.

use crate::policy::Policy;
use crate::policy::operations::Hosted;
use crate::policy::stealing::Stealing;
use crate::queue::Full;
use crate::runtime::record::{BuiltIn, Worker};
use crate::sys::errno;
use crate::task::{Task, TaskFn};
use std::ffi::{c_int, c_void};

/// `Row::spawn`.
///
/// # Safety
/// `f` accepts `closure`, as for sched_spawn. If the calling thread occupies `worker`, its run is
/// one of the policy `P`.
pub unsafe extern "C" fn spawn<P: Policy>(
    f: Option<TaskFn>,
    closure: *mut c_void,
    worker: &Worker,
) -> c_int {
    match f {
        Some(f) if worker.is_mine() => {
            // SAFETY: `is_mine` is true, and the policy of an occupied worker is a `P`.
            outcome(unsafe { worker.policy::<P>().spawn(worker.owned(), Task { f, closure }) })
        }
        // SAFETY: `f` accepts `closure`.
        _ => unsafe { Worker::spawn_elsewhere(f, closure, worker) },
    }
}

/// The rest of a spawn that `Worker::put_built_in` has begun.
///
/// # Safety
/// `put_built_in` has returned Unfinished just now for the same arguments.
#[cold]
#[inline(never)]
pub unsafe extern "C" fn finish_spawn(
    f: Option<TaskFn>,
    closure: *mut c_void,
    worker: &Worker,
) -> c_int {
    // SAFETY: `put_built_in` does not apply if `f` is NULL.
    let f = unsafe { f.unwrap_unchecked() };
    // SAFETY: only this policy uses the built-in deque; `put` has returned false for this task.
    outcome(unsafe {
        worker.policy::<Stealing<BuiltIn>>().finish_spawn(worker.owned(), Task { f, closure })
    })
}

/// The return value of `sched_spawn`.
pub fn outcome(pushed: Result<(), Full>) -> c_int {
    match pushed {
        Ok(()) => 0,
        Err(Full) => errno::failed(libc::EAGAIN),
    }
}
