//! The gate of a run: open as long as tasks may come in. A run that is *held open* (a pool's) does
//! not end when no task is left; it is at *rest* then, and goes on with the next task.
//!
//! # State
//!
//! [`RunGate`] lies under the lock that decides whether a task is left: the injector's, or that of a
//! shared queue. `closed`: no task comes in any more. `held`: who holds the run open has not let it go.
//! `awaited`: somebody waits for a rest. [`Rests`], beside that lock, counts the rests that somebody
//! waited for, and is a word to sleep on.
//!
//! # Protocol
//!
//! Whoever finds, under the lock, that no task is left calls `rest`: that closes the gate, or, if it
//! is held, announces the rest to those who wait. Who waits reads the count first, then looks,
//! under the lock, whether the run is at rest; if it is not, it leaves `awaited` and sleeps until
//! the count has changed. Who lets go does so under the lock, and looks likewise: so either it
//! finds the run at rest and ends it, or whoever finds it so later does.
//!
//! # The bad interleaving
//!
//! *The missed rest.* The last task ends between the look and the sleep. Its worker then takes the
//! lock after the look, finds `awaited`, and changes the count before the sleep, which does not begin.
//! *The rest of another.* The count has changed since it was read: a rest came after the call, so it
//! is this caller's, too, whatever tasks came in since.

use crate::sys::atomic::Ordering;
use crate::sys::futex;
use crate::sys::futex::Futex;

/// Under the lock of the run.
pub struct RunGate {
    closed: bool,
    held: bool,
    awaited: bool,
}

impl RunGate {
    /// An open one.
    pub fn new(held: bool) -> Self {
        RunGate { closed: false, held, awaited: false }
    }

    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// No task is left. Closes the gate, unless it is held; true if it did.
    pub fn rest(&mut self, rests: &Rests) -> bool {
        if self.held {
            if std::mem::take(&mut self.awaited) {
                rests.announce();
            }
            return false;
        }
        self.closed = true;
        true
    }

    /// The next rest is to be announced.
    pub fn expect_rest(&mut self) {
        self.awaited = true;
    }

    /// From now on `rest` closes the gate.
    pub fn release(&mut self) {
        self.held = false;
    }
}

/// Rests that were announced.
pub struct Rests(Futex);

impl Rests {
    #[allow(clippy::new_without_default, reason = "the models' futex has no default")]
    pub fn new() -> Self {
        Rests(Futex::new(0))
    }

    fn announce(&self) {
        self.0.add(1, Ordering::Release); // pairs with the load in `wait`
        self.0.wake(i32::MAX);
    }

    /// Returns when the run was at rest since the call: what its tasks wrote before is then seen. `now`
    /// looks, under the lock, whether it is; if not, it calls `expect_rest`.
    pub fn wait(&self, now: impl Fn() -> bool) {
        let seen = self.0.load(Ordering::Relaxed);
        while self.0.load(Ordering::Acquire) == seen && !now() {
            self.0.wait(seen, futex::LONGEST);
        }
    }
}
