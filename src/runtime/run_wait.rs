//! A wait of the calling task for a whole run, as an entry in the list of `queue::run_waits`.

use crate::queue::run_waits::{Circle, RunWait, RunWaits, Until, Waiter};
use crate::runtime::identity;
use crate::sys::detector;
use std::ptr;

#[unsafe(link_section = "sched_words")]
pub static WAITS: RunWaits = RunWaits::new();

/// The calling task; None: the caller is not a task.
fn caller() -> Option<Waiter> {
    let fiber = identity::current_fiber()?;
    let worker = fiber.worker();
    Some(Waiter {
        run: worker.run_id(),
        worker: if worker.is_mine() { ptr::from_ref(worker).addr() } else { 0 },
        fiber: ptr::from_ref(fiber).addr(),
    })
}

/// Calls `work`, which waits for the run with this `run_id`. Fails if the wait would never end.
/// (Not inlined, since each policy has a copy of the callers.)
#[inline(never)]
pub fn during(run: usize, until: Until, work: &mut dyn FnMut()) -> Result<(), Circle> {
    match caller() {
        Some(waiter) => {
            let wait = RunWait::new(waiter, run, until);
            detector::own(&wait);
            WAITS.during(&wait, work)
        }
        None => {
            work();
            Ok(())
        }
    }
}

/// Empties the list in the child of a fork.
///
/// # Safety
/// No other thread of this process uses this file.
pub unsafe fn forget() {
    // SAFETY: no other thread uses the list.
    unsafe { WAITS.forget() };
}
