//! A thread's life as a worker: the jobs that a run gives to its threads.

use crate::policy::{Place, UNAWAITED};
use crate::runtime::host::{As, host};
use crate::runtime::record::Worker;
use crate::sys::unwind;
use crate::threads::handoff::Found;
use std::ffi::c_void;

/// A thread's life as a worker.
pub(super) struct Life {
    worker: &'static Worker,
    comes: As,
    /// The thread has left its worker in the middle of the run.
    surplus: bool,
}

impl Life {
    /// True if the thread is surplus.
    ///
    /// # Safety
    /// The place is the caller's to occupy, and the run goes on until it has left it.
    pub(super) unsafe fn lead(worker: &'static Worker, comes: As) -> bool {
        let mut life = Life { worker, comes, surplus: false };
        // SAFETY: `work` takes a life.
        unsafe { unwind::call_in_run(work, (&raw mut life).cast()) };
        life.surplus
    }
}

/// Inside the frontier.
pub(super) unsafe extern "C" fn work(life: *mut c_void) {
    // SAFETY: `lead` passes one.
    let life = unsafe { &mut *life.cast::<Life>() };
    life.worker.occupy();
    // SAFETY: occupied just now; by the promise to `lead`.
    if unsafe { host(life.worker, life.comes) } {
        life.worker.announce_end();
        life.worker.vacate();
    } else {
        life.surplus = true;
    }
}

/// The job of a thread of the run's threads.
pub(super) unsafe fn member(worker: *const c_void) -> bool {
    // SAFETY: `Run::new` passes a worker, which is never freed.
    let worker = unsafe { &*worker.cast::<Worker>() };
    // SAFETY: the run lives until the run's threads has finished.
    unsafe { Life::lead(worker, if worker.index() == 0 { As::First } else { As::Idle }) }
}

/// The job of a relief.
pub(super) unsafe fn relief(worker: *const c_void) -> bool {
    // SAFETY: `relieve` passes a worker, which is never freed.
    let worker = unsafe { &*worker.cast::<Worker>() };
    // SAFETY: its thread has left it, and only who is needed comes; else as in `member`.
    !worker.is_needed() || unsafe { Life::lead(worker, As::Relief) }
}

impl Worker {
    /// A relief comes. False if it is not needed any more.
    pub fn is_needed(&self) -> bool {
        let mut seen = self.handoff.called();
        loop {
            match self.handoff.look(&mut seen) {
                Found::Vacant => return true,
                Found::Occupied => return false,
                // SAFETY: the run waits for its workers.
                Found::Busy => unsafe { (*self.run.get()).sleep(UNAWAITED) },
            }
        }
    }

    /// Worker 0's loop has returned, and with it the run has ended. The caller occupies the place.
    pub fn announce_end(&self) {
        if self.index.get() == 0 {
            // SAFETY: the run waits for its workers.
            unsafe { (*self.run.get()).announce_end() };
        }
    }
}
