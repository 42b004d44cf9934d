//! What a policy's calls cost, in nanoseconds, beyond what the recorder's stack costs.

use serde::Serialize;

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Prices {
    /// Adding a task, taking it from the own queue (from the shared one), and a fork with its join;
    /// less than the recorder's if negative.
    pub push: f64,
    pub run: f64,
    pub fork: f64,
    /// Adding a task to a queue that was never so long, beyond that.
    pub fresh: f64,
    /// What a thief spends on a task that it takes, and what its victim loses by that.
    pub thief: f64,
    pub robbed: f64,
    /// Until a thief that searches has the only task of a deque, whose owner computes meanwhile.
    pub late: f64,
    /// A look at the queue of a worker that has none.
    pub look: f64,
    /// From a wake-up to the woken worker, and what the waker spends.
    pub wake: f64,
    pub waker: f64,
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
    pub fresh: i64,
    pub thief: i64,
    pub robbed: i64,
    pub late: i64,
    pub look: i64,
    pub wake: i64,
    pub waker: i64,
    pub syscall: i64,
    pub line: i64,
    pub init: i64,
    pub init_worker: i64,
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
            fresh: picoseconds(p.fresh),
            thief: picoseconds(p.thief),
            robbed: picoseconds(p.robbed),
            late: picoseconds(p.late),
            look: picoseconds(p.look),
            wake: picoseconds(p.wake),
            waker: picoseconds(p.waker),
            syscall: picoseconds(p.syscall),
            line: picoseconds(p.line),
            init: picoseconds(p.init),
            init_worker: picoseconds(p.init_worker),
        }
    }
}
