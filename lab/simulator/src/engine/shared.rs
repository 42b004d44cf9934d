//! The shared queue of `lifo` and `fifo`, and its lock.
//!
//! A mutex on a futex, as in U. Drepper, "Futexes are tricky", 2011. Who finds it held marks it,
//! and calls the kernel to sleep until it is free; by then it often is, and the call was for
//! nothing. Whoever frees a marked lock calls the kernel, too, to wake a waiter. One who has waited
//! marks the lock that it gets: there may be others. Meanwhile any other may get the lock first.

use std::cmp::Reverse;
use std::collections::VecDeque;

use rand::RngExt;

use super::thieves::TASKS_OF_A_LINE;
use super::{Engine, NOBODY, Time};
use crate::policy::Policy;

/// That who takes the queue over fetches: a POSIX mutex has a line of its own, and the queue's state
/// another; what bounded deques overflow to has both in one.
const LINES_SHARED: i64 = 2;
const LINES_OVERFLOW: i64 = 1;

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
    /// The end of the queue that its holder has touched.
    end: End,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    Front,
    Back,
}

impl Lock {
    pub fn new() -> Lock {
        Lock {
            until: 0,
            holder: NOBODY,
            marked: false,
            wakes: false,
            waiters: VecDeque::new(),
            end: End::Back,
        }
    }
}

impl Engine<'_> {
    /// Who does not get the lock tries again at its next event, or sleeps until it is woken for that.
    pub fn try_lock(&mut self, w: usize, now: Time) -> Locked {
        if now >= self.lock.until || self.lock.holder == w as u32 {
            return Locked::Yes;
        }
        // The attempt has taken the lock's line from its holder, who needs it back to free the lock.
        let line = self.prices.line;
        self.workers[w].debt += line;
        self.workers[self.lock.holder as usize].debt += line;
        self.lock.until += line.max(0) as Time;
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
    pub fn hold(&mut self, w: usize, end: End, price: i64, now: Time) {
        let another = self.lock.holder != w as u32 && self.lock.holder != NOBODY;
        let price = price + if another { self.take_over(end) } else { 0 };
        self.lock.end = end;
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

    /// Tasks are fetched, too: where the last holder has touched the same end of the queue, or the ends
    /// are close; else a line now and then.
    fn take_over(&self, end: End) -> i64 {
        let line = self.prices.line;
        let close = (self.shared.len().max(self.overflow.len()) as i64) < TASKS_OF_A_LINE;
        let tasks = if end == self.lock.end || close { line } else { line / TASKS_OF_A_LINE };
        let lines = if self.policy.shares() { LINES_SHARED } else { LINES_OVERFLOW };
        lines * line + tasks
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
        let end = if self.policy == Policy::Lifo { End::Back } else { End::Front };
        let task = loop {
            let task = match end {
                End::Back => self.shared.pop_back(),
                End::Front => self.shared.pop_front(),
            };
            if task.is_none_or(|task| self.queued[task as usize]) {
                break task;
            }
        };
        let Some(task) = task else {
            self.hold(w, end, self.prices.run, now);
            self.workers[w].debt = 0; // it sleeps until woken
            self.sleepers.push(w as u32);
            return false;
        };
        self.queued[task as usize] = false;
        self.hold(w, end, self.price_of(task), now);
        self.begin_task(w, task);
        true
    }
}
