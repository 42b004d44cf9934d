//! A task that is alone in a split deque is its owner's own: most likely that takes it next, and thieves
//! would take turns with it for ever. But if its owner computes for long meanwhile, a thief has to raid the
//! deque, which takes some ten microseconds. Such is the life of kind `cont`: what is left of the
//! spawner lies alone in the deque, while its child runs.
//!
//! So who has taken a task that was alone *lends* its own: each push makes it public at once, as long as
//! the pushes, and such thefts, are far apart: farther than what lending costs could matter for.

use crate::base::mem::{self, NoMemory};
use crate::base::sync::Pad;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Some hundred times what it costs to lend a task and to take it back.
const FAR: Duration = Duration::from_micros(5);

#[derive(Default)]
struct Lender {
    lends: Cell<bool>,
    /// Nothing was pushed since the theft.
    fresh: Cell<bool>,
    /// The last theft or push.
    last: Cell<Option<Instant>>,
}

/// One for each worker, and its alone.
pub struct Lending(Box<[Pad<Lender>]>);

// SAFETY: each worker uses its own.
unsafe impl Sync for Lending {}

impl Lending {
    pub fn new(workers: usize) -> Result<Self, NoMemory> {
        Ok(Lending(mem::slice(workers, |_| Ok(Pad::default()))?))
    }

    /// The worker has taken a task that was alone in another's deque. True if its own pushes are to be asked about.
    #[cold]
    pub fn took(&self, worker: usize) -> bool {
        let lender = &self.0[worker];
        let far = lender.is_far();
        lender.lends.set(far);
        lender.fresh.set(far);
        far
    }

    /// The worker has pushed a task: is it lent?
    pub fn lends(&self, worker: usize) -> bool {
        let lender = &self.0[worker];
        if lender.lends.get() && !lender.fresh.replace(false) {
            lender.lends.set(lender.is_far());
        }
        lender.lends.get()
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
