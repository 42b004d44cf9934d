//! Bounded deques, and the queue of all for the tasks that they have no room for.

use super::lock::Does;
use super::state::{Engine, Time};

/// The most workers that a woken worker wakes: `FANOUT` of the library's `policy::stealing`.
const FANOUT: usize = 4;

impl Engine<'_> {
    /// Moves the older half of the tasks to the queue of all. Half of the price of a task in this
    /// queue is paid here, the other half by the worker that takes the task.
    pub fn make_room(&mut self, w: usize, now: Time) {
        let half = self.workers[w].deque.len() / 2;
        for _ in 0..half {
            if let Some(task) = self.workers[w].deque.pop_front() {
                self.overflow.push_back(task);
            }
        }
        self.note(w);
        let each = self.prices.fresh_at(self.overflow.len()) / 2;
        self.lock(w, Does::Spawns, half as i64 * each, now);
    }

    /// Takes a task from the queue of all; false if it is empty.
    pub fn take_overflow(&mut self, w: usize, now: Time) -> bool {
        let Some(task) = self.overflow.pop_front() else { return false };
        self.queued[task as usize] = false;
        let price = self.prices.fresh_at(self.overflow.len()) / 2 + self.price_of(task);
        self.lock(w, self.does(task), price, now);
        self.begin_found(w, task, now);
        true
    }

    /// A woken worker that has found a task wakes others, one after the other.
    fn wake_others(&mut self, w: usize, mut now: Time) {
        for _ in 0..FANOUT {
            let queued: usize =
                self.filled.all().map(|victim| self.workers[victim].deque.len()).sum();
            let enough = queued + self.overflow.len() >= self.searching;
            if !enough {
                return;
            }
            let Some(price) = self.wake(now) else { return };
            self.workers[w].debt += price;
            now += price.max(0) as Time;
        }
    }

    /// Begins a task that was not in the worker's own deque.
    pub fn begin_found(&mut self, w: usize, task: u32, now: Time) {
        let searched = self.workers[w].searching;
        if std::mem::replace(&mut self.workers[w].woken, false) {
            self.wake_others(w, now);
        }
        self.stop_search(w);
        self.workers[w].seen = self.in_vain;
        let more = self.filled.first_from(0).is_some() || !self.overflow.is_empty();
        if searched && self.searching == 0 && more {
            self.wake_one(w, now);
        }
        self.begin_task(w, task);
    }
}
