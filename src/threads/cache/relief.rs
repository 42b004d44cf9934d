//! Reliefs: threads for workers whose own threads have left them to block.
//!
//! A job returns true when its thread has left its worker for good while the run continues: the
//! thread is *surplus*. Its slot, a relief's or a member's, is then *spare*. The next worker that
//! needs a relief takes the slot that became spare last, before a warm or a blank slot. So a run
//! has at most SCHED_BLOCKING threads beside its workers' threads, and never more of them than were
//! at one time needed or about to become spare. All slots return to the cache with the members'
//! slots at the run's end. A thread that has been spare for as long as a warm thread is kept ends
//! before the run does; its slot stays spare. A thread that arrives and finds its worker occupied
//! (`threads::handoff`) is surplus at once. Until its slot is spare, a caller that needs a thread
//! for that worker takes another slot.
//!
//! # The bad interleaving
//!
//! A slot becomes spare before its job is done, because the `RunThreads` may be gone afterwards. So
//! the slot may also be taken before its job is done, and then the `REST` that ends the job would
//! overwrite the new `CALLED`. Therefore the thread that takes a slot waits for the end of the
//! slot's job. The wait is short: the job only has to announce its end.

use crate::sys::memory::NoMemory;
use crate::sys::thread::Uncancelled;
use crate::threads::cache::records::{CACHE, Caller, Job, NoRelief, RunThreads, ThreadSlot};
use std::ptr;

/// The number of threads that a run may have beside its workers' threads if SCHED_BLOCKING is not
/// set. Tokio has the same default for blocking calls: the limit only stops a flood.
pub const MOST_RELIEFS: usize = 512;

impl RunThreads {
    /// Brings another thread to worker `index`, whose own thread has left it. The other thread does
    /// `job`. Called by a job of this run's threads, or by the thread that has started the run.
    ///
    /// # Safety
    /// Called before `finish`; job and run's threads stay as they are until then.
    #[cold]
    pub unsafe fn relieve(&self, job: Job, index: usize) -> Result<(), NoRelief> {
        let _uncancelled = Uncancelled::begin(); // pthread_join is a cancellation point
        let terms = self.terms();
        let found = CACHE.with(|cache| {
            let spare = self.reliefs.take_spare();
            spare.map_or_else(|| self.reliefs.add_relief(cache, terms, None), Ok)
        });
        let new = || {
            let new = ThreadSlot::new().map_err(|NoMemory| NoRelief::NoThread)?;
            CACHE.with(|cache| {
                let slot = self.reliefs.add_relief(cache, terms, Some(new));
                if !slot.is_ok_and(|slot| ptr::eq(slot, new)) {
                    cache.add_blank(new);
                }
                slot
            })
        };
        let slot = match found {
            Err(NoRelief::NoThread) => new(),
            found => found,
        }?;
        slot.state.wait_for_job();
        if !terms.keeps() {
            // SAFETY: the slot's job is done, and threads that are not kept never rest.
            unsafe { slot.join() };
        }
        // SAFETY: this call has taken the slot; by the promise job and `self` live until `finish`.
        let works = unsafe { slot.assign(job, index, self, Caller::Leaves) };
        if !works {
            self.spare(slot);
            return Err(NoRelief::NoThread);
        }
        Ok(())
    }

    /// Notes that the thread that has started the run has left its worker in the middle of the run.
    pub fn caller_has_left(&self) {
        CACHE.with(|_| self.reliefs.caller_left.set(true));
    }
}
