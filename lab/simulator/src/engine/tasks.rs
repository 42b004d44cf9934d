//! A worker begins a task, goes on with it, and wakes another worker.

use std::cmp::Reverse;

use super::state::{Engine, Next, Time};
use crate::prices::{Picoseconds, picoseconds};

impl Engine<'_> {
    /// The worker goes on with its task: it computes up to the next operation.
    pub fn proceed(&mut self, w: usize) {
        let worker = &mut self.workers[w];
        let step = &self.graph.steps[self.step[worker.current as usize] as usize];
        worker.debt += picoseconds(f64::from(step.nanoseconds));
        worker.next = Next::Operation;
    }

    pub fn begin_task(&mut self, w: usize, task: u32) {
        self.workers[w].current = task;
        self.proceed(w);
    }

    /// The price of beginning a task that the worker has taken.
    pub fn price_of(&self, task: u32) -> i64 {
        let forked = self.graph.tasks[task as usize].forked;
        if forked { self.prices.fork / 2 } else { self.prices.run }
    }

    /// Wakes a sleeper, if there is one, at a price for the waker.
    pub fn wake_one(&mut self, w: usize, now: Time) {
        if let Some(price) = self.wake(now) {
            self.workers[w].debt += price;
        }
    }

    /// Wakes a sleeper, if there is one, and returns the price for the waker.
    pub fn wake(&mut self, now: Time) -> Option<i64> {
        let sleeper = self.sleepers.pop()?;
        self.outcome.wakes += 1;
        let Picoseconds { wake, waker, first_wake, first_waker, .. } = self.prices;
        let rested = std::mem::replace(&mut self.workers[sleeper as usize].rested, false);
        let (wake, waker) = if rested { (first_wake, first_waker) } else { (wake, waker) };
        let at = now + wake.max(0) as Time;
        if self.policy.shares() {
            self.workers[sleeper as usize].next = Next::Take;
        } else {
            self.workers[sleeper as usize].next = Next::Search;
            self.workers[sleeper as usize].looks_since = at;
            self.workers[sleeper as usize].woken = true;
            self.start_search(sleeper as usize, at);
        }
        self.events.push(Reverse((at, sleeper)));
        Some(waker)
    }

    pub fn start_search(&mut self, w: usize, now: Time) {
        self.searching += 1;
        self.workers[w].searching = true;
        self.workers[w].patience = now + (self.prices.wake + self.prices.waker).max(0) as Time;
    }

    pub fn stop_search(&mut self, w: usize) {
        if std::mem::replace(&mut self.workers[w].searching, false) {
            self.searching -= 1;
        }
    }
}
