//! The slow parts of `sched_spawn`, compiled for each policy: the whole spawn where the built-in
//! part does not apply, and the rest of a spawn that the built-in part has begun.

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
            // SAFETY: the owner was compared just now; the policy is a `P`, by the caller's promise.
            outcome(unsafe { worker.policy::<P>().spawn(worker.owned(), Task { f, closure }) })
        }
        // SAFETY: by the caller's promise, `f` accepts `closure`.
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
    // SAFETY: the built-in deque is that of this policy alone; by the caller's promise, `put` has
    // returned false for this task.
    outcome(unsafe {
        worker.policy::<Stealing<BuiltIn>>().finish_spawn(worker.owned(), Task { f, closure })
    })
}

/// What `sched_spawn` returns.
pub fn outcome(pushed: Result<(), Full>) -> c_int {
    match pushed {
        Ok(()) => 0,
        Err(Full) => errno::failed(libc::EAGAIN),
    }
}
