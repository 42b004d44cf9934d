//! What a policy's calls cost, in nanoseconds, beyond what the recorder's stack costs.

use serde::Serialize;

/// Lengths of a queue up to which the prices of a place never used are measured: what is touched for
/// the first time comes from ever farther away.
pub const LENGTHS: [usize; 3] = [1 << 14, 1 << 16, 1 << 18];

/// A price for each of the lengths.
pub type Fresh = [f64; LENGTHS.len()];

/// The price of a place so far from the first.
pub fn fresh_at<T: Copy>(fresh: &[T; LENGTHS.len()], length: usize) -> T {
    let at = LENGTHS.iter().position(|&up_to| length <= up_to);
    fresh[at.unwrap_or(LENGTHS.len() - 1)]
}

/// How long tasks think between two operations on a queue with a lock, where the price of contention is
/// measured: iterations of a multiplication and an addition, on average.
pub const THINKS: [u32; 4] = [0, 16, 64, 256];

/// Nanoseconds an operation, with the time to think before it: of one worker, and of two that do nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Turns {
    pub alone: f64,
    pub two: f64,
}

/// What a worker pays whose rival has had the lock since its own last operation, by its time to think.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Contention {
    pub turns: [Turns; THINKS.len()],
    /// Nanoseconds from an operation to the next, in a recording, where these do not think.
    pub least: f64,
}

impl Contention {
    /// Of a worker whose last operation was so long ago, as recorded: what an operation takes longer than
    /// alone; how long it keeps others away, at most as long as if nobody ever thought.
    pub fn at(&self, ago: f64) -> (f64, f64) {
        let Contention { turns, least } = self;
        let think = ago - least;
        let thought = |of: &Turns| of.alone - turns[0].alone;
        // Those below the first, too, lie on the line through the first two.
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
pub struct Prices {
    /// Adding a task, taking it from the own queue (from the shared one), and a fork with its join;
    /// less than the recorder's if negative.
    pub push: f64,
    pub run: f64,
    pub fork: f64,
    /// Adding a task in a place of the queue that was never used, beyond that; where deques are bounded,
    /// sending it through the queue of all.
    pub fresh: Fresh,
    /// What a thief spends on a task that it takes, and what its victim loses by that.
    pub thief: f64,
    pub robbed: f64,
    /// Until a thief that searches has a task of an owner that computes and does not answer.
    pub late: f64,
    /// A look at the queue of a worker that has none; what a search takes beyond its looks.
    pub look: f64,
    pub pause: f64,
    /// What a search in vain costs each owner that then adds to its deque, once.
    pub vain: f64,
    /// From a wake-up to the woken worker, and what the waker spends.
    pub wake: f64,
    pub waker: f64,
    /// The same of a worker that has rested since the last run.
    pub first_wake: f64,
    pub first_waker: f64,
    /// Where workers contend for a lock, with tasks that one spawns, and with forks and joins.
    pub spawns: Contention,
    pub forks: Contention,
    /// A line of memory that another processor has written.
    pub line: f64,
    /// A run without tasks, and what each worker of it adds to that.
    pub init: f64,
    pub init_worker: f64,
}

/// The same in picoseconds, whole ones, but for contention.
pub struct Picoseconds {
    pub push: i64,
    pub run: i64,
    pub fork: i64,
    pub fresh: [i64; LENGTHS.len()],
    pub thief: i64,
    pub robbed: i64,
    pub late: i64,
    pub look: i64,
    pub pause: i64,
    pub vain: i64,
    pub wake: i64,
    pub waker: i64,
    pub first_wake: i64,
    pub first_waker: i64,
    pub spawns: Contention,
    pub forks: Contention,
    pub line: i64,
    pub init: i64,
    pub init_worker: i64,
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
        // Nearer to each other than those of the calibration.
        assert_eq!(contention.at(0.0), (2.0 * 44.0 - 7.0, 44.0));
        assert_eq!(Contention::default().at(5.0), (0.0, 0.0));
    }
}
