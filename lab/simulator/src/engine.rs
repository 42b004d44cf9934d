//! The discrete-event simulation of one run.
//!
//! # Events
//!
//! Each worker that is awake has one event: the moment at which it next touches data that others
//! touch, too. The engine does the earliest event, which determines when the next event of the same
//! worker is. So an event sees the queues as they are at its time. The time that an event takes is
//! recorded as a debt of the worker, and is paid before the worker's next event. Events of equal
//! time are done in the order of the workers.
//!
//! # The policies
//!
//! They are those of the library (its modules `policy::stealing`, `policy::shared` and
//! `idle::eventcount` say more):
//!
//! - The deques of `steal` and `cont` are private to their owners, except for some of the oldest
//!   tasks, which are offered to thieves. A thief asks for more if it finds no offered task, or
//!   takes the last one. At its next spawn the owner then offers half of its tasks (but not its
//!   only one, unless a worker sleeps); when it next takes a task itself, it offers half of the
//!   others. An owner that does not answer is raided.
//! - The deques of `steal half` are bounded. If a spawn finds no room, its task and the older half
//!   of the deque go to a queue that all workers share, which has a lock. A worker without tasks
//!   looks there first.
//! - A worker without tasks looks at the deques of the others, beginning with a random one. Thieves
//!   of one victim come one after the other, because of its lock. A spawn wakes a sleeper if no
//!   worker searches. A woken worker that has found a task wakes up to four others, as long as
//!   there are more tasks than searchers. A searcher that has found a task and was the last one
//!   wakes another worker if there are more tasks. The more workers search, the longer each pauses
//!   between two searches. A worker that finds nothing for as long as a wake-up takes goes to sleep.
//! - A search that finds nothing has read lines of memory that the owners write: it waits for a
//!   line that was written since the last search, and each owner pays when it next adds to its
//!   deque.
//! - A spawn into the shared queue wakes a sleeper, if there is one. A worker that finds the queue
//!   empty sleeps.
//! - A join of a task that nobody has begun runs it. If the task was taken, the joining task is set
//!   aside, and resumes at once on the worker where the other task ends.
//! - A task in a blocking section leaves its worker, and another thread is woken for the worker.
//!   When the section ends, the task is queued for all workers, behind those that are there. A
//!   section that is shorter than the wake-up ends on its worker.
//!
//! A run ends when the first worker, which was called for the run, has noticed that the last task
//! has ended. What the other workers do on their way to sleep costs nothing.

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

    /// The first worker gets the first task. The others sleep; but the workers of a shared queue
    /// are called at once, one after the other.
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

    /// True if the section ends before another thread has come to the worker: the task goes on
    /// there.
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

    /// The task's section has ended: the task is queued for all, and a worker is woken for it.
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

    /// True if the task is in a queue, and nobody has begun it.
    fn can_take_back(&self, task: u32) -> bool {
        let task = task as usize;
        self.queued[task] && self.step[task] == self.graph.tasks[task].first
    }

    /// Adds a task to a queue, and wakes a worker for it: the new task, or under `cont` the rest of
    /// the current one.
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

    /// True if the task goes on: the other has ended, or the task runs it now.
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
            // Its entry stays in the queue without effect, unless it is the last.
            self.queued[o] = false;
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

    /// The task has ended, and the task that waits for it goes on.
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
            self.workers[w].debt += self.prices.line; // another worker wrote it
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
