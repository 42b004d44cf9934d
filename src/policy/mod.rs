//! L4: the schedulers. A kind is a file here and rows in the table.
//!
//! | kind | file | what |
//! | --- | --- | --- |
//! | `lifo`, `fifo` | `shared` | one stack or queue under one lock |
//! | `steal` | [`stealing`] | a deque per worker |
//! | `cont` | `fiber::cont` | the same, but what is stolen is what follows a spawn |
//! | `serial` | `serial` | one thread: the oracle of the tests |
//!
//! The deque, or the lock, is a type parameter, so that each row's spawn and worker loop are
//! compiled for it alone. A C call goes through one function pointer of its row.

pub mod operations;
pub mod serial;
pub mod shared;
pub mod stealing;

use crate::idle::quiescence::Waiting;
use crate::queue::Full;
use crate::queue::injector::Refused;
use crate::queue::run_gate::Ends;
use crate::settings::{Accepted, Global, Idle, Join, Overflow, Steal};
use crate::stats::Counters;
use crate::sys::memory::NoMemory;
use crate::task::Task;
use std::any::Any;
use std::time::Duration;

/// What a kind needs to know of a run.
pub struct Plan {
    pub idle: Idle,
    pub ends: Ends,
    /// Of kind `serial`.
    pub ready_order: ReadyOrder,
    pub workers: usize,
    /// How many tasks a queue is to hold.
    pub qlen: usize,
    pub overflow: Overflow,
    pub steal: Steal,
    pub global: Global,
    pub join: Join,
    /// How many threads can run at once.
    pub processors: usize,
}

impl Plan {
    /// The most tasks that a queue may hold before it refuses one.
    pub fn limit(&self) -> usize {
        if self.overflow == Overflow::Refuse { self.qlen } else { usize::MAX }
    }
}

/// Which of the ready tasks is next, where one thread alone decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadyOrder {
    YoungestFirst,
    Random,
}

/// What a kind without `hold` of its own promises.
const COUNTED: &str = "a number for each worker";

/// A scheduling policy: the verbs a run needs of it.
pub trait Policy: Sync + Sized + 'static {
    /// The values of `SCHED_STEAL`, `SCHED_OVERFLOW` and `SCHED_GLOBAL` that it accepts.
    const ACCEPTED: Accepted = Accepted::ONE_BY_ONE;

    fn new(plan: &Plan) -> Result<Self, NoMemory>;

    /// Completes the initialization that needs the value's final address.
    ///
    /// # Safety
    /// Called once, before the first use. The value does not move afterwards.
    unsafe fn initialize_in_place(&self);

    /// Adds a task, from the thread at `place`.
    ///
    /// # Safety
    /// The caller occupies `place`, a worker's of this run; or the run has not started, and
    /// nobody does.
    unsafe fn spawn(&self, place: &impl Place, task: Task) -> Result<(), Full>;

    /// The rest of a spawn that `sched_spawn` has begun, because it has the `put` of this policy's deques built in.
    ///
    /// # Safety
    /// As for `spawn`; the `put` returned false just now.
    unsafe fn finish_spawn(&self, _place: &impl Place, _task: Task) -> Result<(), Full> {
        Err(Full)
    }

    /// The deque of worker `index`, if each has one.
    fn deque_of(&self, _index: usize) -> Option<&dyn Any> {
        None
    }

    /// Called once, before the run starts. True if the workers but 0 sleep until `Place::start` is
    /// called for them; false if they must have their threads from the start.
    fn starts_asleep(&self) -> bool {
        false
    }

    /// Adds a task from any thread; `place` is a worker's of this run, not the caller's.
    fn inject(&self, place: &impl Place, task: Task) -> Result<(), Refused>;

    /// Adds a task that has run already and goes on, behind all others, from any thread while the
    /// run goes on. No limit refuses it.
    fn requeue(&self, place: &impl Place, task: Task) -> Result<(), NoMemory>;

    /// Reserves `more` places for tasks that `requeue` adds, or releases -`more`. An error: there is no memory for more.
    fn reserve(&self, more: isize) -> Result<(), NoMemory>;

    /// As `requeue`, for a task that has not begun: it takes none of the places that are reserved.
    fn put_back(&self, place: &impl Place, task: Task) -> Result<(), NoMemory>;

    /// False if the run has one thread and never more, whatever is asked for.
    const HAS_THREADS: bool = true;

    /// True if a task that gives way stands in line with the others of its worker (`line_up`), and not behind all.
    const LINES_UP: bool = false;

    /// Adds a task that gives way, as `requeue` does; or as a spawn, if the kind `LINES_UP` and there is room.
    ///
    /// # Safety
    /// The caller occupies `place`, a worker's of this run.
    unsafe fn line_up(&self, place: &impl Place, task: Task) -> Result<(), NoMemory> {
        self.requeue(place, task)
    }

    /// The number by which `hold` and `let_go` count for worker `index`, if that is all that they do.
    fn waiting(&self, _index: usize) -> Option<&Waiting> {
        None
    }

    /// A task of the calling worker's, at `place`, is about to wait for what may come from outside of the run,
    /// which goes on for it until `let_go`, on the worker that runs it then.
    fn hold(&self, place: &impl Place) {
        self.waiting(place.index()).expect(COUNTED).hold();
    }

    fn let_go(&self, place: &impl Place) {
        self.waiting(place.index()).expect(COUNTED).let_go();
    }

    /// Takes this task, if the worker at `place` has added it and it is at hand.
    ///
    /// # Safety
    /// The caller occupies `place`, a worker's of this run.
    unsafe fn take_back(&self, place: &impl Place, task: Task) -> bool;

    /// Takes the task that the worker at `place` runs next, when it leaves its task in the middle.
    ///
    /// # Safety
    /// The caller occupies `place`, a worker's of this run.
    unsafe fn next_in_line(&self, place: &impl Place, first: LookFirst) -> Option<Task>;

    /// As `next_in_line`, for a task that is to be queued behind all others, by `end_exchange` in place of `line_up`:
    /// only one that was set aside, out of the queue where that comes last, if it is next. The queue is locked in between: on the same thread, and
    /// for a few instructions.
    ///
    /// # Safety
    /// As for `next_in_line`.
    unsafe fn begin_exchange(&self, _place: &impl Place) -> Option<Task> {
        None
    }

    /// # Safety
    /// The calling thread has got a task of `begin_exchange`.
    unsafe fn end_exchange(&self, _place: &impl Place, _task: Task) {}

    /// Runs tasks until `awaited` is over, and sleeps where there are none: the caller is in the middle
    /// of a task. (`SCHED_JOIN=help`.)
    ///
    /// # Safety
    /// The caller runs on `seat`, of this run.
    unsafe fn help(&self, seat: &impl Seat, awaited: &dyn Awaited);

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
    /// The caller runs on `seat`, of this run.
    unsafe fn work(&self, seat: &impl Seat);
}

/// Where a worker that leaves a task in the middle looks for the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookFirst {
    /// In its own queue, then elsewhere.
    AtHome,
    /// Among the tasks from outside the run; then in its own queue, and last among the tasks that other
    /// workers keep to themselves. A worker does so now and then, so that no task waits for ever.
    Outside,
}

/// How long a thread sleeps between two looks at what nobody will wake it for.
pub const UNAWAITED: Duration = Duration::from_micros(50);

/// What a task waits for.
pub trait Awaited {
    /// True if it has happened; what was done before it is then seen.
    fn over(&self) -> bool;

    /// Has the caller's worker roused when it is over. False if that cannot be had at this moment, and
    /// the caller must look again.
    fn enlist(&self) -> bool;

    /// Has `task`, by which the caller will go on, queued when it is over; the caller may have gone on when
    /// this returns. False if that cannot be had, and nobody but the caller has the task.
    fn leave(&self, _task: Task) -> bool {
        false
    }

    /// The worker that runs the task: what that has spawned is wanted soonest.
    fn thief(&self) -> Option<usize>;
}

/// A stack on which a worker's loop runs: it may be another worker's after each task, since a task
/// that waits is set aside with the whole stack, and whoever resumes it goes on with that.
pub trait Seat {
    type Place: Place;

    /// The worker that runs here now.
    fn place(&self) -> &Self::Place;

    /// True if the worker that begins here is idle: it has no task, and none in its queue.
    fn begins_idle(&self) -> bool;

    /// True if the worker begins here because it has set a task aside, and has done that so often that it
    /// is to look at the injector first. (A task that is set aside has not returned: `tick` does not
    /// see it.)
    fn begins_outside(&self) -> bool {
        false
    }

    /// Counts a task that has returned here; true now and then (see `TICK`), and whenever another
    /// worker runs here since.
    fn tick(&self) -> bool;

    /// Brings the worker's counter up to date.
    fn flush(&self);

    /// Runs a task; counts it as well.
    fn run(&self, task: Task);
}

/// A worker looks at the injector once in so many tasks of its own, lest those starve the
/// others. A prime, so that it does not keep step with the program; the number is Go's and
/// Tokio's.
pub const TICK: u32 = 61;

/// Where a worker runs, as a kind sees it: the worker record in the library, something
/// smaller in the models.
pub trait Place {
    /// Which worker this is, from 0.
    fn index(&self) -> usize;
    fn counters(&self) -> &Counters;
    /// The worker has looked at the injector, and need not again for so long as `TICK` says.
    fn looked_outside(&self) {}
    /// Brings a thread to the place of a worker that sleeps since before the run: see
    /// `Policy::starts_asleep`. False if there is none to be had. From any thread.
    fn start(&self, worker: usize) -> bool;
    /// A random number below `n`.
    fn random_below(&self, n: usize) -> usize;
    /// To be called when all workers are idle, nothing is queued, and tasks wait, perhaps for ever.
    fn at_rest(&self) {}
    /// True if the task was set aside, and will go on.
    fn is_set_aside(_task: Task) -> bool {
        false
    }
    /// Calls the task, uncounted.
    fn call(&self, task: Task);
    /// To be called after a task has returned, before the next: ends the process if that was in a
    /// child which the task made by fork.
    fn stay(&self);
}
