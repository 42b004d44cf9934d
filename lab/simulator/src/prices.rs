//! What a policy's calls cost, in nanoseconds, beyond what the recorder's stack costs.

use serde::Serialize;

/// Lengths of a queue up to which the prices of a place never used are measured: what is touched for
/// the first time comes from ever farther away.
pub const LENGTHS: [usize; 3] = [1 << 14, 1 << 16, 1 << 18];

/// A price for each of the lengths.
pub type Fresh = [f64; LENGTHS.len()];

/// The price of a place that makes a queue so long.
pub fn fresh_at<T: Copy>(fresh: &[T; LENGTHS.len()], length: usize) -> T {
    let at = LENGTHS.iter().position(|&up_to| length <= up_to);
    fresh[at.unwrap_or(LENGTHS.len() - 1)]
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Prices {
    /// Adding a task, taking it from the own queue (from the shared one), and a fork with its join;
    /// less than the recorder's if negative.
    pub push: f64,
    pub run: f64,
    pub fork: f64,
    /// Adding a task to a queue that was never so long, beyond that; where deques are bounded,
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
    /// From a wake-up to the woken worker, and what the waker spends.
    pub wake: f64,
    pub waker: f64,
    /// The same of a worker that has rested since the last run.
    pub first_wake: f64,
    pub first_waker: f64,
    /// A call of the kernel for a lock that is held, or is marked, by which nobody sleeps or wakes.
    pub syscall: f64,
    /// A line of memory that another processor has written.
    pub line: f64,
    /// A run without tasks, and what each worker of it adds to that.
    pub init: f64,
    pub init_worker: f64,
}

/// The same in picoseconds, whole ones.
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
    pub wake: i64,
    pub waker: i64,
    pub first_wake: i64,
    pub first_waker: i64,
    pub syscall: i64,
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
            wake: picoseconds(p.wake),
            waker: picoseconds(p.waker),
            first_wake: picoseconds(p.first_wake),
            first_waker: picoseconds(p.first_waker),
            syscall: picoseconds(p.syscall),
            line: picoseconds(p.line),
            init: picoseconds(p.init),
            init_worker: picoseconds(p.init_worker),
        }
    }
}
