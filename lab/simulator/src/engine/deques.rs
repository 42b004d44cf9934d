//! What happens to the deque of a worker: tasks come and go, and some are offered to thieves.

use super::state::{Engine, Time};

impl Engine<'_> {
    pub fn put(&mut self, w: usize, task: u32, now: Time) {
        self.queued[task as usize] = true;
        let asleep = !self.sleepers.is_empty() && self.searching == 0;
        let worker = &mut self.workers[w];
        worker.deque.push_back(task);
        let count = worker.deque.len();
        if count == 1 {
            worker.filled_since = now;
        }
        if self.policy.places().is_none() {
            let place = worker.next_place();
            if place > worker.used {
                worker.used = place;
                worker.debt += self.prices.fresh_at(place);
            }
        }
        if (worker.asked || asleep) && worker.offered == 0 {
            worker.offered = (count + usize::from(asleep)) / 2;
            worker.asked = asleep;
        }
        self.note(w);
    }

    /// The owner adds to its deque. If others have looked at the deque since it last did so, their
    /// processors have a line of the deque, and the owner pays for that. (Others do not read what a
    /// pop writes.)
    pub fn use_deque(&mut self, w: usize) {
        self.touched = true;
        if self.workers[w].seen < self.in_vain {
            self.workers[w].seen = self.in_vain;
            self.workers[w].debt += self.prices.vain;
        }
    }

    /// The worker has taken a task from its own deque. It answers a thief that has asked.
    pub fn take_own(&mut self, w: usize, task: u32) {
        let worker = &mut self.workers[w];
        if worker.asked && worker.offered == 0 && self.policy.is_private() {
            worker.offered = worker.deque.len().div_ceil(2);
            worker.asked = worker.offered == 0;
        }
        self.taken(w, task);
    }

    /// A task has left the worker's deque.
    pub fn taken(&mut self, w: usize, task: u32) {
        self.queued[task as usize] = false;
        let worker = &mut self.workers[w];
        if worker.deque.len() < worker.offered {
            worker.offered /= 2; // the owner has taken an offered task back, and others with it
        }
        self.note(w);
    }

    /// Updates the sets of filled deques, and of those that have tasks for thieves.
    pub fn note(&mut self, w: usize) {
        let worker = &mut self.workers[w];
        let count = worker.deque.len();
        if !self.policy.is_private() {
            worker.offered = count;
        }
        self.filled.set(w, count > 0);
        self.offering.set(w, worker.offered > 0);
    }

    /// True if the worker's deque has no room.
    pub fn is_full(&self, w: usize) -> bool {
        self.policy.places().is_some_and(|places| self.workers[w].deque.len() >= places)
    }

    /// Offers half of the tasks that the victim has not offered.
    pub fn raid(&mut self, victim: usize) {
        let worker = &mut self.workers[victim];
        worker.offered += (worker.deque.len() - worker.offered).div_ceil(2);
        self.note(victim);
    }
}
