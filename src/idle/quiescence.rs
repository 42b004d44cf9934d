//! Quiescence: the end of a run, found without a counter of tasks.
//!
//! A shared counter of outstanding tasks would cost every spawn a contended write. Instead idle
//! workers count themselves.
//!
//! # State
//!
//! `idle`: how many workers are idle. An idle worker runs no task, and its own deque is empty: it
//! saw the deque empty before it entered, and no other thread ever pushes there. At a run's start
//! every worker is idle except worker 0, which holds the first task. So a worker whose thread was
//! not created, or has not started yet, is idle and delays nobody.
//!
//! # Protocol
//!
//! 1. A worker *enters* when its own deque is empty and its first search found nothing.
//! 2. An idle worker that wants a task *leaves before it takes the task*, and enters again if it
//!    did not get the task.
//! 3. A worker whose entering made `idle` equal to the number of workers confirms the end under the
//!    injector's lock. If the injector is empty and `idle` is still full, the gate is closed,
//!    `ended` is set, and all workers are woken.
//!
//! # Proof
//!
//! Suppose `idle == workers` is read while the injector is locked and empty, and some task is
//! queued or running. It is not in the injector. If it runs, or a thief has just taken it, then the
//! worker that runs it, or the thief, has left (rule 2) and not entered again: this worker is not
//! counted, a contradiction. If it is in the deque of worker w, then w is counted, so w saw its
//! deque empty before it entered, and has pushed nothing since: a contradiction. New tasks come
//! from running tasks, of which there are none, or through the injector, which is locked. So no
//! task is left, and none will come.
//!
//! A suspended task is neither queued nor running. It is counted from before its worker continues
//! until the task runs again, so that the run does not end without it. Each worker has its own
//! counter: the tasks that it has suspended, minus those that it has resumed. The sum of the
//! counters is the number of waiting tasks. No worker changes its counter while it is idle, or
//! takes a task while `idle` is full and the injector locked. So counters read one by one belong to
//! one moment. (A thread that is not an active worker uses a further counter, under the injector's
//! lock. A pending timer counts like a waiting task. It is counted before it is added, and the
//! worker that runs its function takes it out of the count.)
//!
//! A thief's leaving is seen in time: the thief leaves, and then takes the task by a releasing
//! operation on the deque (a compare-and-swap, or a lock). An owner that finds the task gone has
//! read a value that this operation wrote. The fence at the start of `enter` makes this reading an
//! acquire, so the thief's decrement comes before the owner's increment in the order of `idle`.
//!
//! # A run that is held open
//!
//! The proof also holds for any other moment with a full count: the run is then at *rest*. While
//! the run is held open (a pool's run: `queue::run_gate`), the worker of rule 3 does not close the
//! gate, but wakes the threads that wait for a rest. A thread that begins to wait checks the
//! condition of rule 3 itself, under the same lock. If the condition is false, a worker is active
//! or a task is in the injector, which a worker will take. So the count becomes full later, and the
//! worker that makes it full finds the request for a rest. The thread that stops holding the run
//! open checks the same condition in the same way.
//!
//! # The bad interleaving
//!
//! Suppose that a thief took a task and then left. Owner w finds its deque empty and enters, the
//! count is full, and the run ends while the thief still has the task. Rule 2 excludes this.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `enter`: fence | SeqCst; Acquire would do | the thief's release of the task's place in the deque |
//! | `enter`: addition to `idle` | AcqRel | `enter` of the others, and `is_full` |
//! | `is_full`, `when_all_wait`, `when_open`: load of `idle` | Acquire | each `enter` |
//! | `leave`: subtraction from `idle` | AcqRel; Relaxed would do | the thief's release, which follows it |
//! | a worker's counter of waiting tasks | Relaxed | its `enter`, before which it was changed |
//! | `end`: store of `ended` | Release | `ended` |
//! | `ended`: load | Acquire | `end` |
//! | `are_all_idle`: load of `idle` | Relaxed | none: a hint |

use crate::queue::injector::Injector;
use crate::queue::run_gate::RestAwaited;
use crate::sys::atomic::{AtomicBool, AtomicU32, Ordering, Pad, fence};
use crate::sys::memory;
use crate::sys::memory::NoMemory;

/// A run that has not ended, and is locked: no outside task comes in, and no wait for a rest ends.
pub struct LockedRun<'a> {
    /// The number of active workers and guests. Once it is 0 and nothing is queued, it stays 0.
    pub active: &'a dyn Fn() -> usize,
    /// The guests that sleep and are not idle: see `policy::guests`.
    pub sleepers: &'a dyn Fn() -> Sleepers,
    /// The number of waiting tasks. Called only while the threads of all active workers sleep.
    pub tasks: &'a dyn Fn() -> usize,
    /// The number of tasks in the queue for all workers.
    pub queued: usize,
    /// The number of threads that wait for a rest.
    pub threads: usize,
}

/// Guests that have begun to sleep, in the middle of their calls, with tasks in their queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sleepers {
    pub number: usize,
    /// One of these guests has tasks in its queue now.
    pub have_tasks: bool,
}

pub struct Quiescence {
    idle: Pad<AtomicU32>,
    ended: Pad<AtomicBool>,
    /// A counter for each worker, and one for all other threads.
    waiting: Box<[Pad<Waiting>]>,
    workers: u32,
}

/// One worker's count of tasks that wait for an event which may come from outside the run, modulo
/// 2^32. Only the worker itself changes it, while it is active; the worker's `enter` publishes it.
pub struct Waiting(AtomicU32);

impl Waiting {
    /// Called when a task of the calling worker is about to wait. Counts the task.
    #[inline]
    pub fn hold(&self) {
        self.count(1);
    }

    /// Called when a task that has waited continues on the calling worker.
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
        let waiting = memory::slice(workers + 1, |_| Ok(Pad(Waiting(AtomicU32::new(0)))))?;
        let workers = u32::try_from(workers).expect("more than 4096 workers");
        Ok(Quiescence {
            idle: Pad(AtomicU32::new(workers - 1)),
            ended: Pad(AtomicBool::new(false)),
            waiting,
            workers,
        })
    }

    /// Called when the worker becomes idle. True if this ended the run: the caller then wakes all
    /// others.
    pub fn enter(&self, injector: &Injector) -> bool {
        fence(Ordering::SeqCst); // makes the reading of the emptied deque an acquire
        // Release: what this worker's tasks wrote is published to the worker that sees the count
        // full, by the Acquire load in `is_full` or by an `enter` of its own. Acquire: pairs with
        // the other workers' `enter`.
        if self.idle.fetch_add(1, Ordering::AcqRel) + 1 < self.workers {
            return false;
        }
        injector.close_if(|| self.is_full()) && self.end()
    }

    /// Stops holding the run open. True if this ended the run: the caller then wakes the workers.
    pub fn release(&self, injector: &Injector) -> bool {
        injector.release(|| self.is_full()) && self.end()
    }

    pub fn wait_for_rest(&self, injector: &Injector, thread: &RestAwaited) {
        injector.wait_for_rest(thread, || self.is_full());
    }

    /// Calls `then` if all workers are idle and some tasks wait. No task is in a queue or taken by
    /// a thief during the call: the proof also holds for this moment.
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

    /// If the gate is open, calls `then` with the state of the run, under the injector's lock.
    pub fn when_open(
        &self,
        injector: &Injector,
        sleepers: &dyn Fn() -> Sleepers,
        then: impl FnOnce(&LockedRun),
    ) {
        injector.when_open(|queued, threads| {
            then(&LockedRun {
                active: &|| (self.workers - self.idle.load(Ordering::Acquire)) as usize,
                sleepers,
                tasks: &|| self.waits() as usize,
                queued,
                threads,
            });
        });
    }

    /// The number of waiting tasks. A hint while workers are active: the counters change.
    pub fn waits_hint(&self) -> usize {
        usize::try_from(self.waits() as isize).unwrap_or(0)
    }

    /// True if all workers were idle just now. Relaxed: a hint, after which the caller reads
    /// nothing that the workers wrote.
    pub fn are_all_idle(&self) -> bool {
        self.idle.load(Ordering::Relaxed) == self.workers
    }

    pub fn waiting(&self, worker: usize) -> &Waiting {
        &self.waiting[worker]
    }

    /// Like `Waiting::hold`, by a thread that is not an active worker. False if the run has ended.
    pub fn hold_outside(&self, injector: &Injector) -> bool {
        injector.while_open(|| self.outside().hold())
    }

    /// Takes a hold back, by a thread that is not an active worker. True if this ended the run: the
    /// caller then wakes the workers.
    pub fn let_go_outside(&self, injector: &Injector) -> bool {
        injector.while_open(|| self.outside().let_go());
        injector.close_if(|| self.is_full()) && self.end()
    }

    /// The counter for threads that are not active workers. Used under the injector's lock.
    fn outside(&self) -> &Waiting {
        &self.waiting[self.workers as usize]
    }

    /// True if all workers are idle and no task waits; the caller then sees what the workers did.
    /// The order matters: a worker that was active at the first read may have a waiting task by the
    /// second read. The injector is locked, and empty.
    fn is_full(&self) -> bool {
        self.idle.load(Ordering::Acquire) == self.workers && self.waits() == 0
    }

    /// The number of waiting tasks. Called while all workers are idle.
    fn waits(&self) -> u32 {
        let numbers = self.waiting.iter().map(|waiting| waiting.0.0.load(Ordering::Relaxed));
        numbers.fold(0, u32::wrapping_add)
    }

    /// Ends the run, and returns true.
    fn end(&self) -> bool {
        self.ended.store(true, Ordering::Release); // pairs with the load in `ended`
        true
    }

    /// Called when the idle worker is about to take a task.
    pub fn leave(&self) {
        // The operation that takes the task releases this: see the proof. Relaxed would suffice.
        self.idle.fetch_sub(1, Ordering::AcqRel);
    }

    #[inline]
    pub fn ended(&self) -> bool {
        self.ended.load(Ordering::Acquire) // pairs with the store in `end`
    }
}
