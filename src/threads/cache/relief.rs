//! Reliefs: threads for workers whose own threads have left them in the middle of the run, to block.
//!
//! A job returns true when its thread has left its worker for good while the run goes on: the thread
//! is *surplus*. Its slot, a relief's or a member's, is then *spare*. The next worker that needs a
//! relief takes the slot that became spare last, before a warm or a blank one. So beside the threads of
//! its workers a run has at most as many as SCHED_BLOCKING says, and of these only as many as were
//! needed at once. All slots go back with the members' at the run's end. A thread that is spare for as
//! long as a warm one is kept ends earlier; its slot stays spare. A thread that finds its worker
//! occupied when it comes (`threads::handoff`) is surplus at once. A caller that needs a thread for that
//! worker before this slot is spare takes another.
//!
//! # The bad interleaving
//!
//! A slot becomes spare before its job is done, since the run's threads may be gone afterwards. So it may also be
//! taken before its job is done, and then the `REST` that ends the job would overwrite the new `CALLED`.
//! Therefore the thread that takes a slot waits for the end of its job. The wait is short: the job has
//! nothing left to do but to say so.

use crate::sys::thread::Uncancelled;
use crate::threads::cache::records::{CACHE, Job, RunThreads, ThreadSlot};
use std::ptr;

/// Threads that a run may have beside those of its workers where SCHED_BLOCKING is not set. Tokio has as many for
/// blocking calls by default, for the same reason: the limit stops a flood of them, and nothing else.
pub const MOST_RELIEFS: usize = 512;

impl RunThreads {
    /// Brings worker `index`, whose thread has left it, another thread, which does `job`. False if there
    /// is none to be had. To be called by a job of this run's threads, or by the thread that has started the run.
    ///
    /// # Safety
    /// Before `finish`; job and run's threads stay as they are until then.
    #[cold]
    pub unsafe fn relieve(&self, job: Job, index: usize) -> bool {
        let _uncancelled = Uncancelled::begin(); // pthread_join is a cancellation point
        let terms = self.terms();
        let found = CACHE.with(|lists| {
            let spare = self.reliefs.take_spare();
            spare.or_else(|| self.reliefs.recruit(lists, terms, None))
        });
        let new = || {
            let new = ThreadSlot::new().ok()?;
            CACHE.with(|lists| {
                let slot = self.reliefs.recruit(lists, terms, Some(new));
                if !slot.is_some_and(|slot| ptr::eq(slot, new)) {
                    lists.add_blank(new);
                }
                slot
            })
        };
        let Some(slot) = found.or_else(new) else { return false };
        slot.call.wait();
        if !terms.keeps() {
            // SAFETY: its job is done, and such threads never rest.
            unsafe { slot.join() };
        }
        // SAFETY: passed on; the slot is ours.
        let works = unsafe { slot.call(job, index, self, false) };
        if !works {
            self.spare(slot);
        }
        works
    }

    /// The thread that has started the run has left its worker in the middle of it.
    pub fn caller_has_left(&self) {
        CACHE.with(|_| self.reliefs.caller_left.set(true));
    }
}
