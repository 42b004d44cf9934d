//! The state of a run: workers with their deques, the queues that all share, and the tasks.
//!
//! The other files change it: [`super::deques`] a deque, [`super::lock`] the lock of the shared
//! queue; [`super::tasks`] begins tasks and wakes workers, [`super::shared`], [`super::overflow`]
//! and [`super::thieves`] find tasks, and [`super`] does the events.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use rand::SeedableRng;
use rand::rngs::SmallRng;
use sched_dag::Graph;

use super::bits::Bits;
use crate::policy::Policy;
use crate::prices::{Picoseconds, Prices};

/// The places of a new deque, without the spare one: those of the library's `queue::split`.
const FIRST_PLACES: usize = 255;

/// Picoseconds.
pub type Time = u64;

pub const NOBODY: u32 = u32::MAX;
pub const OVER: u32 = u32::MAX - 1;

/// The result of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    pub nanoseconds: f64,
    pub steals: u64,
    pub wakes: u64,
    pub events: u64,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum Next {
    /// The operation at the end of the current step.
    Operation,
    /// To take a task from the worker's own deque, or from the shared queue.
    #[default]
    Take,
    /// To look at the deques of the others.
    Search,
    /// To reach the deque of this worker.
    Reach(u32),
    /// To get the lock of the deque of this worker.
    Grab(u32),
}

#[derive(Default)]
pub struct Worker {
    /// The worker's tasks, the oldest in front.
    pub deque: VecDeque<u32>,
    /// The places of the deque. `places`: how many there are; `emptied`: how many below the oldest
    /// task thieves have emptied; `used`: how many were ever used.
    pub places: usize,
    pub emptied: usize,
    pub used: usize,
    /// How many of the oldest tasks thieves may take.
    pub offered: usize,
    /// Thieves want more.
    pub asked: bool,
    /// When the deque last became filled.
    pub filled_since: Time,
    /// Until then the deque is locked by thieves.
    pub locked_until: Time,
    pub current: u32,
    pub next: Next,
    /// Picoseconds to be paid before the next event.
    pub debt: i64,
    /// True if it counts as searching, which it does until `patience`.
    pub searching: bool,
    pub patience: Time,
    /// True if it was woken, and has found no task since.
    pub woken: bool,
    /// When it began to look for a task.
    pub looks_since: Time,
    /// When it last released the lock.
    pub unlocked: Time,
    /// True if it has not been awake in this run.
    pub rested: bool,
    /// The number of searches in vain when it last added to its deque.
    pub seen: u64,
}

impl Worker {
    /// The place of the youngest task, counted from 1. If the places are used up, the tasks move to
    /// the first ones, or the deque gets twice as many.
    pub fn next_place(&mut self) -> usize {
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

    /// The time of the next event. A debt below zero, from calls that cost less than the
    /// recorder's, is kept until there is time to subtract it from.
    pub fn pay(&mut self, now: Time) -> Time {
        let debt = std::mem::replace(&mut self.debt, 0);
        self.debt = debt.min(0);
        now + debt.max(0) as Time
    }
}

pub struct Engine<'a> {
    pub graph: &'a Graph,
    pub policy: Policy,
    pub prices: Picoseconds,
    pub workers: Vec<Worker>,
    /// A bit for each deque that is not empty, and for each with tasks that thieves may take.
    pub filled: Bits,
    pub offering: Bits,
    /// Events of workers, by their indices, and ends of blocking sections: that of task t has the
    /// number of workers plus t.
    pub events: BinaryHeap<Reverse<(Time, u32)>>,
    /// The shared queue. Some of its entries may be of tasks that a join has taken.
    pub shared: VecDeque<u32>,
    pub longest: usize,
    pub lock: Lock,
    /// The queue of tasks for which bounded deques had no room.
    pub overflow: VecDeque<u32>,
    pub sleepers: Vec<u32>,
    pub searching: usize,
    /// The number of searches in vain, and whether an owner has added to its deque since the last
    /// of them.
    pub in_vain: u64,
    pub touched: bool,
    /// The next step of each task.
    pub step: Vec<u32>,
    pub queued: Vec<bool>,
    /// True for a task that no worker has, since it waits for another task that was taken.
    pub aside: Vec<bool>,
    /// The task that waits for the end of this one, or NOBODY, or OVER.
    pub waiter: Vec<u32>,
    pub group_pending: Vec<u32>,
    pub group_waiter: Vec<u32>,
    pub left: usize,
    pub rng: SmallRng,
    pub outcome: Outcome,
}

/// The lock of the shared queue.
pub struct Lock {
    pub free_at: Time,
    pub last: u32,
}

impl<'a> Engine<'a> {
    pub fn new(
        graph: &'a Graph,
        policy: Policy,
        workers: usize,
        prices: &Prices,
        seed: u64,
    ) -> Self {
        let tasks = graph.tasks.len();
        let new =
            |_| Worker { places: FIRST_PLACES, current: NOBODY, rested: true, ..Worker::default() };
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
            lock: Lock { free_at: 0, last: NOBODY },
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
}
