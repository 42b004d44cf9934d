//! The parts of its range in which a loop spends its time. A loop is measured as a hint for the
//! next loop with the same body. (The idea is that of A. Kejariwal, A. Nicolau and C.
//! Polychronopoulos, "History-aware self-scheduling", 2006.)
//!
//! A worker measures the time of a stretch of units, not of each unit. The marks of a shape divide
//! the range into parts that are expected to take equal times. The next loop is divided at the
//! marks, so its stretches begin and end there. The units on both sides of a mark are measured
//! apart, and the measurement shows how wrong the mark was.
//!
//! Rejected: to measure the times of equal parts of the range; if a stretch ended within a part,
//! the next division was off by up to 4 % of the range. Rejected: to divide the time of a stretch
//! among its parts as the last shape says; then errors of measurement add up from loop to loop.

use std::array;
use std::ops::{AddAssign, Range};
use std::time::Duration;

/// The parts of a range that are expected to take equal times.
const PARTS: usize = 8;

/// Divides a loop's range into parts that take equal times. The units of a part count as equal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoopShape {
    /// The ends of all parts but the last, as shares of the range: ascending.
    marks: [f32; PARTS - 1],
}

/// The times that the parts of a loop's range have taken, in nanoseconds.
#[derive(Clone, Copy, Default)]
pub struct LoopTimes([f32; PARTS]);

impl LoopShape {
    pub const EVEN: LoopShape = {
        let mut marks = [0.0; PARTS - 1];
        let mut i = 0;
        while i < PARTS - 1 {
            marks[i] = (i + 1) as f32 / PARTS as f32;
            i += 1;
        }
        LoopShape { marks }
    };

    /// True if each mark differs from the same mark of `other` by at most this share of the range.
    pub fn is_within(&self, share: f32, other: &LoopShape) -> bool {
        self.marks.iter().zip(other.marks).all(|(mark, other)| (mark - other).abs() <= share)
    }

    /// The share of the range before part `i`; 1 if `i` is `PARTS`.
    #[inline]
    fn mark(&self, i: usize) -> f64 {
        match i {
            0 => 0.0,
            PARTS => 1.0,
            _ => f64::from(self.marks[i - 1]),
        }
    }

    /// The time that the first `share` of the range takes, counted in parts.
    #[inline]
    fn time_before(&self, share: f64) -> f64 {
        let i = self.marks.iter().take_while(|&&mark| f64::from(mark) <= share).count();
        let (from, to) = (self.mark(i), self.mark(i + 1));
        i as f64 + if to > from { (share - from) / (to - from) } else { 0.0 }
    }

    /// The reverse of `time_before`.
    #[inline]
    fn share_at(&self, time: f64) -> f64 {
        let i = (time as usize).min(PARTS - 1);
        let (from, to) = (self.mark(i), self.mark(i + 1));
        from + (to - from) * (time - i as f64)
    }

    /// Divides at least two of a loop's units into two parts that take equal times. Returns the
    /// first unit of the second part. Neither part is empty.
    #[inline]
    pub fn middle_of(&self, units: Range<usize>, of_loop: usize) -> usize {
        let count = units.end - units.start;
        if count < of_loop / (2 * PARTS) {
            return units.start + count / 2; // so few that it is not worth the calculation
        }
        let [first, end] =
            [units.start, units.end].map(|unit| self.time_before(unit as f64 / of_loop as f64));
        let middle = self.share_at((first + end) / 2.0) * of_loop as f64;
        ((middle + 0.5) as usize).clamp(units.start + 1, units.end - 1)
    }

    /// The shape of a loop whose parts, divided by this shape, have taken `times`. This shape
    /// itself if no time was measured.
    pub fn corrected(&self, LoopTimes(times): &LoopTimes) -> LoopShape {
        let part = times.iter().map(|&time| f64::from(time)).sum::<f64>() / PARTS as f64;
        if part.is_nan() || part <= 0.0 {
            return *self; // NaN: no difference between the ends of the units is left in an f64
        }
        let (mut i, mut before) = (0, 0.0); // the time before part i
        LoopShape {
            marks: array::from_fn(|mark| {
                let until = (mark + 1) as f64 * part;
                while i < PARTS - 1 && before + f64::from(times[i]) <= until {
                    before += f64::from(times[i]);
                    i += 1;
                }
                let within = ((until - before) / f64::from(times[i])).clamp(0.0, 1.0);
                self.share_at(i as f64 + if within.is_nan() { 0.0 } else { within }) as f32
            }),
        }
    }

    /// The times of the parts, if `units` have taken `took` and all of them are equal.
    pub fn times(&self, units: Range<usize>, of_loop: usize, took: Duration) -> LoopTimes {
        let [first, end] = [units.start, units.end].map(|unit| unit as f64 / of_loop as f64);
        let rate = took.as_secs_f64() * 1e9 / (end - first);
        LoopTimes(array::from_fn(|i| {
            let (from, to) = (first.max(self.mark(i)), end.min(self.mark(i + 1)));
            ((to - from).max(0.0) * rate) as f32
        }))
    }
}

impl AddAssign for LoopTimes {
    fn add_assign(&mut self, other: LoopTimes) {
        for (sum, time) in self.0.iter_mut().zip(other.0) {
            *sum += time;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVEN: LoopShape = LoopShape::EVEN;

    /// The shape that two workers learn in 20 loops with units of these costs. Each worker does the
    /// units on its side of the middle.
    fn learned(units: usize, cost: impl Fn(usize) -> u64) -> LoopShape {
        let mut shape = EVEN;
        for _ in 0..20 {
            let middle = shape.middle_of(0..units, units);
            let mut times = LoopTimes::default();
            for side in [0..middle, middle..units] {
                let took = Duration::from_nanos(side.clone().map(&cost).sum());
                times += shape.times(side, units, took);
            }
            shape = shape.corrected(&times);
        }
        shape
    }

    /// The time of the units before the middle of all, as a share of all time.
    fn first_half(shape: &LoopShape, units: usize, cost: impl Fn(usize) -> u64) -> f64 {
        let middle = shape.middle_of(0..units, units);
        let [first, all] = [middle, units].map(|end| (0..end).map(&cost).sum::<u64>() as f64);
        first / all
    }

    /// The shape of a loop whose part `i` takes all the time.
    fn only(i: usize) -> LoopShape {
        EVEN.corrected(&LoopTimes(array::from_fn(|part| f32::from(u8::from(part == i)))))
    }

    #[test]
    fn the_middle_of_equal_units_is_half_of_them() {
        assert_eq!(EVEN.middle_of(0..1000, 1000), 500);
        assert_eq!(EVEN.middle_of(500..600, 1000), 550);
        assert_eq!(EVEN.middle_of(7..9, 1000), 8);
    }

    #[test]
    fn shapes_are_compared_by_their_marks() {
        assert!(learned(1000, |_| 1000).is_within(0.01, &EVEN));
        assert!(learned(1000, |unit| 100_000 + unit as u64).is_within(0.01, &EVEN));
        let rising = learned(1000, |unit| unit as u64);
        assert!(!rising.is_within(0.2, &EVEN));
        assert!(rising.is_within(0.25, &EVEN)); // half of the time has passed at 0.71
    }

    #[test]
    fn two_workers_learn_where_the_half_of_the_time_has_passed() {
        const UNITS: usize = 10_000;
        let rising = |unit| unit as u64;
        let falling = |unit| (UNITS - unit) as u64;
        let late = |unit| if unit < 9000 { 1 } else { 100 };
        let shares = [
            first_half(&learned(UNITS, rising), UNITS, rising),
            first_half(&learned(UNITS, falling), UNITS, falling),
            first_half(&learned(UNITS, late), UNITS, late),
        ];
        for share in shares {
            assert!((share - 0.5).abs() < 0.01, "{shares:?}");
        }
    }

    #[test]
    fn with_more_workers_the_parts_take_equal_times() {
        const UNITS: usize = 80_000;
        let cost = |unit| (unit * unit / 1000) as u64;
        let mut shape = EVEN;
        for _ in 0..20 {
            let mut times = LoopTimes::default();
            for i in 0..PARTS {
                let [from, to] = [i, i + 1].map(|i| (shape.mark(i) * UNITS as f64) as usize);
                let took = Duration::from_nanos((from..to).map(cost).sum());
                times += shape.times(from..to, UNITS, took);
            }
            shape = shape.corrected(&times);
        }
        for i in 1..PARTS {
            let exact = (i as f64 / PARTS as f64).cbrt();
            assert!((shape.mark(i) - exact).abs() < 0.002, "{i}: {shape:?}");
        }
    }

    #[test]
    fn an_error_of_measurement_does_not_last() {
        let mut shape = only(2);
        for _ in 0..20 {
            shape = shape.corrected(&shape.times(0..1000, 1000, Duration::from_secs(1)));
        }
        assert!(shape.is_within(0.01, &EVEN), "{shape:?}");
    }

    #[test]
    fn a_middle_divides_whatever_the_shape() {
        for shape in [EVEN, only(0), only(5), only(PARTS - 1), learned(1000, |unit| unit as u64)] {
            for of_loop in [2, 3, 16, 17, 1000, usize::MAX] {
                for (from, to) in [(0, 2), (0, of_loop), (of_loop - 2, of_loop)] {
                    let middle = shape.middle_of(from..to, of_loop);
                    assert!(from < middle && middle < to, "{shape:?}: {from} {middle} {to}");
                }
            }
        }
    }

    #[test]
    fn the_middle_is_in_the_part_that_takes_all_the_time() {
        assert_eq!(only(0).middle_of(0..1600, 1600), 100);
        assert_eq!(only(5).middle_of(0..1600, 1600), 1100);
        assert_eq!(only(7).middle_of(0..1600, 1600), 1500);
    }

    #[test]
    fn a_loop_without_times_corrects_nothing() {
        assert_eq!(only(5).corrected(&LoopTimes::default()), only(5));
    }

    #[test]
    fn a_unit_may_be_too_small_a_share_for_the_calculation() {
        let times = EVEN.times(1 << 63..(1 << 63) + 1, usize::MAX, Duration::from_secs(1));
        assert!(EVEN.corrected(&times).is_within(0.5, &EVEN));
    }

    #[test]
    fn the_times_of_all_workers_are_added() {
        let second = Duration::from_secs(1);
        let mut times = EVEN.times(0..80, 160, second);
        times += EVEN.times(80..120, 160, 2 * second);
        times += EVEN.times(120..160, 160, second);
        assert_eq!(EVEN.corrected(&times).middle_of(0..160, 160), 100);
    }
}
