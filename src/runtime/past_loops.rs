//! What a worker remembers of its last loops: hints for the next ones (`api::loops`).

use crate::runtime::loop_shape::LoopShape;
use crate::sys::time::Instant;
use std::cell::Cell;
use std::time::Duration;

/// How many loops a worker remembers, each with another body.
const LOOPS: usize = 4;

/// Two shapes are alike if each mark of one differs from the same mark of the other by at most this
/// share of the range. A measured shape is expected again if it is like the shape that was measured
/// before it. The first measured shape is compared with that of equal units. (Without this rule,
/// loops whose shapes alternate take 2 % longer than loops without shapes.)
const ALIKE: f32 = 0.15;

/// A loop counts as one of equal units if each mark of its shape differs from that of equal units
/// by at most this share of the range. The library divides such a loop into halves with equal
/// numbers of units: the calculation of halves that take equal time would cost more than it gains.
const EVEN: f32 = 0.02;

/// A loop that has ended.
#[derive(Clone, Copy)]
struct PastLoop {
    /// The time from the loop's beginning to its end, in seconds, divided by its units.
    unit: f64,
    /// The shape that was measured last; before the first measurement, the shape of equal units.
    shape: LoopShape,
    is_shape_expected: bool,
}

/// The owner's last loops. A loop whose body is not among them takes the place of the one that was
/// added first.
#[derive(Default)]
pub struct PastLoops {
    /// The address of each loop's body; 0: there is no loop.
    bodies: [Cell<usize>; LOOPS],
    loops: [Cell<Option<PastLoop>>; LOOPS],
    /// The place of the loop that was added first.
    oldest: Cell<usize>,
    /// The end of the last lone loop, and the time of the lone loops that have followed each other closely
    /// up to it.
    lone: Cell<Option<(Instant, Duration)>>,
}

/// Lone loops follow each other closely if so little time is between them: a woken worker would wait awake
/// from one to the next (`idle::Patience`).
const CLOSE: Duration = Duration::from_micros(100);

impl PastLoops {
    /// For how long the worker should do a loop alone before it wakes another worker; None: it should wake
    /// one at once. `wake_cost`: the time that a wake-up takes. `takes`: the time that the loop took the
    /// last time. A wake-up pays if the loop takes much longer than it, or if several loops that follow
    /// each other closely do.
    pub fn lone_time(&self, wake_cost: Duration, takes: Duration) -> Option<Duration> {
        let close = self.lone.get().filter(|(end, _)| end.elapsed() < CLOSE);
        let before = close.map_or(Duration::ZERO, |(_, sum)| sum);
        let is_worth_waking = takes >= wake_cost * 3 / 2 || before + takes >= wake_cost * 4;
        if is_worth_waking {
            self.lone.set(None);
        }
        (!is_worth_waking).then(|| wake_cost.max(takes * 5 / 4))
    }

    /// A lone loop has ended.
    pub fn add_lone(&self, took: Duration) {
        let close = self.lone.get().filter(|(end, _)| end.elapsed() < CLOSE + took);
        let before = close.map_or(Duration::ZERO, |(_, sum)| sum);
        self.lone.set(Some((Instant::now(), before + took)));
    }

    fn place_of(&self, body: usize) -> Option<usize> {
        self.bodies.iter().position(|known| known.get() == body)
    }

    /// Remembers a loop of at least one unit. `shape`: None if it was not measured.
    pub fn add(&self, body: usize, units: usize, took: Duration, shape: Option<LoopShape>) {
        let unit = took.as_secs_f64() / units as f64;
        let place = self.place_of(body).unwrap_or_else(|| {
            let oldest = self.oldest.get();
            self.oldest.set((oldest + 1) % LOOPS);
            self.bodies[oldest].set(body);
            self.loops[oldest].set(None);
            oldest
        });
        let unmeasured = PastLoop { unit, shape: LoopShape::EVEN, is_shape_expected: false };
        let past = self.loops[place].get().unwrap_or(unmeasured);
        self.loops[place].set(Some(match shape {
            None => PastLoop { unit, ..past },
            Some(shape) => {
                let is_alike = shape.is_within(ALIKE, &past.shape);
                let is_shape_expected = is_alike && !shape.is_within(EVEN, &LoopShape::EVEN);
                PastLoop { unit, shape, is_shape_expected }
            }
        }));
    }

    /// How long a loop will take if its units take as long as in the last loop with the same body, and
    /// its shape. Returns None if no such loop is known. The shape is None if the units are equal, or
    /// if the last two shapes differ.
    pub fn expects(&self, body: usize, units: usize) -> Option<(Duration, Option<LoopShape>)> {
        let past = self.loops[self.place_of(body)?].get()?;
        let takes = Duration::try_from_secs_f64(past.unit * units as f64).ok()?;
        Some((takes, past.is_shape_expected.then_some(past.shape)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::Range;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_loop_with_the_same_body_takes_as_long_for_each_unit() {
        let past = PastLoops::default();
        past.add(0x1000, 100, MS, None);
        for (units, takes) in [(100, MS), (300, 3 * MS), (1, MS / 100)] {
            assert_eq!(past.expects(0x1000, units), Some((takes, None)));
        }
    }

    #[test]
    fn nothing_is_known_of_another_loop() {
        let past = PastLoops::default();
        assert_eq!(past.expects(0x1000, 100), None);
        past.add(0x1000, 100, MS, None);
        assert_eq!(past.expects(0x2000, 100), None);
        past.add(0x1000, 1, Duration::from_secs(1 << 40), None);
        assert_eq!(past.expects(0x1000, usize::MAX), None); // the time is too long for a Duration
    }

    #[test]
    fn the_last_loops_are_known_in_any_order() {
        let past = PastLoops::default();
        for round in 1..4 {
            for body in 1..=LOOPS {
                past.add(body, 1, (round * body) as u32 * MS, None);
            }
        }
        for body in 1..=LOOPS {
            assert_eq!(past.expects(body, 1), Some((3 * body as u32 * MS, None)));
        }
        past.add(LOOPS + 1, 1, MS, None);
        assert_eq!(past.expects(1, 1), None); // added first
        assert!((2..=LOOPS + 1).all(|body| past.expects(body, 1).is_some()));
    }

    /// The shape of a loop of `of_loop` units in which only the units of `part` take time.
    fn shape(of_loop: usize, part: Range<usize>) -> LoopShape {
        LoopShape::EVEN.corrected(&LoopShape::EVEN.times(part, of_loop, MS))
    }

    #[test]
    fn a_shape_is_expected_if_it_was_measured_twice() {
        let past = PastLoops::default();
        let (low, high, similar) = (shape(2, 0..1), shape(2, 1..2), shape(100, 0..51));
        let even = LoopShape::EVEN;
        for (step, (measured, expected)) in [
            (None, None),
            (Some(low), None),
            (Some(low), Some(low)),
            (Some(similar), Some(similar)),
            (None, Some(similar)),
            (Some(high), None),
            (Some(low), None),
            (Some(low), Some(low)),
            (Some(even), None),
            (Some(even), None),
        ]
        .into_iter()
        .enumerate()
        {
            past.add(0x1000, 1, MS, measured);
            assert_eq!(past.expects(0x1000, 1), Some((MS, expected)), "step {step}");
        }
    }
}
