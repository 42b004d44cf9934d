//! How a worker takes a task from the shared queue of `lifo` and `fifo`.

use super::lock::Does;
use super::state::{Engine, Time};
use crate::policy::Policy;

impl Engine<'_> {
    /// False if there is no task: the worker goes to sleep.
    pub fn take_shared(&mut self, w: usize, now: Time) -> bool {
        let task = loop {
            let task = match self.policy {
                Policy::Lifo => self.shared.pop_back(),
                _ => self.shared.pop_front(),
            };
            if task.is_none_or(|task| self.queued[task as usize]) {
                break task;
            }
        };
        let Some(task) = task else {
            self.lock(w, Does::Spawns, self.prices.run, now);
            self.workers[w].debt = 0; // it sleeps until woken
            self.sleepers.push(w as u32);
            return false;
        };
        self.queued[task as usize] = false;
        self.lock(w, self.does(task), self.price_of(task), now);
        self.begin_task(w, task);
        true
    }
}
