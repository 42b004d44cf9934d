//! The discrete-event simulation of one run.
//!
//! # Events
//!
//! Each worker that is awake has one event: the moment at which it next touches what others touch.
//! The earliest is done, and says when that worker's next one is. So whatever an event sees of the
//! queues is as of its time. What is spent within an event is a debt of the worker's, paid before its
//! next one. Events of equal time are done in the order of the workers.
//!
//! # The policies
//!
//! As the library's kinds (its modules `kind::stealing`, `kind::shared`, `idle::eventcount` say more):
//!
//! - The deques of `steal` and `cont` are private to their owners but for some of the oldest tasks.
//!   A thief that finds none of these asks, as does one that takes the last of these. At its next spawn the owner
//!   offers half of its tasks, but not the only one, unless somebody sleeps; when it next takes a task itself, half of
//!   the others. An owner that does not answer is raided.
//! - The deques of `steal half` have so many places. What a spawn finds no room for, and the older half,
//!   goes to a queue of all, with a lock, in which who has no task looks first.
//! - A worker without tasks looks at the others' deques, from a random one on. Thieves of one
//!   victim follow each other, as its lock has them do. A spawn wakes a sleeper if nobody searches;
//!   a searcher that has found a task wakes the next if there are more tasks and nobody else
//!   searches; no more than half of the workers search. Who finds nothing for as long as a wake-up
//!   takes, sleeps.
//! - A search that finds nothing has looked at lines of memory that the owners write: it waits for one
//!   that was written since the last, and each owner pays when it next adds to its deque.
//! - A spawn into the shared queue wakes a sleeper, if there is one; who finds the queue empty
//!   sleeps.
//! - A join of a task that nobody has begun runs it. If it was taken, the task that joins is set
//!   aside, and goes on where the other ends, at once.
//! - A task in a blocking section leaves its worker, for which another thread is woken. When the section ends
//!   the task goes behind those that are queued for all. A section shorter than that wake-up ends on its worker.
//!
//! A run is over with its last task, and when the first worker, which was called for the run, has
//! noticed: the others' way to their rest costs nothing.

mod bits;
mod deques;
mod lock;
mod overflow;
mod shared;
mod state;
mod tasks;
mod thieves;

use std::cmp::Reverse;

use sched_dag::{Graph, Then};

use crate::policy::Policy;
use crate::prices::{Picoseconds, Prices, picoseconds};
use lock::Does;
pub use state::Outcome;
use state::{Engine, NOBODY, Next, OVER, Time};

/// Runs `graph` on so many workers.
pub fn simulate(
    graph: &Graph,
    policy: Policy,
    workers: usize,
    prices: &Prices,
    seed: u64,
) -> Outcome {
    Engine::new(graph, policy, workers, prices, seed).run()
}

impl Engine<'_> {
    fn run(mut self) -> Outcome {
        self.begin();
        while let Some(Reverse((mut now, w))) = self.events.pop() {
            if let Some(task) = w.checked_sub(self.workers.len() as u32) {
                self.unblock(task, now);
                continue;
            }
            loop {
                self.outcome.events += 1;
                if !self.event(w as usize, now) {
                    break;
                }
                if self.left == 0 {
                    let asleep = w != 0 && self.sleepers.contains(&0);
                    let told = if asleep { self.prices.wake.max(0) as Time } else { 0 };
                    self.outcome.nanoseconds = (now + told) as f64 / 1e3;
                    return self.outcome;
                }
                let next = self.workers[w as usize].pay(now);
                if self.events.peek().is_some_and(|&Reverse(first)| first < (next, w)) {
                    self.events.push(Reverse((next, w)));
                    break;
                }
                now = next;
            }
        }
        panic!("{} tasks are left that wait for each other", self.left)
    }

    /// The first worker has the first task. The others sleep; but who uses the shared queue is called
    /// at once, one after the other.
    fn begin(&mut self) {
        let Picoseconds { init, init_worker, first_wake, .. } = self.prices;
        let others = self.workers.len() as i64 - 1;
        self.workers[0].debt = init + others * init_worker;
        self.workers[0].current = 0;
        self.proceed(0);
        let first = self.workers[0].pay(0);
        self.events.push(Reverse((first, 0)));
        for w in (1..self.workers.len() as u32).rev() {
            if self.policy.shares() {
                let called = init + i64::from(w) * init_worker + first_wake;
                self.workers[w as usize].rested = false;
                self.events.push(Reverse((called.max(0) as Time, w)));
            } else {
                self.sleepers.push(w);
            }
        }
    }

    /// Does the worker's event; false if it sleeps afterwards.
    fn event(&mut self, w: usize, now: Time) -> bool {
        match self.workers[w].next {
            Next::Operation => return self.operation(w, now),
            Next::Take => return self.take(w, now),
            Next::Search => return self.search(w, now),
            Next::Reach(victim) => self.reach(w, victim as usize, now),
            Next::Grab(victim) => self.grab(w, victim as usize, now),
        }
        true
    }

    fn operation(&mut self, w: usize, now: Time) -> bool {
        let task = self.workers[w].current;
        let then = self.graph.steps[self.step[task as usize] as usize].then;
        self.step[task as usize] += 1;
        let goes_on = match then {
            Then::Spawn(child) => {
                if let Some(group) = self.graph.tasks[child as usize].group {
                    self.group_pending[group as usize] += 1;
                }
                self.add(w, child, self.prices.push, now);
                true
            }
            Then::Fork(child) => {
                self.add(w, child, self.prices.fork / 2, now);
                true
            }
            Then::Join(other) => self.join(w, task, other, now),
            Then::Block => self.block(w, task, now),
            Then::Unblock => true, // a section that ends where it began
            Then::Wait(group) => {
                let over = self.group_pending[group as usize] == 0;
                if !over {
                    self.group_waiter[group as usize] = task;
                }
                over
            }
            Then::End => {
                self.end(w, task);
                return true;
            }
        };
        if goes_on {
            self.proceed(w);
        } else {
            self.aside[task as usize] = true;
            self.workers[w].current = NOBODY;
            self.workers[w].next = Next::Take;
        }
        true
    }

    /// True if the section is over before another thread has come to the worker: the task goes on there.
    fn block(&mut self, w: usize, task: u32, now: Time) -> bool {
        let section = self.graph.steps[self.step[task as usize] as usize];
        debug_assert!(section.then == Then::Unblock);
        let length = picoseconds(f64::from(section.nanoseconds));
        if length <= self.prices.wake {
            return true;
        }
        let number = self.workers.len() as u32 + task;
        self.events.push(Reverse((now + length.max(0) as Time, number)));
        self.workers[w].debt += self.prices.wake;
        false
    }

    /// The task's section is over: it is queued for all, and somebody is woken for it.
    fn unblock(&mut self, task: u32, now: Time) {
        self.outcome.events += 1;
        self.step[task as usize] += 1;
        self.aside[task as usize] = false;
        self.queued[task as usize] = true;
        if self.policy.shares() {
            self.shared.push_back(task);
        } else {
            self.overflow.push_back(task);
        }
        if self.searching == 0 {
            self.wake(now);
        }
    }

    /// Is it in a queue, and has nobody begun it?
    fn can_take_back(&self, task: u32) -> bool {
        let task = task as usize;
        self.queued[task] && self.step[task] == self.graph.tasks[task].first
    }

    /// Makes a new task visible, or what is left of the current one, and wakes somebody for it.
    fn add(&mut self, w: usize, child: u32, price: i64, now: Time) {
        if self.policy.shares() {
            self.queued[child as usize] = true;
            self.shared.push_back(child);
            let count = self.shared.len();
            let fresh = if count > self.longest { self.prices.fresh_at(count) } else { 0 };
            self.longest = self.longest.max(count);
            self.lock(w, self.does(child), price + fresh, now);
            self.wake_one(w, self.workers[w].unlocked);
            return;
        }
        let current = self.workers[w].current;
        let task = if self.policy == Policy::Cont { current } else { child };
        if self.policy == Policy::Cont {
            self.workers[w].current = child;
        }
        self.workers[w].debt += price;
        self.use_deque(w);
        if self.is_full(w) {
            self.make_room(w, now);
        }
        self.put(w, task, now);
        if self.searching == 0 {
            self.wake_one(w, now);
        }
    }

    /// True if the task goes on: the other is over, or is what it does now.
    fn join(&mut self, w: usize, task: u32, other: u32, now: Time) -> bool {
        let o = other as usize;
        if self.waiter[o] == OVER {
            return true;
        }
        self.waiter[o] = task;
        if !self.can_take_back(other) {
            return false;
        }
        if self.policy.shares() {
            self.queued[o] = false; // its entry stays, for nothing, unless it is the last
            if self.shared.back() == Some(&other) {
                self.shared.pop_back();
            }
            self.lock(w, Does::Forks, self.prices.fork / 2, now);
        } else {
            let deque = &mut self.workers[w].deque;
            let Some(at) = deque.iter().rposition(|&queued| queued == other) else { return false };
            deque.remove(at);
            self.take_own(w, other);
            self.workers[w].debt += self.prices.fork / 2;
        }
        self.workers[w].current = other;
        true
    }

    /// The task is over, and who waits for it goes on.
    fn end(&mut self, w: usize, task: u32) {
        self.left -= 1;
        let mut waiter = std::mem::replace(&mut self.waiter[task as usize], OVER);
        if let Some(group) = self.graph.tasks[task as usize].group {
            let pending = &mut self.group_pending[group as usize];
            *pending -= 1;
            if *pending == 0 {
                waiter = std::mem::replace(&mut self.group_waiter[group as usize], NOBODY);
            }
        }
        self.workers[w].current = waiter;
        if waiter == NOBODY {
            self.workers[w].next = Next::Take;
            return;
        }
        if std::mem::replace(&mut self.aside[waiter as usize], false) {
            self.workers[w].debt += self.prices.line; // it was another's
        }
        self.proceed(w);
    }

    fn take(&mut self, w: usize, now: Time) -> bool {
        if self.policy.shares() {
            return self.take_shared(w, now);
        }
        let worker = &mut self.workers[w];
        let first = self.policy.places().is_some();
        let task = if first { worker.deque.pop_front() } else { worker.deque.pop_back() };
        let Some(task) = task else {
            worker.emptied = 0;
            worker.next = Next::Search;
            worker.looks_since = now;
            return true;
        };
        self.take_own(w, task);
        self.workers[w].debt += self.price_of(task);
        self.begin_task(w, task);
        true
    }
}
