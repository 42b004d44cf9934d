//! The pace of a worker in a range of numbers: for [`loops`](super::loops) and
//! [`reduce`](super::reduce). It shows which parts of the range are worth a theft.

use crate::sys::atomic::{AtomicUsize, Ordering};
use crate::sys::time::Instant;
use std::time::Duration;

/// A part of a range that takes less time is not worth a theft: some four times the cost of one.
const WORTHWHILE: Duration = Duration::from_micros(2);

/// The greatest number of units that `measure` writes: twice as many units are still a `usize`.
const MOST_SMALL: u128 = usize::MAX as u128 / 2;

/// Measures the pace of a worker in its part of a range.
pub struct Pace {
    /// The start of the measurement; None: no thief has come yet.
    begun: Option<Instant>,
    /// The units done since `begun`; the worker counts them.
    pub done: usize,
}

impl Pace {
    pub const UNMEASURED: Pace = Pace { begun: None, done: 0 };

    pub fn from_now() -> Self {
        Pace { begun: Some(Instant::now()), done: 0 }
    }

    /// True if a thief has come, so that the pace is measured.
    pub fn is_begun(&self) -> bool {
        self.begun.is_some()
    }

    /// Writes to `small` how many units take `WORTHWHILE`, at the worker's pace since the last
    /// measurement. Writes nothing if the worker has done no unit since then; or if it has worked
    /// for less than `WORTHWHILE`, and `small` is known: such a measurement has large errors.
    pub fn measure(&mut self, small: &AtomicUsize) {
        if self.done == 0 {
            return;
        }
        let now = Instant::now();
        if let Some(begun) = self.begun {
            let elapsed = now - begun;
            if elapsed < WORTHWHILE && small.load(Ordering::Relaxed) != 0 {
                return;
            }
            let units = self.done as u128 * WORTHWHILE.as_nanos() / elapsed.as_nanos().max(1);
            small.store(units.clamp(1, MOST_SMALL) as usize, Ordering::Relaxed);
        }
        *self = Pace { begun: Some(now), done: 0 };
    }
}
