//! What the calls of a policy cost, in nanoseconds, beyond those of the recorder's stack.

use serde::Serialize;

/// The price of a place that was never used is measured for queues up to these lengths. Memory that
/// is touched for the first time comes from farther away the longer the queue is.
pub const LENGTHS: [usize; 3] = [1 << 14, 1 << 16, 1 << 18];

/// A price for each of the lengths.
pub type Fresh = [f64; LENGTHS.len()];

/// The price of a place in a queue of this length.
pub fn fresh_at<T: Copy>(fresh: &[T; LENGTHS.len()], length: usize) -> T {
    let at = LENGTHS.iter().position(|&up_to| length <= up_to);
    fresh[at.unwrap_or(LENGTHS.len() - 1)]
}

/// How long tasks think between two operations on a queue with a lock, while the price of
/// contention is measured: the average number of iterations of a multiplication and an addition.
pub const THINKS: [u32; 4] = [0, 16, 64, 256];

/// Nanoseconds for an operation and the time to think before it: of one worker, and of two
/// together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Turns {
    pub alone: f64,
    pub two: f64,
}

/// What a worker pays for the lock if its rival has used it since the worker's last operation, by
/// the worker's time to think.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Contention {
    pub turns: [Turns; THINKS.len()],
    /// Nanoseconds from one operation to the next in a recording of tasks that do not think.
    pub least: f64,
}

impl Contention {
    /// For a worker whose last operation was `ago` nanoseconds ago, as recorded: how much longer an
    /// operation takes than alone, and for how long it keeps others away. The latter is at most as
    /// long as if nobody thought.
    pub fn at(&self, ago: f64) -> (f64, f64) {
        let Contention { turns, least } = self;
        let think = ago - least;
        let thought = |of: &Turns| of.alone - turns[0].alone;
        // Values below the first lie on the line through the first two.
        let more = turns[1..].iter().position(|of| thought(of) >= think).map(|at| at + 1);
        let (less, more) = more.map_or((turns.len() - 1, turns.len() - 1), |more| (more - 1, more));
        let (less, more) = (turns[less], turns[more]);
        let length = thought(&more) - thought(&less);
        let way = if length > 0.0 { ((think - thought(&less)) / length).max(-1.0) } else { 1.0 };
        let between = |of: fn(&Turns) -> f64| of(&less) + way * (of(&more) - of(&less));
        let (alone, two) = (between(|turns| turns.alone), between(|turns| turns.two));
        ((2.0 * two - alone).max(0.0), two.min(turns[0].two))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PricesIn<T> {
    /// Adding a task, taking it from the worker's own queue or from the shared one, and a fork with
    /// its join. Negative if it costs less than in the recorder.
    pub push: T,
    pub run: T,
    pub fork: T,
    /// What it costs more to add a task in a place of the queue that was never used; with bounded
    /// deques, to send it through the queue of all.
    pub fresh: [T; LENGTHS.len()],
    /// What a thief spends on a task that it takes, and what its victim loses.
    pub thief: T,
    pub robbed: T,
    /// How long a thief searches until it has a task of an owner that computes and does not answer.
    pub late: T,
    /// A look at an empty queue of another worker, and what a search takes beyond its looks.
    pub look: T,
    pub pause: T,
    /// What a search in vain costs each owner, once, when it next adds to its deque.
    pub vain: T,
    /// The time from a wake-up until the woken worker runs, and what the waker spends.
    pub wake: T,
    pub waker: T,
    /// The same for a worker that has slept since the last run.
    pub first_wake: T,
    pub first_waker: T,
    /// The contention for a lock, with spawned tasks, and with forks and joins.
    pub spawns: Contention,
    pub forks: Contention,
    /// A line of memory that another processor has written.
    pub line: T,
    /// A run without tasks, and what each further worker adds.
    pub init: T,
    pub init_worker: T,
}

/// Nanoseconds.
pub type Prices = PricesIn<f64>;

/// In whole picoseconds, except for contention.
pub type Picoseconds = PricesIn<i64>;

impl Prices {
    /// What it costs that a task moves to a worker that searches: the theft from an owner that
    /// computes, and the line of memory with the task.
    pub fn of_a_move(&self) -> f64 {
        self.thief.max(self.late) + self.robbed + self.line
    }
}

impl Picoseconds {
    pub fn fresh_at(&self, length: usize) -> i64 {
        fresh_at(&self.fresh, length)
    }
}

pub fn picoseconds(nanoseconds: f64) -> i64 {
    (nanoseconds * 1e3).round() as i64
}

impl From<&Prices> for Picoseconds {
    fn from(p: &Prices) -> Picoseconds {
        Picoseconds {
            push: picoseconds(p.push),
            run: picoseconds(p.run),
            fork: picoseconds(p.fork),
            fresh: p.fresh.map(picoseconds),
            thief: picoseconds(p.thief),
            robbed: picoseconds(p.robbed),
            late: picoseconds(p.late),
            look: picoseconds(p.look),
            pause: picoseconds(p.pause),
            vain: picoseconds(p.vain),
            wake: picoseconds(p.wake),
            waker: picoseconds(p.waker),
            first_wake: picoseconds(p.first_wake),
            first_waker: picoseconds(p.first_waker),
            spawns: p.spawns,
            forks: p.forks,
            line: picoseconds(p.line),
            init: picoseconds(p.init),
            init_worker: picoseconds(p.init_worker),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contention_is_between_what_was_measured() {
        let turns = [(10.0, 50.0), (20.0, 70.0), (40.0, 80.0), (140.0, 100.0)];
        let turns = turns.map(|(alone, two)| Turns { alone, two });
        let contention = Contention { turns, least: 3.0 };
        assert_eq!(contention.at(3.0), (90.0, 50.0));
        assert_eq!(contention.at(8.0), (2.0 * 60.0 - 15.0, 50.0));
        assert_eq!(contention.at(23.0), (2.0 * 75.0 - 30.0, 50.0));
        assert_eq!(contention.at(1e6), (60.0, 50.0));
        // Operations nearer to each other than any in the calibration.
        assert_eq!(contention.at(0.0), (2.0 * 44.0 - 7.0, 44.0));
        assert_eq!(Contention::default().at(5.0), (0.0, 0.0));
    }
}
