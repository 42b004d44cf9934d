//! How fast loops and reductions run. [`Pace`] is a worker's pace in its part of a range, which
//! tells which parts are worth a theft. [`past`] has the pace of a worker's last loops, [`shape`]
//! the places in its range where a loop spends its time.

pub mod past;
pub mod shape;

use crate::sys::atomic::{AtomicUsize, Ordering};
use crate::sys::time::Instant;
use std::time::Duration;

/// A part of a range that takes less time is not worth a theft, which costs a quarter of this.
const WORTHWHILE: Duration = Duration::from_micros(2);

/// The greatest `small`. Twice this number is still a `usize`.
const MOST_SMALL: u128 = usize::MAX as u128 / 2;

/// Measures the pace of a worker in its part of a range. `small`, below, is shared by all workers
/// of the loop: the units that take `WORTHWHILE` at the last measured pace, or 0.
pub struct Pace {
    /// The start of the measurement; None: it has not begun.
    begun: Option<Instant>,
    /// The units done since `begun`. The worker counts them.
    pub done: usize,
    /// The next measurement must not be shorter than `WORTHWHILE`, even if `small` is 0.
    is_exact: bool,
    /// The seconds per unit in the last measurement; 0: there was none.
    unit: f64,
}

impl Pace {
    /// The pace of the worker that begins the range. Measures at once if `at_once`, otherwise from
    /// the first `measure`.
    pub fn of_first(at_once: bool) -> Self {
        Pace { begun: at_once.then(Instant::now), done: 0, is_exact: true, unit: 0.0 }
    }

    /// For a thief.
    pub fn from_now() -> Self {
        Pace { is_exact: false, ..Self::of_first(true) }
    }

    /// The time that `units` will take at this worker's last pace or, if it has measured none, at
    /// that of `small`, which must not be 0.
    pub fn time_of(&self, units: usize, small: usize) -> Duration {
        let known = WORTHWHILE.as_secs_f64() / small as f64;
        let unit = if self.unit > 0.0 { self.unit } else { known };
        Duration::try_from_secs_f64(unit * units as f64).unwrap_or(Duration::MAX)
    }

    /// True if this worker has measured no pace and has done no unit since `begun`.
    pub fn is_unknown(&self) -> bool {
        self.done == 0 && self.unit == 0.0
    }

    /// True if `units` are not worth a theft at this worker's last pace, nor at that of `small`.
    #[inline]
    pub fn are_short(&self, units: usize, small: &AtomicUsize) -> bool {
        let takes = self.unit * units as f64; // 0 if this worker has measured no pace
        units <= small.load(Ordering::Relaxed) && takes <= WORTHWHILE.as_secs_f64()
    }

    /// True if `units` take at least `LONG` times `WORTHWHILE` at the pace of `small`. A `small` of
    /// 1 does not tell how long a unit is; then this worker's last pace can decide.
    #[inline]
    pub fn are_long(&self, units: usize, small: usize) -> bool {
        const LONG: usize = 2;
        let least = LONG as f64 * WORTHWHILE.as_secs_f64();
        units / LONG >= small || small == 1 && self.unit * units as f64 >= least
    }

    pub fn begun(&self) -> Option<Instant> {
        self.begun
    }

    pub fn is_begun(&self) -> bool {
        self.begun.is_some()
    }

    /// Ends a measurement: writes to `small` how many units take `WORTHWHILE` at the worker's pace
    /// since `begun`. Writes nothing if the worker has done no unit since then. A measurement of
    /// less than `WORTHWHILE` has large errors; it is written only if `small` is still 0, and only
    /// by a thief or after another measurement.
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

/// About the longest time of a loop's chunk: tasks from outside the run wait for its end.
const LONGEST_CHUNK: Duration = Duration::from_micros(500);

/// Limits the units of a chunk, so that the chunk does not take much longer than `LONGEST_CHUNK`.
/// The clock is first read after eight units, and less and less often while units are quick: at
/// most three times in a loop of 5 µs.
pub struct ChunkLimit {
    units: usize,
    /// The units done since `begun`.
    done: usize,
    next_look: usize,
    begun: Option<Instant>,
}

impl ChunkLimit {
    pub const fn at_first() -> Self {
        ChunkLimit { units: 4, done: 0, next_look: 8, begun: None }
    }

    /// The most units that the next chunk may have.
    #[inline]
    pub fn units(&self) -> usize {
        self.units
    }

    /// Called when the worker has done a chunk of this many units.
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

    /// The pace of a worker whose units take `micros`, and the number that it writes to `small`.
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
