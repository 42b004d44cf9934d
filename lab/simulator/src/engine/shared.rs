//! The shared queue of `lifo` and `fifo`, and its lock.
//!
//! A mutex on a futex, as in U. Drepper, "Futexes are tricky", 2011. Who finds it held marks it,
//! and calls the kernel to sleep until it is free; by then it often is, and the call was for
//! nothing. Whoever frees a marked lock calls the kernel, too, to wake a waiter. One who has waited
//! marks the lock that it gets: there may be others. Meanwhile any other may get the lock first.

use std::cmp::Reverse;
use std::collections::VecDeque;

use rand::RngExt;

use super::{Engine, NOBODY, Time};
use crate::policy::Policy;

/// That who takes the shared queue over fetches: of the lock, of the queue's state, of its tasks.
const LINES_OF_A_QUEUE: i64 = 3;

/// What came of an attempt at the lock.
pub enum Locked {
    Yes,
    Later,
    Asleep,
}

/// The lock of the shared queue.
pub struct Lock {
    until: Time,
    holder: u32,
    /// Who frees it calls the kernel, ...
    marked: bool,
    /// ... which wakes a waiter.
    wakes: bool,
    /// Those asleep in the kernel, the first in front.
    waiters: VecDeque<u32>,
}

impl Lock {
    pub fn new() -> Lock {
        Lock { until: 0, holder: NOBODY, marked: false, wakes: false, waiters: VecDeque::new() }
    }
}

impl Engine<'_> {
    /// Who does not get the lock tries again at its next event, or sleeps until it is woken for that.
    pub fn try_lock(&mut self, w: usize, now: Time) -> Locked {
        if now >= self.lock.until || self.lock.holder == w as u32 {
            return Locked::Yes;
        }
        let asleep = self.workers[w].waited && self.lock.marked;
        self.workers[w].waited = true;
        if asleep {
            self.lock.waiters.push_back(w as u32);
            if !self.lock.wakes {
                let holder = self.lock.holder as usize;
                self.workers[holder].debt -= self.prices.syscall; // which does more
                self.wake_waiter();
            }
            return Locked::Asleep;
        }
        self.workers[w].debt += self.syscall();
        if !std::mem::replace(&mut self.lock.marked, true) {
            self.workers[self.lock.holder as usize].debt += self.syscall();
        }
        Locked::Later
    }

    /// Half of the usual to half as much again: of equal length they would keep the workers in step.
    fn syscall(&mut self) -> i64 {
        let usual = self.prices.syscall;
        if usual > 0 { self.rng.random_range(usual / 2..=usual + usual / 2) } else { 0 }
    }

    /// Holds the lock for an operation.
    pub fn hold(&mut self, w: usize, price: i64, now: Time) {
        let another = self.lock.holder != w as u32 && self.lock.holder != NOBODY;
        let price = price + if another { LINES_OF_A_QUEUE * self.prices.line } else { 0 };
        self.workers[w].debt += price;
        self.lock.until = now + price.max(0) as Time;
        self.lock.holder = w as u32;
        self.lock.marked = std::mem::replace(&mut self.workers[w].waited, false);
        self.lock.wakes = false;
        if self.lock.marked && self.lock.waiters.is_empty() {
            self.workers[w].debt += self.syscall();
        } else if self.lock.marked {
            self.wake_waiter();
        }
    }

    /// The holder will wake the first waiter.
    fn wake_waiter(&mut self) {
        let Some(waiter) = self.lock.waiters.pop_front() else { return };
        self.lock.wakes = true;
        self.workers[self.lock.holder as usize].debt += self.prices.waker;
        let at = self.lock.until + self.prices.wake.max(0) as Time;
        self.events.push(Reverse((at, waiter)));
    }

    pub fn take_shared(&mut self, w: usize, now: Time) -> bool {
        match self.try_lock(w, now) {
            Locked::Yes => (),
            Locked::Later => return true,
            Locked::Asleep => return false,
        }
        let task = loop {
            let lifo = self.policy == Policy::Lifo;
            let task = if lifo { self.shared.pop_back() } else { self.shared.pop_front() };
            if task.is_none_or(|task| self.queued[task as usize]) {
                break task;
            }
        };
        let Some(task) = task else {
            self.hold(w, self.prices.run, now);
            self.workers[w].debt = 0; // it sleeps until woken
            self.sleepers.push(w as u32);
            return false;
        };
        self.queued[task as usize] = false;
        self.hold(w, self.price_of(task), now);
        self.begin_task(w, task);
        true
    }
}
