//! The state of a thread that is created for its first job and rests between its jobs.
//!
//! `threads::cache` explains the protocol; its word is in this file, for the model.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `start_job`: swap to CALLED | AcqRel | `next_step`: the job is written; `finish_job` |
//! | `start_job`: load before it | Relaxed | none: only decides about `before_waking` |
//! | `next_step`: load | Acquire | `start_job`, `dismiss` |
//! | `finish_job`: swap to REST | AcqRel; Release would do | `is_busy`: what the job wrote |
//! | `is_busy`: load | Acquire | `finish_job` |
//! | `announce_sleep`, the waiter's AWAITED | Relaxed | none: they continue the release sequence |
//! | `dismiss`: swap | Release | `next_step` |
//! | `has_thread` | not atomic | the cache's lock, or the run that has the slot |

use crate::sys::atomic::{MODEL, Ordering, Pad, UnsafeCell, spin_loop};
use crate::sys::futex;
use crate::sys::futex::Futex;
use std::time::Duration;

/// No job; the thread is awake, or there is none.
const REST: u32 = 0;
/// The thread has a job.
const CALLED: u32 = 1;
/// The thread has a job, and other threads sleep until the job is done.
const AWAITED: u32 = 2;
/// The thread must end.
const DISMISSED: u32 = 3;
/// No job; the thread sleeps, or is about to.
const ASLEEP: u32 = 4;

/// The number of times that a waiter reads the word before it sleeps: some microseconds.
const PATIENCE: u32 = if MODEL { 1 } else { 100 };

pub struct JobState {
    word: Pad<Futex>,
    /// True if the thread exists. Belongs to the owner of the slot, who may start jobs.
    has_thread: UnsafeCell<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum NextStep {
    Rest,
    Work,
    End,
}

impl JobState {
    #[allow(clippy::new_without_default, reason = "the models' futex has no default")]
    pub fn new() -> Self {
        JobState { word: Pad(Futex::new(REST)), has_thread: UnsafeCell::new(false) }
    }

    /// For the owner of the slot.
    pub fn has_thread(&self) -> bool {
        // SAFETY: only the owner of the slot, who is the caller, uses the field.
        self.has_thread.with(|has_thread| unsafe { *has_thread })
    }

    /// For the owner of the slot. Returns the former value.
    pub fn set_has_thread(&self, has_thread: bool) -> bool {
        // SAFETY: only the owner of the slot, who is the caller, uses the field.
        self.has_thread.with_mut(|was| unsafe { was.replace(has_thread) })
    }

    /// Starts the job that the caller has written. If the thread sleeps, `before_waking` runs
    /// first. If there is no thread, `create` makes one. False if `create` fails.
    pub fn start_job(&self, before_waking: impl FnOnce(), create: impl FnOnce() -> bool) -> bool {
        // Read before the swap: after it the thread may do the job, rest, and end.
        let has_thread = self.has_thread();
        if has_thread && self.word.load(Ordering::Relaxed) == ASLEEP {
            before_waking();
        }
        // Release: pairs with the load in `next_step`; the job is written. Acquire: pairs with the
        // thread's swap in `finish_job`.
        let was = self.word.swap(CALLED, Ordering::AcqRel);
        if has_thread {
            if was == ASLEEP {
                self.word.wake(1);
            }
            return true;
        }
        // Set before `create`: when `create` returns, the thread may have done its job, and the
        // slot's next owner may have started another.
        self.set_has_thread(true);
        let made = create();
        if !made {
            self.set_has_thread(false);
            self.word.store(REST, Ordering::Relaxed); // Relaxed: no thread reads it
        }
        made
    }

    /// True if the thread has a job that is not done.
    fn is_busy(&self) -> bool {
        // Acquire: pairs with the swap in `finish_job`.
        matches!(self.word.load(Ordering::Acquire), CALLED | AWAITED)
    }

    pub fn wait_for_job(&self) {
        for _ in 0..PATIENCE {
            if !self.is_busy() {
                return;
            }
            spin_loop();
        }
        while self.is_busy() {
            self.word.swap_if(CALLED, AWAITED);
            self.word.wait(AWAITED, futex::LONGEST);
        }
    }

    /// Called by the thread when its job is done.
    pub fn finish_job(&self) {
        // Release: pairs with the loads in `is_busy`; a thread that waits for the job sees what the
        // job wrote. Nothing relies on the Acquire.
        if self.word.swap(REST, Ordering::AcqRel) == AWAITED {
            // All: the end of the run and a worker that needs a relief may wait for the same job.
            self.word.wake(i32::MAX);
        }
    }

    pub fn next_step(&self) -> NextStep {
        // Acquire: pairs with the swap in `start_job`.
        match self.word.load(Ordering::Acquire) {
            REST | ASLEEP => NextStep::Rest,
            DISMISSED => NextStep::End,
            _ => NextStep::Work,
        }
    }

    /// Called by the thread before it sleeps: announces the sleep unless a job was started.
    pub fn announce_sleep(&self) {
        self.word.swap_if(REST, ASLEEP);
    }

    /// Called by the thread after `announce_sleep`: sleeps until a job is started, or for `limit`.
    pub fn sleep(&self, limit: Duration) {
        self.word.wait(ASLEEP, limit);
    }

    /// Tells the resting thread to end.
    pub fn dismiss(&self) {
        // Release: pairs with the load in `next_step`. A swap instead of a store: loom would not
        // know that a plain store comes after the thread's own swap.
        self.word.swap(DISMISSED, Ordering::Release);
        self.word.wake(1);
    }

    /// Called in the child of a fork, where the thread does not exist.
    pub fn forget_thread(&self) {
        self.word.store(REST, Ordering::Relaxed);
        self.set_has_thread(false);
    }
}
