//! The lock of the queue that all workers share: of `lifo` and `fifo` their only one, of the others the one for what
//! bounded deques have no room for.
//!
//! What an operation costs if another worker has had the lock since the own last one is measured, with two workers
//! that do nothing else but think for a while in between: a price for all that a contended lock brings with it, lines
//! of memory that go to and fro, calls of the kernel, sleeps, and workers that fall in step. (To simulate these one by
//! one does not do: each is known to a tenth, but whether two meet at the lock depends on less.)
//!
//! Two workers that think for a time *g* and need *T* an operation, together, spend 2*T* - *g* each. The lock has one
//! user at a time, for *T*; never for longer than if nobody thinks. So many workers, however long they think, get
//! no more out of it than two that do not.
//!
//! *T* is of all operations, those of one worker in a row among them, but charged where the last was another's:
//! so workers that think unevenly are predicted up to a fifth too fast.

use super::state::{Engine, NOBODY, Time};
use crate::prices::picoseconds;

/// What is done under the lock.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Does {
    Spawns,
    Forks,
}

impl Engine<'_> {
    /// Takes the lock, after who came before, for an operation.
    pub fn lock(&mut self, w: usize, does: Does, price: i64, now: Time) {
        let another = self.lock.last != w as u32 && self.lock.last != NOBODY;
        let worker = &mut self.workers[w];
        let begins = now.max(self.lock.free_at);
        let (mut cost, mut held) = (price, price);
        if another {
            let contention = match does {
                Does::Spawns => &self.prices.spawns,
                Does::Forks => &self.prices.forks,
            };
            let (more, two) = contention.at(now.saturating_sub(worker.unlocked) as f64 / 1e3);
            cost += picoseconds(more);
            held = held.max(picoseconds(two)).min(cost);
        }
        worker.debt += (begins - now) as i64 + cost;
        worker.unlocked = begins + cost.max(0) as Time;
        self.lock.free_at = begins + held.max(0) as Time;
        self.lock.last = w as u32;
    }

    /// What is done to the task under the lock.
    pub fn does(&self, task: u32) -> Does {
        if self.graph.tasks[task as usize].forked { Does::Forks } else { Does::Spawns }
    }
}
