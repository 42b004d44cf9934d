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

mod overflow;
mod shared;
mod thieves;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use rand::SeedableRng;
use rand::rngs::SmallRng;

use sched_dag::{Graph, Then};

use crate::policy::Policy;
use crate::prices::{Picoseconds, Prices, picoseconds};

use shared::{Does, Lock};
use thieves::Bits;

/// Of a deque, without the spare one: the library's `queue::split`.
const FIRST_PLACES: usize = 255;

/// Picoseconds.
type Time = u64;

const NOBODY: u32 = u32::MAX;
const OVER: u32 = u32::MAX - 1;

/// What came of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    pub nanoseconds: f64,
    pub steals: u64,
    pub wakes: u64,
    pub events: u64,
}

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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The operation at the end of the current step.
    Operation,
    /// To take a task from the own deque, or the shared queue.
    Take,
    /// To look at the deques of others.
    Search,
    /// To come to this worker's deque.
    Reach(u32),
    /// To have its lock.
    Grab(u32),
}

struct Worker {
    /// Tasks that may be taken, the oldest in front.
    deque: VecDeque<u32>,
    /// The places that it has, that thieves have emptied below the oldest task, and that were ever used.
    places: usize,
    emptied: usize,
    used: usize,
    /// How many of the oldest thieves may take.
    offered: usize,
    /// Thieves want more.
    asked: bool,
    /// When the deque came to have tasks.
    filled_since: Time,
    /// Until then thieves are at the deque.
    locked_until: Time,
    current: u32,
    next: Next,
    /// To be paid before the next event.
    debt: i64,
    /// It is counted as searching, until it loses patience.
    searching: bool,
    patience: Time,
    /// When it began to look for a task.
    looks_since: Time,
    /// When it had done with the lock.
    unlocked: Time,
    /// It has not been awake in this run.
    rested: bool,
    /// How many searches had been in vain when it last added to its deque.
    seen: u64,
}

impl Worker {
    /// Which place the youngest task is in, from 1. Where there is none, the tasks move to the first, or twice
    /// as many come to be there.
    fn next_place(&mut self) -> usize {
        let count = self.deque.len();
        if self.emptied + count > self.places {
            if count > self.places / 2 {
                self.places *= 2;
            } else {
                self.emptied = 0;
            }
        }
        self.emptied + count
    }

    /// The time of the next event. What calls cost less than the recorder's is made good as soon as
    /// there is a time to take it from.
    fn pay(&mut self, now: Time) -> Time {
        let debt = std::mem::replace(&mut self.debt, 0);
        self.debt = debt.min(0);
        now + debt.max(0) as Time
    }
}

struct Engine<'a> {
    graph: &'a Graph,
    policy: Policy,
    prices: Picoseconds,
    workers: Vec<Worker>,
    /// Deques that are not empty, a bit each; those of which thieves may take.
    filled: Bits,
    offering: Bits,
    /// Of a worker, by its number; or of a task whose blocking section ends then: its number comes after the
    /// workers'.
    events: BinaryHeap<Reverse<(Time, u32)>>,
    /// The one queue; some of its entries may be of tasks that a join has taken.
    shared: VecDeque<u32>,
    longest: usize,
    lock: Lock,
    /// Tasks for which bounded deques had no room.
    overflow: VecDeque<u32>,
    sleepers: Vec<u32>,
    searching: usize,
    /// Searches that found nothing; and whether an owner has added to its deque since the last of them.
    in_vain: u64,
    touched: bool,
    /// Each task's next step.
    step: Vec<u32>,
    queued: Vec<bool>,
    /// It waits for another that was taken, and no worker has it.
    aside: Vec<bool>,
    /// The task that waits for its end; NOBODY, or OVER.
    waiter: Vec<u32>,
    group_pending: Vec<u32>,
    group_waiter: Vec<u32>,
    left: usize,
    rng: SmallRng,
    outcome: Outcome,
}

impl<'a> Engine<'a> {
    fn new(graph: &'a Graph, policy: Policy, workers: usize, prices: &Prices, seed: u64) -> Self {
        let tasks = graph.tasks.len();
        let new = |_| Worker {
            deque: VecDeque::new(),
            places: FIRST_PLACES,
            emptied: 0,
            used: 0,
            offered: 0,
            asked: false,
            filled_since: 0,
            locked_until: 0,
            current: NOBODY,
            next: Next::Take,
            debt: 0,
            searching: false,
            patience: 0,
            looks_since: 0,
            unlocked: 0,
            rested: true,
            seen: 0,
        };
        Engine {
            graph,
            policy,
            prices: prices.into(),
            workers: (0..workers).map(new).collect(),
            filled: Bits::new(workers),
            offering: Bits::new(workers),
            events: BinaryHeap::with_capacity(workers),
            shared: VecDeque::new(),
            longest: 0,
            lock: Lock::new(),
            overflow: VecDeque::new(),
            sleepers: Vec::with_capacity(workers),
            searching: 0,
            in_vain: 0,
            touched: false,
            step: graph.tasks.iter().map(|task| task.first).collect(),
            queued: vec![false; tasks],
            aside: vec![false; tasks],
            waiter: vec![NOBODY; tasks],
            group_pending: vec![0; graph.groups as usize],
            group_waiter: vec![NOBODY; graph.groups as usize],
            left: tasks,
            rng: SmallRng::seed_from_u64(seed),
            outcome: Outcome::default(),
        }
    }

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

    /// The worker goes on with its task: computes up to the next operation.
    fn proceed(&mut self, w: usize) {
        let worker = &mut self.workers[w];
        let step = &self.graph.steps[self.step[worker.current as usize] as usize];
        worker.debt += picoseconds(f64::from(step.nanoseconds));
        worker.next = Next::Operation;
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

    fn put(&mut self, w: usize, task: u32, now: Time) {
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

    /// Its owner adds to it: others may have a line of it since they looked. (What a pop writes they do not read.)
    fn use_deque(&mut self, w: usize) {
        self.touched = true;
        if self.workers[w].seen < self.in_vain {
            self.workers[w].seen = self.in_vain;
            self.workers[w].debt += self.prices.vain;
        }
    }

    /// The worker has taken a task out of its own deque: it answers who has asked.
    fn take_own(&mut self, w: usize, task: u32) {
        let worker = &mut self.workers[w];
        if worker.asked && worker.offered == 0 && self.policy.is_private() {
            worker.offered = worker.deque.len().div_ceil(2);
            worker.asked = worker.offered == 0;
        }
        self.taken(w, task);
    }

    /// A task has left the worker's deque.
    fn taken(&mut self, w: usize, task: u32) {
        self.queued[task as usize] = false;
        let worker = &mut self.workers[w];
        if worker.deque.len() < worker.offered {
            worker.offered /= 2; // its owner has taken one back, and others with it
        }
        self.note(w);
    }

    /// Whether there is something in the worker's deque, and for thieves.
    fn note(&mut self, w: usize) {
        let worker = &mut self.workers[w];
        let count = worker.deque.len();
        if !self.policy.is_private() {
            worker.offered = count;
        }
        self.filled.set(w, count > 0);
        self.offering.set(w, worker.offered > 0);
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

    /// What it costs to begin a task that the worker has taken.
    fn price_of(&self, task: u32) -> i64 {
        let forked = self.graph.tasks[task as usize].forked;
        if forked { self.prices.fork / 2 } else { self.prices.run }
    }

    fn begin_task(&mut self, w: usize, task: u32) {
        self.workers[w].current = task;
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

    /// Wakes a sleeper, if there is one, at a price for the waker.
    fn wake_one(&mut self, w: usize, now: Time) {
        if let Some(price) = self.wake(now) {
            self.workers[w].debt += price;
        }
    }

    /// Wakes a sleeper, if there is one; says what that costs the waker.
    fn wake(&mut self, now: Time) -> Option<i64> {
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
            self.start_search(sleeper as usize, at);
        }
        self.events.push(Reverse((at, sleeper)));
        Some(waker)
    }
}
