//! The gate of a run: open as long as tasks may come in. A run that is *held open* (a pool's run)
//! does not end when no task is left; it is then at *rest*, and continues with the next task.
//!
//! # State
//!
//! [`RunGate`] lies under the lock that decides whether a task is left: the injector's lock, or
//! that of a shared queue. `closed`: no further task comes in. `ends`: whether the run is still
//! held open. `awaited`: how many threads wait for a rest. [`Rests`], beside that lock, counts the
//! awaited rests, and is a word to sleep on.
//!
//! # Protocol
//!
//! A worker that finds, under the lock, that no task is left calls `rest`. This closes the gate;
//! or, if the gate is held, announces the rest to the waiting threads. A waiting thread reads the
//! count first, then checks, under the lock, whether the run is at rest. If not, and if the count
//! is still the same, it adds itself to `awaited`, and sleeps until the count has changed. A thread
//! that stops holding the gate does so under the lock, and there checks, too, whether the run is at
//! rest. If so, this thread ends the run; otherwise the worker that later finds the run at rest
//! ends it.
//!
//! # The bad interleavings
//!
//! *The missed rest.* The last task ends between the check and the sleep. Its worker then takes the
//! lock after the check, finds `awaited`, and changes the count before the sleep; so the sleep does
//! not begin.
//!
//! *Another thread's rest.* The rest that wakes a thread may be one for which another thread waits.
//! The count has changed since this thread read it, so that rest came after this thread's call. It
//! counts for this thread, too, whatever tasks have come in since.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `announce`: addition to the count | Release | the load in `wait`: what the run's tasks wrote |
//! | `wait`: loads of the loop | Acquire | `announce` |
//! | `wait`: first load | Relaxed | none: an old count only makes the wait look again |
//! | `expect_rest`: load | Relaxed | the lock, under which `announce` is called, too |

use crate::sys::atomic::Ordering;
use crate::sys::futex;
use crate::sys::futex::Futex;
use crate::sys::fuzz::{self, Point};
use std::cell::Cell;

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// At the first rest.
    AtRest,
    /// At the first rest after its release: the run is held open until then.
    AfterRelease,
}

/// The state of the gate. Used under the lock of the run.
pub struct RunGate {
    closed: bool,
    ends: Ends,
    awaited: usize,
}

impl RunGate {
    /// An open gate.
    pub fn new(ends: Ends) -> Self {
        RunGate { closed: false, ends, awaited: 0 }
    }

    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// To be called when no task is left. Closes the gate unless it is held open; true if it closed
    /// the gate.
    pub fn rest(&mut self, rests: &Rests) -> bool {
        if self.ends == Ends::AfterRelease {
            if std::mem::take(&mut self.awaited) > 0 {
                rests.announce();
            }
            return false;
        }
        self.closed = true;
        true
    }

    /// Requests that the next rest is announced to this thread, unless the rest for which it waits
    /// has come. Called under the lock, like `rest`.
    pub fn expect_rest(&mut self, rests: &Rests, thread: &RestAwaited) {
        // Relaxed: the lock orders this with `announce`
        if rests.0.load(Ordering::Relaxed) == thread.seen && !thread.counted.replace(true) {
            self.awaited += 1;
        }
    }

    /// How many threads wait for a rest that has not come.
    pub fn awaited(&self) -> usize {
        self.awaited
    }

    /// From now on `rest` closes the gate.
    pub fn release(&mut self) {
        self.ends = Ends::AtRest;
    }
}

/// A thread that waits for a rest.
pub struct RestAwaited {
    /// The number of rests when it began to wait.
    seen: u32,
    /// The thread is in `awaited`, until the next rest.
    counted: Cell<bool>,
}

/// The number of announced rests.
pub struct Rests(Futex);

impl Rests {
    #[allow(clippy::new_without_default, reason = "the models' futex has no default")]
    pub fn new() -> Self {
        Rests(Futex::new(0))
    }

    fn announce(&self) {
        self.0.add(1, Ordering::Release); // pairs with the Acquire load in `wait`
        fuzz::at(Point::RestAnnounce);
        self.0.wake(i32::MAX);
    }

    /// Returns when the run was at rest at some moment since the call; the caller then sees what
    /// the run's tasks wrote before. `now` checks under the lock whether the run is at rest; if
    /// not, it calls `expect_rest`.
    pub fn wait(&self, now: impl Fn(&RestAwaited) -> bool) {
        let seen = self.0.load(Ordering::Relaxed);
        let thread = RestAwaited { seen, counted: Cell::new(false) };
        while self.0.load(Ordering::Acquire) == seen && !now(&thread) {
            fuzz::at(Point::RestWait);
            self.0.wait(seen, futex::LONGEST);
        }
    }
}
