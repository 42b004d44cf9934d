//! The lock of the queue that all workers share. For `lifo` and `fifo` this is the only queue, for
//! the other policies it takes the tasks that bounded deques have no room for.
//!
//! The price of an operation on a lock that another worker has used last is measured with two
//! workers that do nothing but such operations, and think for a while between two. This price
//! contains all effects of a contended lock: lines of memory that move between processors, calls of
//! the kernel, sleeps, and workers that fall into step. (Simulating these effects one by one fails:
//! each is known to a tenth, but whether two workers meet at the lock depends on smaller
//! differences.)
//!
//! If two workers think for a time *g* between operations, and together end an operation in each
//! time *T*, each worker spends 2*T* - *g* on an operation. The lock has one user at a time, for
//! *T*, but never for longer than if nobody thinks. So more workers, however long they think, get
//! no more operations out of it than two that do not think.
//!
//! *T* is the mean of all operations, including those that one worker does in a row, but is charged
//! only if another worker has used the lock last. Therefore workers that think unevenly are
//! predicted up to a fifth too fast.

use super::state::{Engine, NOBODY, Time};
use crate::prices::picoseconds;

/// What is done under the lock.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Does {
    Spawns,
    Forks,
}

impl Engine<'_> {
    /// Takes the lock for an operation, after those who came before.
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

    /// Whether a task is spawned or forked, which differ in price under the lock.
    pub fn does(&self, task: u32) -> Does {
        if self.graph.tasks[task as usize].forked { Does::Forks } else { Does::Spawns }
    }
}
