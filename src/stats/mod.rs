//! The report of a run about itself. Each worker counts on its own cache line with plain stores;
//! the reader makes the sums, so counting disturbs no other worker.

pub mod bars;
pub mod file;
pub mod live;
pub mod phases;
pub mod report;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A counter that only its worker writes. It is part of no protocol, so it is std's atomic, not
/// loom's. An increment is a load and a store without a locked instruction; other threads may read
/// it at any time.
#[derive(Default)]
pub struct Counter(AtomicUsize);

impl Counter {
    #[inline(always)]
    pub fn add(&self, n: usize) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
    }

    /// Subtracts one, to correct a count that was or will be too high.
    pub fn uncount(&self) {
        self.add(usize::MAX);
    }

    /// Keeps the greatest value seen.
    #[inline(always)]
    pub fn peak(&self, value: usize) {
        if value > self.0.load(Ordering::Relaxed) {
            self.0.store(value, Ordering::Relaxed);
        }
    }

    pub fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    pub fn set(&self, value: usize) {
        self.0.store(value, Ordering::Relaxed);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The worker runs a task, or takes the next one from its own queue.
    Busy,
    /// The worker looks for a task.
    Searching,
    /// The worker sleeps, or has no thread.
    Parked,
    /// The worker's thread is in a blocking section, and no other thread has come to the worker.
    Blocked,
}

impl Phase {
    pub const ALL: [Phase; 4] = [Phase::Busy, Phase::Searching, Phase::Parked, Phase::Blocked];

    pub fn word(self) -> &'static str {
        match self {
            Phase::Busy => "busy",
            Phase::Searching => "searching",
            Phase::Parked => "parked",
            Phase::Blocked => "blocked",
        }
    }
}

/// The nanoseconds that one or several workers have spent in each phase.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Times(pub [u64; Phase::ALL.len()]);

impl Times {
    pub fn of(&self, phase: Phase) -> u64 {
        self.0[phase as usize]
    }

    pub fn all(&self) -> u64 {
        self.0.iter().sum()
    }

    pub fn merge(&mut self, other: Times) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, more)| *sum += more);
    }
}

/// Declares the counters once: the struct, their names, and the merging of two workers' values.
macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident: $merge:ident),+ $(,)?) => {
        /// One worker's counters.
        #[derive(Default)]
        #[repr(C)]
        pub struct Counters { $($(#[$doc])* pub $name: Counter),+ }

        #[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
        pub struct Values { $(pub $name: usize),+ }

        impl Counters {
            pub fn values(&self) -> Values {
                Values { $($name: self.$name.get()),+ }
            }

            pub fn clear(&self) {
                $(self.$name.set(0);)+
            }
        }

        impl Values {
            pub fn merge(&mut self, other: Values) {
                $(counters!(@$merge self.$name, other.$name);)+
            }

            pub fn each(&self, mut visit: impl FnMut(&'static str, usize)) {
                $(visit(stringify!($name), self.$name);)+
            }
        }
    };
    (@sum $a:expr, $b:expr) => { $a += $b };
    (@max $a:expr, $b:expr) => { $a = $a.max($b) };
}

/// The sums over all workers of a run.
#[derive(Clone, Copy, Default, Debug)]
pub struct Totals {
    pub values: Values,
    /// The number of workers that got a thread, and the number of workers that did not.
    pub threads: usize,
    pub threads_missing: usize,
    pub time: Duration,
}

counters! {
    /// Tasks run.
    tasks: sum,
    /// Searches that found a task in another worker's queue.
    steals: sum,
    /// Tasks that these searches have taken.
    stolen_tasks: sum,
    /// Searches that found no task anywhere.
    failed_steals: sum,
    /// Sleeps that only a wake-up ends.
    parks: sum,
    /// Sleeps that a time limit ends.
    naps: sum,
    /// Sleepers woken.
    wakes: sum,
    /// The most tasks that the worker found in its queue when it took one (shared queue: when it
    /// pushed one).
    queue_peak: max,
}
