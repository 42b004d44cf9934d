//! What lies beyond the course's interface. `include/sched_tasks.h` is made from this file: the
//! comments of its functions are the header's, in C's terms.

use super::course::sched_spawn;
use super::taskfunc;
use crate::base::mem::NoMemory;
use crate::base::thread;
use crate::kind::parcel;
use crate::kind::worker::Worker;
use crate::task::{Scheduler, Task};
use std::ffi::{c_int, c_void};

/// The most bytes that sched_spawn_copy copies.
pub const SCHED_COPY_MAX: usize = 256;

const _: () = assert!(SCHED_COPY_MAX == parcel::MOST);

/// Adds the task f(copy, s) to the run of s, where copy points to a copy of the size bytes at
/// arg, and returns at once. The copy is made before it returns, is aligned for any type, and
/// is valid until f returns, which may change it. Nothing is to be freed.
///
/// Returns 0, or -1 with errno: EINVAL (f or s is NULL, size is greater than SCHED_COPY_MAX, arg
/// is NULL and size is not 0, or the run of s has ended), EAGAIN (no memory for the copy or for
/// the queue to grow, or it holds qlen tasks already under SCHED_OVERFLOW=refuse: nothing has
/// changed).
/// Thread-safe. Cost: from a task of s, that of sched_spawn and some nanoseconds; no
/// allocation, once as many copies have been in use at the same time.
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
pub unsafe extern "C" fn sched_spawn_copy(
    f: taskfunc,
    arg: *const c_void,
    size: usize,
    s: *mut Scheduler,
) -> c_int {
    let Some(f) = f else { return thread::failed(libc::EINVAL) };
    if s.is_null() || size > SCHED_COPY_MAX || (arg.is_null() && size > 0) {
        return thread::failed(libc::EINVAL);
    }
    // SAFETY: not null, so given by this library.
    let worker = unsafe { Worker::of(s) };
    let mine = worker.mine();
    // SAFETY: `arg` has so many bytes; `mine` is the calling thread's.
    let Task { f, closure } = match unsafe { parcel::pack(mine, f, arg, size) } {
        Ok(task) => task,
        Err(NoMemory) => return thread::failed(libc::EAGAIN),
    };
    let to = std::ptr::from_ref(mine.unwrap_or(worker)).cast_mut().cast();
    // SAFETY: a task of ours.
    let outcome = unsafe { sched_spawn(Some(f), closure, to) };
    if outcome != 0 {
        // SAFETY: not sent; `mine` as above.
        unsafe { parcel::discard(closure, mine) };
    }
    outcome
}
