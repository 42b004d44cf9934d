//! The turns of tasks from outside the run, at a worker whose own tasks never end.
//!
//! A turn begins when a task from outside waits and the worker's own tasks have had [`TURN`] since
//! the last turn. During the turn the worker runs the tasks from outside that wait at its
//! beginning, one after the other. The turn ends when all of them have begun, or when the task that
//! runs after `TURN` has ended. Then the own tasks continue. So neither side can starve the other.
//!
//! Rejected: to serve also tasks that arrive during the turn. Tasks that yield are among them; they
//! would run many times in a millisecond, and the own tasks never (c_tests/yields.c).
//!
//! An urgent task does not wait for a turn: a worker runs it as soon as it looks. It begins no turn
//! and counts in none. So a worker that has looked because of an urgent task, and finds that
//! another worker has taken it, must not take an ordinary task from outside instead, whose turn is
//! not due: `only_urgent` says so.
//!
//! Only the worker uses its record. It reads the clock only while a task from outside waits.

use crate::sys::atomic::MODEL;
use crate::sys::time::Instant;
use std::cell::Cell;
use std::time::Duration;

/// The longest turn, and the least time between two turns.
pub const TURN: Duration = Duration::from_millis(1);

#[derive(Default)]
pub struct Turns {
    /// The start of the current turn; None between turns.
    begun: Cell<Option<Instant>>,
    /// How many more tasks the current turn may take.
    left: Cell<usize>,
    /// The end of the last turn, if there was one.
    ended: Cell<Option<Instant>>,
    /// The worker has not yet noted that the last task of the last turn has returned.
    runs: Cell<bool>,
    /// The worker looks at the tasks from outside because of an urgent one, between two turns.
    only_urgent: Cell<bool>,
}

impl Turns {
    /// True if a task from outside must run before the worker's own tasks. `waiting` is the number
    /// of tasks from outside, at least one.
    #[cold]
    pub fn is_due(&self, waiting: usize) -> bool {
        self.only_urgent.set(false);
        if MODEL {
            return true; // models have no clock
        }
        let now = Instant::now();
        if self.begun.get().is_some() {
            return self.lasts_at(now);
        }
        let due = self.ended.get().is_none_or(|ended| now - ended >= TURN);
        if due {
            self.begun.set(Some(now));
            self.left.set(waiting);
            self.runs.set(true);
        }
        due
    }

    /// Called when an urgent task waits, and the worker is about to look for it.
    #[cold]
    pub fn begin_urgent(&self) {
        self.only_urgent.set(self.begun.get().is_none());
    }

    /// True if only urgent tasks may be taken. True once for each `begin_urgent`.
    #[cold]
    pub fn is_only_urgent(&self) -> bool {
        self.only_urgent.take()
    }

    /// True if a turn is not over yet.
    #[cold]
    pub fn lasts(&self) -> bool {
        MODEL || self.lasts_at(Instant::now())
    }

    fn lasts_at(&self, now: Instant) -> bool {
        let Some(begun) = self.begun.get() else { return false };
        let lasts = now - begun < TURN;
        if !lasts {
            self.begun.set(None);
            self.ended.set(Some(now));
        }
        lasts
    }

    /// Called when the worker has taken a task from outside, or has found none. If `more`, others
    /// may wait.
    pub fn took(&self, more: bool) {
        self.left.set(self.left.get().saturating_sub(1));
        if !more || self.left.get() == 0 {
            self.end();
        }
    }

    /// Called when a task from outside has returned. If it was the last of its turn, the turn
    /// counts as ended now, because the own tasks could not run during that task.
    #[inline]
    pub fn returned(&self) {
        if self.runs.get() && self.begun.get().is_none() {
            self.runs.set(false);
            self.ended.set(Some(Instant::now()));
        }
    }

    /// Called when no task from outside waits: the current turn, if there is one, is over.
    #[inline]
    pub fn end(&self) {
        if let Some(begun) = self.begun.take() {
            self.ended.set(Some(begun));
        }
    }
}
