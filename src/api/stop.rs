//! Stops a loop or a reduction: `sched_stop`, and the cancellation of the group in which it runs.
//!
//! The fiber of a task names the innermost loop or reduction of which it runs a part
//! (`Fiber::stop`). A body that calls `sched_stop` writes to the record of that loop, and its
//! workers look at the record before each part. If the task that called the loop belongs to a
//! group, the record names the group, and the workers look there. So a loop that nobody can stop
//! has one load and one test more for each part. A part that another worker takes also belongs to
//! the group, so loops within it are stopped in the same way.
//!
//! Orderings: all accesses are Relaxed. A worker that reads an outdated record begins one more
//! part. The joins of the loop order what the body wrote before its request with the return from
//! the loop.

use crate::api::group::Group;
use crate::runtime::identity;
use crate::runtime::record::Worker;
use crate::sys::atomic::{AtomicPtr, Ordering};
use crate::sys::errno;
use std::ffi::c_int;
use std::ptr;

/// Stands for a group's address when a body has called `sched_stop`.
const ASKED: *mut Group = ptr::without_provenance_mut(1);

/// Tells whether a loop or a reduction begins further parts: the group in which it runs, null if it
/// runs in none, or [`ASKED`].
#[derive(Default)]
pub struct Stop(AtomicPtr<Group>);

impl Stop {
    /// True if the loop begins no further part. Once true, it stays true: a group's cancellation
    /// does not end before its tasks have ended.
    #[inline(always)]
    pub fn is_asked(&self) -> bool {
        let group = self.0.load(Ordering::Relaxed);
        !group.is_null() && (group == ASKED || Stop::is_cancelled(group))
    }

    #[cold]
    #[inline(never)]
    fn is_cancelled(group: *mut Group) -> bool {
        // SAFETY: the group counts the task that waits for the loop (`begin`).
        unsafe { (*group).is_cancelled() }
    }

    /// The result of the loop, which has ended with `outcome`.
    pub fn result(&self, outcome: c_int) -> c_int {
        if outcome == 0 && self.is_asked() { errno::failed(libc::ECANCELED) } else { outcome }
    }

    /// Runs the loop, whose caller is on `worker`.
    ///
    /// # Safety
    /// The calling thread owns the worker. `work` ends when all parts have ended.
    #[inline(always)]
    pub unsafe fn begin<R>(&self, worker: &Worker, work: impl FnOnce() -> R) -> R {
        // SAFETY: the calling thread owns the worker.
        let group = unsafe { worker.owned() }.fiber().group.get();
        self.0.store(group.cast_mut().cast(), Ordering::Relaxed);
        // SAFETY: the calling thread owns the worker; the loop does not end before `work`.
        unsafe { self.within(worker, work) }
    }

    /// Runs a part that was queued as a task, on `worker`. The parts that the caller of `begin`
    /// runs itself need no call of this: they are within `begin`.
    ///
    /// # Safety
    /// The calling thread owns the worker. The loop does not end before `work`.
    #[inline(always)]
    pub unsafe fn within<R>(&self, worker: &Worker, work: impl FnOnce() -> R) -> R {
        // SAFETY: the thread owns the worker. The caller's frame keeps the fiber, also if it waits.
        let fiber = unsafe { worker.owned() }.fiber();
        let group = self.0.load(Ordering::Relaxed);
        let group = if group == ASKED { ptr::null() } else { group.cast_const().cast() };
        let outer = (fiber.stop.replace(ptr::from_ref(self).cast()), fiber.group.replace(group));
        let result = work();
        fiber.stop.set(outer.0);
        fiber.group.set(outer.1);
        result
    }
}

/// Stops the innermost loop or reduction whose body the caller is in. Nothing happens if there is
/// none.
pub fn stop() {
    let Some(fiber) = identity::current_fiber() else { return };
    // SAFETY: the fiber names a loop only while a part of it is on the fiber, and the loop does not
    // end before.
    if let Some(stop) = unsafe { fiber.stop.get().cast::<Stop>().as_ref() } {
        stop.0.store(ASKED, Ordering::Relaxed);
    }
}
