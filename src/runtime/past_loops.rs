//! What a worker remembers of its last loops: hints for the next ones (`api::loops`).

use crate::runtime::loop_shape::LoopShape;
use std::cell::Cell;
use std::time::Duration;

/// How many loops a worker remembers, each with another body.
const LOOPS: usize = 4;

/// A loop that has ended.
#[derive(Clone, Copy)]
struct PastLoop {
    /// The time from the loop's beginning to its end, in seconds, divided by its units.
    unit: f64,
    shape: LoopShape,
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
}

impl PastLoops {
    fn place_of(&self, body: usize) -> Option<usize> {
        self.bodies.iter().position(|known| known.get() == body)
    }

    /// Remembers a loop of at least one unit. `shape` is even if it was not
    /// measured.
    pub fn add(&self, body: usize, units: usize, took: Duration, shape: LoopShape) {
        let place = self.place_of(body).unwrap_or_else(|| {
            let oldest = self.oldest.get();
            self.oldest.set((oldest + 1) % LOOPS);
            oldest
        });
        let unit = took.as_secs_f64() / units as f64;
        self.bodies[place].set(body);
        self.loops[place].set(Some(PastLoop { unit, shape }));
    }

    /// How long a loop will take, and of which shape it will be, if its units take as long as in the
    /// last loop with the same body. None: there is no such loop.
    pub fn expects(&self, body: usize, units: usize) -> Option<(Duration, LoopShape)> {
        let past = self.loops[self.place_of(body)?].get()?;
        let takes = Duration::try_from_secs_f64(past.unit * units as f64).ok()?;
        Some((takes, past.shape))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVEN: LoopShape = LoopShape::EVEN;
    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_loop_with_the_same_body_takes_as_long_for_each_unit() {
        let past = PastLoops::default();
        past.add(0x1000, 100, MS, EVEN);
        for (units, takes) in [(100, MS), (300, 3 * MS), (1, MS / 100)] {
            assert_eq!(past.expects(0x1000, units), Some((takes, EVEN)));
        }
    }

    #[test]
    fn nothing_is_known_of_another_loop() {
        let past = PastLoops::default();
        assert_eq!(past.expects(0x1000, 100), None);
        past.add(0x1000, 100, MS, EVEN);
        assert_eq!(past.expects(0x2000, 100), None);
        past.add(0x1000, 1, Duration::from_secs(1 << 40), EVEN);
        assert_eq!(past.expects(0x1000, usize::MAX), None); // the time is too long for a Duration
    }

    #[test]
    fn the_last_loops_are_known_in_any_order() {
        let past = PastLoops::default();
        for round in 1..4 {
            for body in 1..=LOOPS {
                past.add(body, 1, (round * body) as u32 * MS, EVEN);
            }
        }
        for body in 1..=LOOPS {
            assert_eq!(past.expects(body, 1), Some((3 * body as u32 * MS, EVEN)));
        }
        past.add(LOOPS + 1, 1, MS, EVEN);
        assert_eq!(past.expects(1, 1), None); // added first
        assert!((2..=LOOPS + 1).all(|body| past.expects(body, 1).is_some()));
    }

    #[test]
    fn the_last_shape_is_expected() {
        let past = PastLoops::default();
        let [low, high] = [0..1, 1..2].map(|half| EVEN.corrected(&EVEN.times(half, 2, MS)));
        assert_ne!(low, high);
        for shape in [low, high, EVEN, low] {
            past.add(0x1000, 1, MS, shape);
            assert_eq!(past.expects(0x1000, 1), Some((MS, shape)));
        }
    }
}
