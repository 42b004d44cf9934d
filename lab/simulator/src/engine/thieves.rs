//! Workers without tasks: their searches and thefts.

use rand::RngExt;

use super::state::{Engine, Next, Time};
use crate::policy::Policy;

/// A task has sixteen bytes.
pub const TASKS_OF_A_LINE: i64 = 4;

/// Picoseconds.
const LEAST_SEARCH: i64 = 1000;

impl Engine<'_> {
    /// One look at the deques of the others, beginning with a random one; false if the worker goes
    /// to sleep.
    pub fn search(&mut self, w: usize, now: Time) -> bool {
        if self.take_overflow(w, now) {
            return true;
        }
        let workers = self.workers.len();
        let start = self.rng.random_range(0..workers);
        if let Some(victim) = self.offering.first_from(start) {
            let looks = (victim + workers - start) % workers + 1;
            self.workers[w].debt += looks as i64 * self.prices.look;
            self.workers[w].next = Next::Reach(victim as u32);
            return true;
        }
        if !self.workers[w].searching {
            self.start_search(w, now);
        }
        let victim = self.filled.first_from(start);
        let patient = now < self.workers[w].patience || victim.is_some();
        if !(self.workers[w].searching && patient) {
            self.stop_search(w);
            self.workers[w].debt = 0;
            self.sleepers.push(w as u32);
            return false;
        }
        // A search takes some time even if there are few deques to look at.
        let pause = self.prices.pause * (self.searching as i64 / 2).max(1);
        let look = pause + workers as i64 * self.prices.look;
        let mut until_next = look.max(LEAST_SEARCH);
        if std::mem::replace(&mut self.touched, false) {
            until_next += self.prices.line; // its owner wrote it
        }
        if let Some(victim) = victim {
            for victim in self.filled.all() {
                self.workers[victim].asked = true;
            }
            let since = self.workers[victim].filled_since.max(self.workers[w].looks_since);
            let raid = (since + self.prices.late.max(0) as Time) as i64 - now as i64;
            if raid <= 0 {
                self.raid(victim);
                self.workers[w].next = Next::Reach(victim as u32);
                return true;
            }
            until_next = until_next.min(raid);
        }
        self.in_vain += 1;
        self.workers[w].debt += until_next;
        true
    }

    pub fn reach(&mut self, w: usize, victim: usize, now: Time) {
        if self.workers[victim].offered == 0 {
            self.workers[w].next = Next::Search;
            return;
        }
        let hold = self.prices.thief.max(0) as Time;
        let free = self.workers[victim].locked_until;
        self.workers[victim].locked_until = free.max(now) + hold;
        if free > now {
            self.workers[w].debt += (free - now) as i64;
            self.workers[w].next = Next::Grab(victim as u32);
        } else {
            self.grab(w, victim, now);
        }
    }

    pub fn grab(&mut self, w: usize, victim: usize, now: Time) {
        let half = self.workers[victim].deque.len().div_ceil(2);
        let count = if self.policy == Policy::StealHalf { half } else { 1 };
        if self.workers[victim].offered == 0 {
            self.workers[w].next = Next::Search;
            return;
        }
        let mut first = None;
        for _ in 0..count {
            let Some(task) = self.workers[victim].deque.pop_front() else { break };
            self.workers[victim].offered -= 1;
            self.workers[victim].emptied += 1;
            self.taken(victim, task);
            match first {
                None => first = Some(task),
                Some(_) => self.put(w, task, now),
            }
        }
        if self.workers[victim].offered == 0 {
            self.workers[victim].asked = true; // the thief asks for more
        }
        let Some(task) = first else { return };
        let lines = (count as i64 - 1) / TASKS_OF_A_LINE;
        self.outcome.steals += 1;
        self.workers[victim].debt += self.prices.robbed;
        self.workers[w].debt += self.prices.thief + lines * self.prices.line + self.price_of(task);
        self.begin_found(w, task, now);
    }
}
