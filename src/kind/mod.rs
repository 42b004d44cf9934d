//! L4: the schedulers. A kind is a file here and rows in the table.
//!
//! | kind | file | what |
//! | --- | --- | --- |
//! | `lifo`, `fifo` | `shared` | one stack or queue under one lock |
//! | `steal` | [`stealing`] | a deque per worker |
//! | `serial` | `serial` | one thread: the oracle of the tests |
//!
//! The deque, or the lock, is a type parameter, so that each row's spawn and worker loop are
//! compiled for it alone. A C call goes through one function pointer of its row.

pub mod stealing;

#[cfg(not(loom))]
pub mod parcel;
#[cfg(not(loom))]
pub mod run;
#[cfg(not(loom))]
pub mod serial;
#[cfg(not(loom))]
pub mod shared;
#[cfg(not(loom))]
pub mod table;
#[cfg(not(loom))]
pub mod worker;

use crate::base::config::Idle;
use crate::base::mem::NoMemory;
use crate::probe::Counters;
use crate::queue::Full;
use crate::queue::injector::Refused;
use crate::queue::split::Split;
use crate::task::Task;

/// The deque of the default row.
pub type Quick = Split<false>;

/// What a kind needs to know of a run.
pub struct Plan {
    pub idle: Idle,
    /// The run stays open until `Kind::release`.
    pub held: bool,
    /// The order of the tasks is to be random.
    pub shuffled: bool,
    pub workers: usize,
    /// The most tasks that a queue may hold.
    pub limit: usize,
    /// How many threads can run at once.
    pub processors: usize,
}

/// A scheduling policy: the verbs a run needs of it.
pub trait Kind: Sync + Sized + 'static {
    fn new(plan: &Plan) -> Result<Self, NoMemory>;

    /// Called once, when the value has its final address and before its first use.
    ///
    /// # Safety
    /// As said.
    unsafe fn settle(&self);

    /// Adds a task, from the thread at `place`.
    ///
    /// # Safety
    /// The caller occupies `place`, a worker's of this run; or the run has not started, and
    /// nobody does.
    unsafe fn spawn(&self, place: &impl Place, task: Task) -> Result<(), Full>;

    /// The deque of worker `index`, if it is the one whose `put` `sched_spawn` has built in.
    fn quick(&self, _index: usize) -> Option<&Quick> {
        None
    }

    /// Called once, before the run starts. True if the workers but 0 sleep until `Place::start` is
    /// called for them; false if they must have their threads from the start.
    fn starts_asleep(&self) -> bool {
        false
    }

    /// Adds a task from any thread; `place` is a worker's of this run, not the caller's.
    fn inject(&self, place: &impl Place, task: Task) -> Result<(), Refused>;

    /// Runs tasks until `awaited` is over, and sleeps where there are none: the caller is in the middle
    /// of a task. (`SCHED_JOIN=help`.)
    ///
    /// # Safety
    /// The caller occupies `place`, a worker's of this run.
    unsafe fn help(&self, place: &impl Place, awaited: &dyn Awaited);

    /// Wakes `worker`, if it sleeps in `help`: what it has enlisted for is over. From any thread.
    fn rouse(&self, worker: usize);

    /// Waits until no task is left, at one moment since the call; what the tasks wrote is then seen.
    /// Not for a task of this run.
    fn wait_for_rest(&self);

    /// The run, held open until now, ends when no task is left.
    fn release(&self);

    /// The life of a worker: returns when the run has ended.
    ///
    /// # Safety
    /// The caller occupies `place`, a worker's of this run.
    unsafe fn work(&self, place: &impl Place);
}

/// What a task waits for.
pub trait Awaited {
    /// True if it has happened; what was done before it is then seen.
    fn over(&self) -> bool;

    /// Has the caller's worker roused when it is over. False if that cannot be had at this moment, and
    /// the caller must look again.
    fn enlist(&self) -> bool;

    /// The task whose end it is, if no worker has begun it, as far as one can see.
    fn task(&self) -> Option<Task>;

    /// The worker that runs the task: what that has spawned is wanted soonest.
    fn thief(&self) -> Option<usize>;
}

/// Where a worker runs, as a kind sees it: the worker record in the library, something
/// smaller in the models.
pub trait Place {
    /// Which worker this is, from 0.
    fn index(&self) -> usize;
    fn counters(&self) -> &Counters;
    /// Brings a thread to the place of a worker that sleeps since before the run: see
    /// `Kind::starts_asleep`. False if there is none to be had. From any thread.
    fn start(&self, worker: usize) -> bool;
    /// A random number below `n`.
    fn random_below(&self, n: usize) -> usize;
    /// Calls the task, uncounted.
    fn call(&self, task: Task);
    /// To be called after a task has returned, before the next: ends the process if that was in a
    /// child which the task made by fork.
    fn stay(&self);

    #[inline]
    fn run(&self, task: Task) {
        self.counters().tasks.add(1);
        self.call(task);
        self.stay();
    }
}
