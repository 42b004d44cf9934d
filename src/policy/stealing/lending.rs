//! A task that is alone in a split deque is its owner's own: most likely that takes it next, and thieves
//! would take turns with it for ever. But if its owner computes for long meanwhile, a thief has to raid the
//! deque, which takes some ten microseconds. Such is the life of kind `cont`: what is left of the
//! spawner lies alone in the deque, while its child runs.
//!
//! So when a task that was alone is taken, both its owner and the thief *lend* from then on: each push makes its
//! task public at once, as long as the pushes, and such thefts, are far apart: farther than what lending costs
//! could matter for.
//!
//! While a worker searches, every owner lends, as long as its pushes are far apart. So the first task of a
//! parallel phase is stolen at once.

use crate::sys::atomic::{AtomicBool, Ordering, Pad};
use crate::sys::memory;
use crate::sys::memory::NoMemory;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Some twenty times what it costs to lend a task and to take it back, some ten times what it costs to steal it.
const FAR: Duration = Duration::from_micros(1);

#[derive(Default)]
struct Lender {
    /// Relaxed: who sees it late lends later.
    lends: AtomicBool,
    /// Nothing was pushed since the theft.
    fresh: Cell<bool>,
    /// The last theft or push.
    last: Cell<Option<Instant>>,
}

/// One for each worker; the cells are its alone.
pub struct Lending(Box<[Pad<Lender>]>);

// SAFETY: as said.
unsafe impl Sync for Lending {}

impl Lending {
    pub fn new(workers: usize) -> Result<Self, NoMemory> {
        Ok(Lending(memory::slice(workers, |_| Ok(Pad::default()))?))
    }

    /// The worker `thief` has taken a task that was alone in the deque of `owner`. True if its own next push is to
    /// be asked about; the owner's is at any rate.
    #[cold]
    pub fn taken(&self, thief: usize, owner: usize) -> bool {
        self.0[owner].lends.store(true, Ordering::Relaxed);
        let lender = &self.0[thief];
        let far = lender.is_far();
        lender.lends.store(far, Ordering::Relaxed);
        lender.fresh.set(far);
        far
    }

    /// True if the task that the worker has just pushed is lent. `searched`: another worker searches now.
    pub fn lends(&self, worker: usize, searched: bool) -> bool {
        let lender = &self.0[worker];
        if !lender.lends.load(Ordering::Relaxed) {
            return searched && lender.is_far();
        }
        let lends = lender.fresh.replace(false) || lender.is_far();
        lender.lends.store(lends, Ordering::Relaxed);
        lends
    }
}

impl Lender {
    fn is_far(&self) -> bool {
        if cfg!(loom) {
            return self.last.replace(Some(Instant::now())).is_none(); // models know no time
        }
        let now = Instant::now();
        self.last.replace(Some(now)).is_none_or(|last| now - last > FAR)
    }
}
