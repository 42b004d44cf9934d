//! When tasks from outside the run have their turn at a worker whose own tasks never end.
//!
//! A turn begins when a task from outside waits and the worker's own tasks have had [`TURN`] since
//! the last turn. During the turn the tasks from outside that wait at its beginning go first, one
//! after the other. The turn ends when all of them have begun, but after `TURN` at the latest, when
//! the task that runs by then has ended. Then the own tasks continue. So neither side can keep the
//! other waiting.
//!
//! Rejected: all tasks from outside that wait at any time of the turn. Tasks that yield are among
//! them, and would have many turns in a millisecond, and the own tasks none (c_tests/yields.c).
//!
//! Only the worker itself uses its record, and reads the clock only while a task from outside waits.

use crate::sys::time::Instant;
use std::cell::Cell;
use std::time::Duration;

/// The longest turn, and the least time between two turns.
pub const TURN: Duration = Duration::from_millis(1);

/// Two alarms closer than this follow each other so closely that their cost matters: see
/// `queue::PrivatePart::defer_alarm`.
const OFTEN: Duration = Duration::from_micros(10);

/// One worker's turns.
#[derive(Default)]
pub struct Turns {
    /// The start of the present turn; None: the own tasks have theirs.
    begun: Cell<Option<Instant>>,
    /// How many more tasks the present turn has.
    left: Cell<usize>,
    /// The end of the last turn; None: there was none.
    ended: Cell<Option<Instant>>,
    /// The last task of the last turn has not returned, as far as the worker knows.
    runs: Cell<bool>,
    last_alarm: Cell<Option<Instant>>,
}

impl Turns {
    /// True if a task from outside goes before the worker's own tasks. `waiting`: the number of tasks
    /// from outside, at least one.
    #[cold]
    pub fn is_due(&self, waiting: usize) -> bool {
        if cfg!(loom) {
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

    /// True if a turn is not over yet.
    #[cold]
    pub fn lasts(&self) -> bool {
        cfg!(loom) || self.lasts_at(Instant::now())
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

    /// The worker has taken a task from outside, or has found none. `more`: others may wait.
    pub fn took(&self, more: bool) {
        self.left.set(self.left.get().saturating_sub(1));
        if !more || self.left.get() == 0 {
            self.end();
        }
    }

    /// A task from outside has returned. If it was the last of its turn, that ends now: the own tasks
    /// have not run meanwhile.
    #[inline]
    pub fn returned(&self) {
        if self.runs.get() && self.begun.get().is_none() {
            self.runs.set(false);
            self.ended.set(Some(Instant::now()));
        }
    }

    /// No task from outside waits: the present turn, if there is one, is over.
    #[inline]
    pub fn end(&self) {
        if let Some(begun) = self.begun.take() {
            self.ended.set(Some(begun));
        }
    }

    /// Notes that the worker has found an alarm although no turn was due. True if it did so within the
    /// last `OFTEN`, too.
    #[cold]
    pub fn alarms_often(&self) -> bool {
        let now = Instant::now();
        self.last_alarm.replace(Some(now)).is_some_and(|last| now - last < OFTEN)
    }
}
