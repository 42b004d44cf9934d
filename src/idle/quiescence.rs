//! Quiescence: the end of a run, without a counter of tasks.
//!
//! A shared counter of outstanding tasks would cost every spawn a contended write. Instead
//! idle workers count themselves.
//!
//! # State
//!
//! `idle`: how many workers are idle. An idle worker runs no task, and its own deque is
//! empty: it saw so before it entered, and nobody else ever pushes there. A run starts with
//! every worker idle but worker 0, which holds the first task; a worker whose thread could
//! not be created, or has not started yet, is thus idle and in nobody's way.
//!
//! # Protocol
//!
//! 1. A worker whose own deque is empty and whose first search found nothing *enters*.
//! 2. An idle worker that wants a task *leaves before it takes it*, and enters again if the
//!    taking failed.
//! 3. The worker whose entering made `idle` equal to the number of workers confirms the
//!    end under the injector's lock: injector empty, `idle` still full: the gate is closed,
//!    `ended` is set, everyone is woken.
//!
//! # Proof
//!
//! Suppose `idle == workers` is read while the injector is locked and empty, and some task
//! is queued or running. It is not in the injector. If it runs, or is in a thief's hands,
//! that worker has left (rule 2) and not entered again: not counted, contradiction. If it is
//! in the deque of worker w, then w is counted, so w saw its deque empty before it entered,
//! and has pushed nothing since: contradiction. New tasks come from running tasks, of which
//! there are none, or through the injector, which is locked. So nothing is left, for good.
//!
//! A task that was set aside to wait is neither queued nor running: it is counted from before its worker goes on
//! until it runs again, so that the run does not end without it. Each worker counts for itself: those that it
//! has left, less those that it has gone on with; the sum is how many wait. No worker changes its number while
//! it is idle, nor takes a task while `idle` is full and the injector locked: so the numbers, read one by one,
//! are of one moment.
//!
//! That everyone sees a thief's leaving in time: the thief leaves, then takes by a releasing
//! operation on the deque (a compare-and-swap, or a lock). An owner that finds the task gone
//! has read that operation; the fence at the start of `enter` makes the reading acquire, so
//! the thief's decrement comes before the owner's increment in the order of `idle`.
//!
//! # A run that is held open
//!
//! What the proof says of the end it says of any such moment: the run is at *rest*. While the run is
//! held open (a pool's: `queue::run_gate`), the worker of rule 3 does not close the gate, but wakes those
//! who wait for a rest. One who comes to wait asks the question of rule 3 itself, under the same lock;
//! if the answer is no, a worker is active or a task is in the injector, which a worker will take:
//! so the count becomes full later, and who makes it full finds the wish for a rest. The same goes
//! for who lets the run go.
//!
//! # The bad interleaving it excludes
//!
//! A thief that takes first and leaves afterwards: owner w finds its deque empty and enters,
//! the count is full, the run ends, while the thief still holds the task in its hands.

use crate::queue::injector::Injector;
use crate::sys::atomic::{AtomicBool, AtomicU32, Ordering, Pad, fence};
use crate::sys::memory;
use crate::sys::memory::NoMemory;

pub struct Quiescence {
    idle: Pad<AtomicU32>,
    ended: Pad<AtomicBool>,
    waiting: Box<[Pad<Waiting>]>,
    workers: u32,
}

/// Of one worker: tasks that wait for what may come from outside of the run; modulo 2^32. Only the worker
/// itself, active, changes it; and passes it on by its `enter`.
pub struct Waiting(AtomicU32);

impl Waiting {
    /// A task of the calling worker's is about to wait, and nobody counts it.
    #[inline]
    pub fn hold(&self) {
        self.count(1);
    }

    /// It goes on, on the calling worker.
    #[inline]
    pub fn let_go(&self) {
        self.count(u32::MAX);
    }

    #[inline]
    fn count(&self, more: u32) {
        let before = self.0.load(Ordering::Relaxed);
        self.0.store(before.wrapping_add(more), Ordering::Relaxed);
    }
}

impl Quiescence {
    pub fn new(workers: usize) -> Result<Self, NoMemory> {
        let waiting = memory::slice(workers, |_| Ok(Pad(Waiting(AtomicU32::new(0)))))?;
        let workers = u32::try_from(workers).expect("at most 4096 workers");
        Ok(Quiescence {
            idle: Pad(AtomicU32::new(workers - 1)),
            ended: Pad(AtomicBool::new(false)),
            waiting,
            workers,
        })
    }

    /// The calling worker becomes idle. True if this ended the run: the caller then wakes
    /// the others.
    pub fn enter(&self, injector: &Injector) -> bool {
        fence(Ordering::SeqCst); // makes the reading of the emptied deque an acquire
        // AcqRel: what this worker's tasks wrote is passed on to who sees the count full, by the
        // load below or by an `enter` of its own.
        if self.idle.fetch_add(1, Ordering::AcqRel) + 1 < self.workers {
            return false;
        }
        self.ends(injector.close_if(|| self.is_full()))
    }

    /// The run is held open no more. True if this ended it: the caller then wakes the workers.
    pub fn release(&self, injector: &Injector) -> bool {
        self.ends(injector.release(|| self.is_full()))
    }

    /// Waits until the run is at rest.
    pub fn wait_for_rest(&self, injector: &Injector) {
        injector.wait_for_rest(|| self.is_full());
    }

    /// Calls `then` if all workers are idle and tasks wait. No task is in a queue or in a thief's hands meanwhile: what
    /// the proof says of the end it says of this moment, too.
    pub fn when_all_wait(&self, injector: &Injector, then: impl FnOnce()) {
        let all_idle = || self.idle.load(Ordering::Acquire) == self.workers;
        if all_idle() && self.waits() != 0 {
            injector.close_if(|| {
                if all_idle() && self.waits() != 0 {
                    then();
                }
                false
            });
        }
    }

    /// The number of a worker's.
    pub fn waiting(&self, worker: usize) -> &Waiting {
        &self.waiting[worker]
    }

    /// All workers are idle, no task waits, and what they did is seen. In this order: a worker that was
    /// active at the first look may have a task that waits by the second. The injector is locked, and empty.
    fn is_full(&self) -> bool {
        self.idle.load(Ordering::Acquire) == self.workers && self.waits() == 0
    }

    /// How many tasks wait; while all workers are idle.
    fn waits(&self) -> u32 {
        let numbers = self.waiting.iter().map(|waiting| waiting.0.0.load(Ordering::Relaxed));
        numbers.fold(0, u32::wrapping_add)
    }

    fn ends(&self, end: bool) -> bool {
        if end {
            self.ended.store(true, Ordering::Release); // pairs with `ended`
        }
        end
    }

    /// The calling worker, idle, is about to take a task.
    pub fn leave(&self) {
        // Ordered by the releasing operation that takes the task: see the proof. Relaxed would do.
        self.idle.fetch_sub(1, Ordering::AcqRel);
    }

    #[inline]
    pub fn ended(&self) -> bool {
        self.ended.load(Ordering::Acquire) // pairs with the store in `ends`
    }
}
