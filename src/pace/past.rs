//! What a worker remembers of its last loops, as hints for the next ones (`api::loops`). A *lone*
//! loop wakes no worker when it begins.

use crate::pace::shape::LoopShape;
use crate::sys::time::Instant;
use std::cell::Cell;
use std::time::Duration;

/// How many loops a worker remembers. Their bodies differ.
const LOOPS: usize = 4;

/// Two shapes are alike if each mark of one differs from the same mark of the other by at most this
/// share of the range. A measured shape is expected again if it is like the previous one, or, if it
/// is the first, like that of equal units. (Rejected: to expect every measured shape. Loops whose
/// shapes alternate then took 2 % longer than without shapes.)
const ALIKE: f32 = 0.15;

/// A loop counts as one of equal units if each mark of its shape differs from that of equal units
/// by at most this share of the range. The library divides such a loop into halves with equal
/// numbers of units: the calculation of halves that take equal time would cost more than it gains.
const EVEN: f32 = 0.02;

#[derive(Clone, Copy)]
struct PastLoop {
    /// The loop's time in seconds, divided by its units.
    unit: f64,
    /// Like `unit`, for the loop on one worker. None means that it is not measured yet.
    unit_alone: Option<f64>,
    /// Grows if a wake-up has paid; else it falls. Negative: this many loops will still be lone.
    gain: i32,
    was_alone: bool,
    /// How many loops with help until `unit_alone` is measured again. Then `interval` doubles.
    until_measured: u32,
    interval: u32,
    /// The shape that was measured last; before the first measurement, the shape of equal units.
    shape: LoopShape,
    is_shape_expected: bool,
}

/// A worker's last loops. A loop with a new body replaces the one that was added first.
#[derive(Default)]
pub struct PastLoops {
    /// The address of each loop's body; 0: there is no loop.
    bodies: [Cell<usize>; LOOPS],
    loops: [Cell<PastLoop>; LOOPS],
    /// The index of the loop that was added first.
    oldest: Cell<usize>,
    /// The end of the last lone loop, and the total time of the series of lone loops up to it.
    lone: Cell<Option<(Instant, Duration)>>,
    /// The number of lone loops since the last one that was long enough for a wake-up.
    in_a_row: Cell<u32>,
}

/// Lone loops are a series if less than this is between them: a woken worker would stay awake from
/// one to the next (`idle::Patience`).
const CLOSE: Duration = Duration::from_micros(100);

/// After this many lone loops in a row a loop of at least `LEAST_COST`, the time of the quickest
/// wake-ups, wakes a worker all the same. Only a wake-up measures the cost of one, and the last
/// measurement may be that of a busy machine.
const MOST_IN_A_ROW: u32 = 100;
const LEAST_COST: Duration = Duration::from_micros(20);

/// The most that `PastLoop::gain` grows to.
const MOST_GAIN: i32 = 4;
/// `PastLoop::interval` at first, and at most.
const LEAST_INTERVAL: u32 = 4;
const MOST_INTERVAL: u32 = 64;
/// When wake-ups do not pay, this many loops are lone before the next attempt.
const LONE_LOOPS: i32 = 16;

impl Default for PastLoop {
    /// The state before the first loop with this body has ended.
    fn default() -> Self {
        PastLoop {
            unit: 0.0,
            unit_alone: None,
            gain: 0,
            was_alone: false,
            until_measured: LEAST_INTERVAL,
            interval: LEAST_INTERVAL,
            shape: LoopShape::EVEN,
            is_shape_expected: false,
        }
    }
}

impl PastLoop {
    /// The record after another loop with this body, which has taken `unit` seconds per unit.
    fn after(self, unit: f64, was_alone: bool) -> PastLoop {
        let (unit_alone, gain) = match self.unit_alone {
            _ if was_alone => (Some(unit), if self.gain < 0 { self.gain + 1 } else { self.gain }),
            None => (None, self.gain),
            // The first loop after a lone one may have woken several workers, so it does not count.
            alone if self.was_alone => (alone, self.gain),
            // If a wake-up hardly pays, a lone loop takes less than twice as long as one with help.
            Some(alone) if unit <= alone => {
                (Some(alone.min(2.0 * unit)), (self.gain + 1).min(MOST_GAIN))
            }
            Some(alone) if self.gain > 0 => (Some(alone), self.gain - 1),
            Some(alone) => (Some(alone), -LONE_LOOPS),
        };
        let (until_measured, interval) = if was_alone {
            (self.interval, (2 * self.interval).min(MOST_INTERVAL))
        } else {
            (self.until_measured.saturating_sub(1), self.interval)
        };
        PastLoop { unit, unit_alone, gain, was_alone, until_measured, interval, ..self }
    }
}

impl PastLoops {
    /// How long the worker should do a loop alone before it wakes another worker; None: it should
    /// wake one at once. `wake_cost` is the time that a wake-up takes. A wake-up is tried if the
    /// lone loop, or its series, takes several times as long. If loops with help repeatedly take
    /// longer than lone ones, the next loops are lone.
    pub fn lone_time(&self, wake_cost: Duration, body: usize, units: usize) -> Option<Duration> {
        let past = self.loops[self.place_of(body)?].get();
        let unit = past.unit_alone.unwrap_or(past.unit);
        let takes = Duration::try_from_secs_f64(unit * units as f64).ok()?;
        let is_due = takes >= LEAST_COST && self.in_a_row.get() >= MOST_IN_A_ROW;
        let is_known = past.unit_alone.is_some() && past.until_measured > 0;
        let pays = if is_known { wake_cost * 7 / 4 } else { wake_cost * 4 };
        let is_worth_waking = past.gain >= 0
            && (takes >= pays || self.lone_before(CLOSE) + takes >= wake_cost * 4)
            || is_due;
        self.in_a_row.set(if is_worth_waking { 0 } else { self.in_a_row.get().saturating_add(1) });
        if is_worth_waking {
            self.lone.set(None);
        }
        (!is_worth_waking).then(|| wake_cost.max(takes * 5 / 4))
    }

    /// The total time of the last series of lone loops; 0 if it ended at least `ago` before now.
    fn lone_before(&self, ago: Duration) -> Duration {
        let close = self.lone.get().filter(|(end, _)| end.elapsed() < ago);
        close.map_or(Duration::ZERO, |(_, sum)| sum)
    }

    fn place_of(&self, body: usize) -> Option<usize> {
        self.bodies.iter().position(|known| known.get() == body)
    }

    /// Remembers a loop of at least one unit. `shape` is None if it was not measured.
    pub fn add(
        &self,
        body: usize,
        units: usize,
        took: Duration,
        was_alone: bool,
        shape: Option<LoopShape>,
    ) {
        let place = self.place_of(body).unwrap_or_else(|| {
            let oldest = self.oldest.get();
            self.oldest.set((oldest + 1) % LOOPS);
            self.bodies[oldest].set(body);
            self.loops[oldest].take();
            oldest
        });
        let past = &self.loops[place];
        let before = past.get();
        past.set(before.after(took.as_secs_f64() / units as f64, was_alone));
        if let Some(shape) = shape {
            let is_alike = shape.is_within(ALIKE, &before.shape);
            let is_shape_expected = is_alike && !shape.is_within(EVEN, &LoopShape::EVEN);
            past.set(PastLoop { shape, is_shape_expected, ..past.get() });
        }
        if was_alone {
            self.lone.set(Some((Instant::now(), self.lone_before(CLOSE + took) + took)));
        }
    }

    /// The time that a loop will take if its units take as long as in the last loop with the same
    /// body, and the loop's shape. Returns None if no such loop is known. The shape is None if the
    /// units are equal, or if the last two shapes differ.
    pub fn expects(&self, body: usize, units: usize) -> Option<(Duration, Option<LoopShape>)> {
        let past = self.loops[self.place_of(body)?].get();
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
        past.add(0x1000, 100, MS, false, None);
        for (units, takes) in [(100, MS), (300, 3 * MS), (1, MS / 100)] {
            assert_eq!(past.expects(0x1000, units), Some((takes, None)));
        }
    }

    const COST: Duration = Duration::from_micros(40);

    /// Does a loop that takes this time alone, or with help; true if it was lone.
    fn does(past: &PastLoops, alone: u64, helped: u64) -> bool {
        let was_alone = past.lone_time(COST, 0x1000, 16).is_some();
        let took = Duration::from_micros(if was_alone { alone } else { helped });
        past.add(0x1000, 16, took, was_alone, None);
        past.lone.set(None); // a pause follows
        was_alone
    }

    fn lone_of(past: &PastLoops, loops: usize, alone: u64, helped: u64) -> usize {
        (0..loops).filter(|_| does(past, alone, helped)).count()
    }

    #[test]
    fn a_wake_up_is_tried_and_given_up_if_it_does_not_pay() {
        let past = PastLoops::default();
        assert!(!does(&past, 100, 75)); // the pace is not known yet
        assert!(does(&past, 100, 75)); // to measure a lone loop's time
        assert!(lone_of(&past, 1000, 100, 75) < 1000 / 50); // lone only to measure it again
        // Now help does not pay: when `gain` is negative, two loops in 18 are helped.
        lone_of(&past, MOST_GAIN as usize + 2, 100, 110);
        assert_eq!(lone_of(&past, 180, 100, 110), 160);
        // Help pays again.
        lone_of(&past, LONE_LOOPS as usize, 100, 75);
        assert!(lone_of(&past, 1000, 100, 75) < 1000 / 50);
    }

    #[test]
    fn a_loop_shorter_than_a_wake_up_is_lone_until_the_cost_is_due_to_be_measured() {
        let past = PastLoops::default();
        assert!(!does(&past, 30, 30));
        assert_eq!(lone_of(&past, MOST_IN_A_ROW as usize, 30, 60), MOST_IN_A_ROW as usize);
        assert!(!does(&past, 30, 60));
        let short = PastLoops::default();
        assert!(!does(&short, 10, 10));
        assert_eq!(lone_of(&short, 1000, 10, 60), 1000);
    }

    #[test]
    fn nothing_is_known_of_another_loop() {
        let past = PastLoops::default();
        assert_eq!(past.expects(0x1000, 100), None);
        past.add(0x1000, 100, MS, false, None);
        assert_eq!(past.expects(0x2000, 100), None);
        past.add(0x1000, 1, Duration::from_secs(1 << 40), false, None);
        assert_eq!(past.expects(0x1000, usize::MAX), None); // the time is too long for a Duration
    }

    #[test]
    fn the_last_loops_are_known_in_any_order() {
        let past = PastLoops::default();
        for round in 1..4 {
            for body in 1..=LOOPS {
                past.add(body, 1, (round * body) as u32 * MS, false, None);
            }
        }
        for body in 1..=LOOPS {
            assert_eq!(past.expects(body, 1), Some((3 * body as u32 * MS, None)));
        }
        past.add(LOOPS + 1, 1, MS, false, None);
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
            past.add(0x1000, 1, MS, false, measured);
            assert_eq!(past.expects(0x1000, 1), Some((MS, expected)), "step {step}");
        }
    }
}
