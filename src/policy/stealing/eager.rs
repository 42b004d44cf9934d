//! Eager publishing: when an owner publishes its only task.
//!
//! A task that is alone in a split deque becomes public if several workers search. Otherwise it
//! normally stays private: its owner will most likely take it next, and owner and thief could take
//! a public task from each other forever. But if the owner first computes for long, the thief has
//! to raid the deque, which takes several microseconds. In kind `cont` this happens at each spawn:
//! the spawner's continuation lies alone in the deque while the child runs.
//!
//! So when a thief takes a task that was alone, both the owner and the thief become *eager*: each
//! of their pushes publishes its task at once. A worker is eager until its pushes, or its thefts of
//! lone tasks, follow each other so closely that the cost of publishing matters (`FAR`).
//!
//! While a worker searches, every owner is eager, as long as its pushes are far apart. So the first
//! task of a parallel phase is stolen at once.

use crate::sys::atomic::{AtomicBool, MODEL, Ordering, Pad};
use crate::sys::memory;
use crate::sys::memory::NoMemory;
use crate::sys::time::Instant;
use std::cell::Cell;
use std::time::Duration;

/// The least time between two pushes that are far apart: some twenty times the cost of publishing a
/// task and taking it back, some ten times the cost of stealing it.
const FAR: Duration = Duration::from_micros(1);

#[derive(Default)]
struct Publisher {
    /// Relaxed: an owner that sees it late publishes eagerly from a later push on.
    is_eager: AtomicBool,
    /// True if the worker has pushed nothing since it last took a lone task.
    fresh: Cell<bool>,
    /// The time of the last theft or push.
    last: Cell<Option<Instant>>,
}

/// Tells which workers publish eagerly. Only the worker itself uses its cells.
pub struct Eagerness(Box<[Pad<Publisher>]>);

// SAFETY: only the worker itself uses its cells; the rest is atomic.
unsafe impl Sync for Eagerness {}

impl Eagerness {
    pub fn new(workers: usize) -> Result<Self, NoMemory> {
        Ok(Eagerness(memory::slice(workers, |_| Ok(Pad::default()))?))
    }

    /// Notes that the worker `thief` has taken a task that was alone in the deque of `owner`.
    /// Returns true if the caller must ask both workers, and not the owner alone.
    #[cold]
    pub fn taken(&self, thief: usize, owner: usize) -> bool {
        self.0[owner].is_eager.store(true, Ordering::Relaxed);
        let publisher = &self.0[thief];
        let far = publisher.is_far();
        publisher.is_eager.store(far, Ordering::Relaxed);
        publisher.fresh.set(far);
        far
    }

    /// True if the worker publishes the task that it has just pushed. If `searched`, another worker
    /// searches now.
    pub fn publishes_at_once(&self, worker: usize, searched: bool) -> bool {
        let publisher = &self.0[worker];
        if !publisher.is_eager.load(Ordering::Relaxed) {
            return searched && publisher.is_far();
        }
        let is_eager = publisher.fresh.replace(false) || publisher.is_far();
        publisher.is_eager.store(is_eager, Ordering::Relaxed);
        is_eager
    }
}

impl Publisher {
    fn is_far(&self) -> bool {
        if MODEL {
            return self.last.replace(Some(Instant::now())).is_none(); // models have no clock
        }
        let now = Instant::now();
        self.last.replace(Some(now)).is_none_or(|last| now - last > FAR)
    }
}
