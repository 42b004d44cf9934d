//! The pace of loops and reductions: that of a worker in its part of a range, which shows what parts
//! of it are worth a theft; that of a worker's [`past`] loops; and the [`shape`] of a loop, which is
//! where in its range it takes its time.

pub mod past;
pub mod shape;

use crate::sys::atomic::{AtomicUsize, Ordering};
use crate::sys::time::Instant;
use std::time::Duration;

/// A part of a range that takes less time is not worth a theft: some four times the cost of one.
const WORTHWHILE: Duration = Duration::from_micros(2);

/// The greatest number of units that `measure` writes: twice as many units are still a `usize`.
const MOST_SMALL: u128 = usize::MAX as u128 / 2;

/// Measures the pace of a worker in its part of a range.
pub struct Pace {
    /// The start of the measurement; None: it has not begun.
    begun: Option<Instant>,
    /// The units done since `begun`; the worker counts them.
    pub done: usize,
    /// The first measurement must be as long as any other.
    is_exact: bool,
    /// What a unit took in the last measurement, in seconds; 0: there was none.
    unit: f64,
}

impl Pace {
    /// Of the worker that begins the range. The measurement begins at once, or with the first call
    /// of `measure`.
    pub fn of_first(at_once: bool) -> Self {
        Pace { begun: at_once.then(Instant::now), done: 0, is_exact: true, unit: 0.0 }
    }

    /// Of a thief.
    pub fn from_now() -> Self {
        Pace { is_exact: false, ..Self::of_first(true) }
    }

    /// The time that so many units will take, at the pace that this worker measured last. If it has
    /// measured none, at the pace of `small`, which must not be 0.
    pub fn time_of(&self, units: usize, small: usize) -> Duration {
        let known = WORTHWHILE.as_secs_f64() / small as f64;
        let unit = if self.unit > 0.0 { self.unit } else { known };
        Duration::try_from_secs_f64(unit * units as f64).unwrap_or(Duration::MAX)
    }

    /// True if this worker has measured no pace and has done no unit since `begun`.
    pub fn is_unknown(&self) -> bool {
        self.done == 0 && self.unit == 0.0
    }

    /// True if so many units are not worth a theft, neither at the pace of this worker's last
    /// measurement nor at that of `small`.
    #[inline]
    pub fn are_short(&self, units: usize, small: &AtomicUsize) -> bool {
        let takes = self.unit * units as f64; // 0 if this worker has measured no pace
        units <= small.load(Ordering::Relaxed) && takes <= WORTHWHILE.as_secs_f64()
    }

    /// True if so many units take at least `LONG` times what is worth a theft, at the pace of
    /// `small`, or at that of this worker's last measurement: `small` is 1 for all long units.
    #[inline]
    pub fn are_long(&self, units: usize, small: usize) -> bool {
        const LONG: usize = 2;
        let least = LONG as f64 * WORTHWHILE.as_secs_f64();
        units / LONG >= small || small == 1 && self.unit * units as f64 >= least
    }

    /// The start of the measurement that goes on now.
    pub fn begun(&self) -> Option<Instant> {
        self.begun
    }

    /// True if the pace is measured.
    pub fn is_begun(&self) -> bool {
        self.begun.is_some()
    }

    /// Writes to `small` how many units take `WORTHWHILE`, at the worker's pace since the last
    /// measurement. Writes nothing if the worker has done no unit since then. A measurement of less
    /// than `WORTHWHILE` has large errors: it is written only if `small` is not known, and if it is
    /// not the first measurement of the worker that began the range.
    pub fn measure(&mut self, small: &AtomicUsize) {
        if self.done == 0 {
            return;
        }
        let now = Instant::now();
        if let Some(begun) = self.begun {
            let elapsed = now - begun;
            let is_rough = elapsed < WORTHWHILE;
            if is_rough && (self.is_exact || small.load(Ordering::Relaxed) != 0) {
                return;
            }
            let units = self.done as u128 * WORTHWHILE.as_nanos() / elapsed.as_nanos().max(1);
            small.store(units.clamp(1, MOST_SMALL) as usize, Ordering::Relaxed);
            self.unit = elapsed.as_secs_f64() / self.done as f64;
        }
        *self = Pace { begun: Some(now), done: 0, is_exact: false, ..*self };
    }
}

/// A chunk of a loop takes about so long at most: tasks from outside the run wait for its end.
const LONGEST_CHUNK: Duration = Duration::from_micros(500);

/// How many units of a loop its worker may do at once, so that a chunk does not take much longer than
/// `LONGEST_CHUNK`. The clock is read when this worker has done eight units, and the number of units
/// between two readings grows as long as they are quick: a loop of 5 µs reads it three times at most.
pub struct ChunkLimit {
    units: usize,
    /// The units done since `begun`.
    done: usize,
    next_look: usize,
    begun: Option<Instant>,
}

impl ChunkLimit {
    /// The limit of a worker's first chunks.
    pub const fn at_first() -> Self {
        ChunkLimit { units: 4, done: 0, next_look: 8, begun: None }
    }

    /// The most units that the next chunk may have.
    #[inline]
    pub fn units(&self) -> usize {
        self.units
    }

    /// The worker has done a chunk of so many units.
    #[inline]
    pub fn add(&mut self, units: usize) {
        self.done += units;
        if self.done >= self.next_look {
            self.look();
        }
    }

    #[cold]
    fn look(&mut self) {
        let now = Instant::now();
        if let Some(begun) = self.begun {
            let elapsed = now - begun;
            let most = self.done.saturating_mul(8);
            let fitting = self.done as u128 * LONGEST_CHUNK.as_nanos() / elapsed.as_nanos().max(1);
            self.units = usize::try_from(fitting).unwrap_or(most).clamp(1, most);
            self.next_look = self.units;
        }
        (self.done, self.begun) = (0, Some(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pace of a worker that has measured units of so many microseconds, and the number that the
    /// worker writes to `small`.
    fn measured(micros: f64) -> (Pace, usize) {
        let small = (WORTHWHILE.as_secs_f64() * 1e6 / micros) as usize;
        (Pace { unit: micros * 1e-6, ..Pace::from_now() }, small.max(1))
    }

    #[test]
    fn so_many_units_are_long_as_take_twice_what_is_worth_a_theft() {
        for (micros, least) in [(0.01, 400), (0.1, 40), (1.0, 4), (2.0, 2), (3.0, 2), (6.0, 1)] {
            let (pace, small) = measured(micros);
            assert!(pace.are_long(least, small), "{least} units of {micros} µs are short");
            assert!(!pace.are_long(least - 1, small), "{} of {micros} µs are long", least - 1);
        }
        let unmeasured = Pace::from_now();
        assert!(!unmeasured.are_long(1, 1));
        assert!(unmeasured.are_long(2, 1));
    }

    #[test]
    fn a_worker_without_a_measurement_knows_the_pace_of_the_others() {
        let small = AtomicUsize::new(8);
        assert!(Pace::from_now().are_short(8, &small));
        assert!(!Pace::from_now().are_short(9, &small));
        assert_eq!(Pace::from_now().time_of(8, 8), WORTHWHILE);
        let (slow, _) = measured(1.0); // here 8 units are not short
        assert!(!slow.are_short(8, &small));
    }
}
