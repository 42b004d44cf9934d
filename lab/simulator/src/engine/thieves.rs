//! Workers without tasks: their searches and thefts.

use rand::RngExt;

use super::{Engine, Next, Time};
use crate::policy::Policy;

/// Sixteen bytes each.
const TASKS_OF_A_LINE: i64 = 4;

/// Picoseconds.
const LEAST_SEARCH: i64 = 1000;

impl Engine<'_> {
    /// One look at the others' deques, from a random one on.
    pub fn search(&mut self, w: usize, now: Time) -> bool {
        let workers = self.workers.len();
        let start = self.rng.random_range(0..workers);
        if let Some(victim) = self.filled_from(start) {
            let looks = (victim + workers - start) % workers + 1;
            self.workers[w].debt += looks as i64 * self.prices.look;
            self.workers[w].next = Next::Reach(victim as u32);
            return true;
        }
        if !self.workers[w].searching && self.searching < (workers / 2).max(1) {
            self.start_search(w, now);
        }
        if !self.workers[w].searching || now >= self.workers[w].patience {
            self.stop_search(w);
            self.workers[w].debt = 0;
            self.sleepers.push(w as u32);
            return false;
        }
        // A search takes some time, however few there are to look at.
        self.workers[w].debt += (workers as i64 * self.prices.look).max(LEAST_SEARCH);
        true
    }

    pub fn start_search(&mut self, w: usize, now: Time) {
        self.searching += 1;
        self.workers[w].searching = true;
        self.workers[w].patience = now + (self.prices.wake + self.prices.waker).max(0) as Time;
    }

    fn stop_search(&mut self, w: usize) {
        if std::mem::replace(&mut self.workers[w].searching, false) {
            self.searching -= 1;
        }
    }

    /// The first deque from there on that is not empty.
    fn filled_from(&self, start: usize) -> Option<usize> {
        let words = self.filled.len();
        let at = |word: usize, bits: u64| {
            (bits != 0).then(|| word * 64 + bits.trailing_zeros() as usize)
        };
        let above = u64::MAX << (start % 64);
        let first = start / 64;
        at(first, self.filled[first] & above)
            .or_else(|| {
                let others = (1..words).map(|i| (first + i) % words);
                others.into_iter().find_map(|word| at(word, self.filled[word]))
            })
            .or_else(|| at(first, self.filled[first] & !above))
    }

    pub fn reach(&mut self, w: usize, victim: usize, now: Time) {
        if self.workers[victim].deque.is_empty() {
            self.workers[w].next = Next::Search;
            return;
        }
        let lone = &self.workers[victim];
        let given = lone.lone_since + self.prices.late.max(0) as Time;
        if lone.deque.len() == 1 && now < given {
            self.workers[w].debt += (given - now) as i64; // and then looks again
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
        let count = if self.policy == Policy::StealHalf { half } else { half.min(1) };
        let Some(task) = self.workers[victim].deque.pop_front() else {
            self.workers[w].next = Next::Search;
            return;
        };
        self.taken(victim, task);
        for _ in 1..count {
            if let Some(more) = self.workers[victim].deque.pop_front() {
                self.taken(victim, more);
                self.put(w, more, now);
            }
        }
        let lines = (count as i64 - 1) / TASKS_OF_A_LINE;
        self.outcome.steals += 1;
        self.workers[victim].debt += self.prices.robbed;
        self.workers[w].debt += self.prices.thief + lines * self.prices.line + self.price_of(task);
        self.begin_task(w, task);
        let was_searching = self.workers[w].searching;
        self.stop_search(w);
        if was_searching && self.searching == 0 && self.filled_from(0).is_some() {
            self.wake_one(w, now);
        }
    }
}
