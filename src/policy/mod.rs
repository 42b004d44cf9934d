//! The scheduling policies. A kind is a file here and rows in the table. This is one file because
//! the traits, which name each other, are the whole contract between a policy and the runtime.
//!
//! | kind | file | what |
//! | --- | --- | --- |
//! | `lifo`, `fifo` | `shared` | one stack or queue under one lock |
//! | `steal` | [`stealing`] | a deque per worker |
//! | `cont` | `runtime::cont` | the same, but a thief steals the continuation of a spawn |
//! | `serial` | `serial` | one thread: the oracle of the tests |
//!
//! The deque, or the lock, is a type parameter: the spawn and the worker loop of each row are
//! compiled for that row alone. A C call goes through one function pointer of its row.

pub mod guests;
pub mod operations;
pub mod serial;
pub mod shared;
pub mod stealing;
pub mod turns;

use crate::idle::Naps;
use crate::idle::quiescence::{LockedRun, Waiting};
use crate::policy::guests::Purpose;
use crate::policy::turns::Turns;
use crate::queue::injector::Refused;
use crate::queue::length::Lengths;
use crate::queue::run_gate::{Ends, RestAwaited, Rests};
use crate::queue::{Deque, Full};
use crate::settings::{Accepted, Global, Idle, Join, Overflow, Steal};
use crate::stats::{Counters, Phase};
use crate::sys::atomic::AtomicUsize;
use crate::sys::memory::NoMemory;
use crate::task::Task;
use std::any::Any;
use std::marker::PhantomData;
use std::ops::Deref;
use std::time::Duration;

/// What a policy needs to know of a run.
pub struct Plan {
    pub idle: Idle,
    pub ends: Ends,
    /// For kind `serial`.
    pub ready_order: ReadyOrder,
    pub workers: usize,
    /// How many threads from outside can work at places of their own: see [`guests`].
    pub guests: usize,
    /// How many tasks a queue holds before it overflows.
    pub qlen: usize,
    pub overflow: Overflow,
    pub steal: Steal,
    pub global: Global,
    pub join: Join,
    /// How many threads can run at once.
    pub processors: usize,
    /// How long a queue keeps the memory of a time when it was long.
    pub warm: Duration,
}

impl Plan {
    /// The number of places: those of the workers, and behind them those of the guests.
    pub fn places(&self) -> usize {
        self.workers + self.guests
    }

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

/// The promise of a policy that does not override `hold`.
const COUNTED: &str = "a number for each worker";

/// A scheduling policy: the verbs that a run needs.
pub trait Policy: Sync + Sized + 'static {
    /// The values of `SCHED_STEAL`, `SCHED_OVERFLOW` and `SCHED_GLOBAL` that the policy accepts.
    const ACCEPTED: Accepted = Accepted::ONE_BY_ONE;

    /// Where a debugger finds the lengths of the queues.
    const LENGTHS: Lengths;

    fn new(plan: &Plan) -> Result<Self, NoMemory>;

    /// Completes the initialization that needs the value's final address.
    ///
    /// # Safety
    /// Called once, before the first use. The value does not move afterwards.
    unsafe fn initialize_in_place(&self);

    /// Adds a task, from the thread at `place`.
    fn spawn(&self, place: Mine<'_, impl Place>, task: Task) -> Result<(), Full>;

    /// As `spawn`, by a task that is about to end: its worker will take this task next, so other
    /// workers are told of it only if none of them looks for tasks.
    fn spawn_last(&self, place: Mine<'_, impl Place>, task: Task) -> Result<(), Full> {
        self.spawn(place, task)
    }

    /// Completes a spawn that `sched_spawn` has begun with its built-in `put` of this policy's
    /// deques.
    ///
    /// # Safety
    /// As for `spawn`, and the `put` has just returned false.
    unsafe fn finish_spawn(&self, _place: Mine<'_, impl Place>, _task: Task) -> Result<(), Full> {
        Err(Full)
    }

    /// The deque of worker `index`, if each worker has one.
    fn deque_of(&self, _index: usize) -> Option<&dyn Any> {
        None
    }

    /// The number of tasks in the queue of worker `index`, if each worker has one. A hint; from any
    /// thread.
    fn queued(&self, _index: usize) -> Option<usize> {
        None
    }

    /// Called once, before the run starts. True if all workers but worker 0 sleep until
    /// `Place::start` is called for them; false if they must have their threads from the start.
    fn starts_asleep(&self) -> bool {
        false
    }

    /// Adds a task from any thread. `place` belongs to some worker of this run, not to the caller.
    fn inject(&self, place: &impl Place, task: Task) -> Result<(), Refused>;

    /// Adds a task that has begun, behind all other tasks. Called from any thread while the run
    /// goes on. No limit refuses the task.
    fn requeue(&self, place: &impl Place, task: Task) -> Result<(), NoMemory>;

    /// As `requeue`, for a task whose blocking section has ended: see `queue::ended`.
    fn requeue_ended(&self, place: &impl Place, task: Task) -> Result<(), NoMemory> {
        self.requeue(place, task)
    }

    /// True if a task is queued whose blocking section has ended. A hint.
    fn has_ended(&self) -> bool {
        false
    }

    /// Reserves `more` slots for tasks that `requeue` adds, or releases -`more`. Fails if there is
    /// no memory.
    fn reserve(&self, more: isize) -> Result<(), NoMemory>;

    /// As `requeue`, for a task that has not begun: the task takes none of the reserved slots.
    fn put_back(&self, place: &impl Place, task: Task) -> Result<(), NoMemory>;

    /// True if threads from outside can work at places of their own: see [`guests`].
    const HAS_GUESTS: bool = false;

    /// True if a guest's place has a queue of its own, to which only the guest adds tasks.
    const GUESTS_HAVE_QUEUES: bool = false;

    /// A thread from outside comes to a place, which it owns from now on: the place that it has left
    /// with tasks, or a free one. None: no place is free, or the run has ended. From any thread; the policy is not freed during the call.
    fn come(&self, _thread: usize, _purpose: Purpose) -> Option<usize> {
        None
    }

    /// The guest at `place` gives the place back. Workers run the tasks that are left in its queue; the
    /// place is free when none is left.
    fn go(&self, _place: Mine<'_, impl Place>, _purpose: Purpose) {}

    /// The guest at `place` calls `sleep`. Meanwhile workers take its processor and its tasks.
    fn sleep_as_guest(&self, _place: Mine<'_, impl Place>, sleep: &mut dyn FnMut()) {
        sleep();
    }

    /// False if a run has one thread, however many the program asks for.
    const HAS_THREADS: bool = true;

    /// True if a task that yields stands in line with the other tasks of its worker (`line_up`),
    /// and not behind all tasks of the run.
    const LINES_UP: bool = false;

    /// Adds a task that yields: as a spawn does, if the policy `LINES_UP` and there is room;
    /// otherwise as `requeue` does.
    fn line_up(&self, place: Mine<'_, impl Place>, task: Task) -> Result<(), NoMemory> {
        self.requeue(&*place, task)
    }

    /// The counter of worker `index`, if `hold` and `let_go` do nothing but count.
    fn waiting(&self, _index: usize) -> Option<&Waiting> {
        None
    }

    /// Keeps the run from ending: a task of the calling worker, at `place`, is about to wait for
    /// something that may come from outside the run. The worker that resumes the task calls
    /// `let_go`.
    fn hold(&self, place: &impl Place) {
        self.waiting(place.index()).expect(COUNTED).hold();
    }

    fn let_go(&self, place: &impl Place) {
        self.waiting(place.index()).expect(COUNTED).let_go();
    }

    /// Publishes all of the worker's private tasks, for a task that computes for long without
    /// adding or taking tasks. `takes`: how long the tasks will take together; if this is many
    /// times what a wake-up takes, sleepers are woken for them. None: nobody knows; then the tasks
    /// are published if two workers look for tasks. (A single thief has the task that was added
    /// first.)
    fn publish_tasks(&self, _place: Mine<'_, impl Place>, _takes: Option<Duration>) {}

    /// How long it takes to wake a worker, if a spawn would wake one now, since none searches for tasks.
    /// A hint.
    fn wakes_at_spawn(&self) -> Option<Duration> {
        None
    }

    /// How many tasks from outside the run wait, for worker `index`. None: they have no turns there
    /// ([`turns`]).
    fn outside(&self, _index: usize) -> Option<&AtomicUsize> {
        None
    }

    /// True if a task from outside the run goes before the own tasks of the worker at `place`. The
    /// caller then runs such tasks, in a loop that `begins_outside`.
    fn is_turn_due(&self, _place: Mine<'_, impl Place>) -> bool {
        false
    }

    /// Takes `task` out of the queue, if the worker at `place` has added it and can reach it.
    fn take_back(&self, place: Mine<'_, impl Place>, task: Task) -> bool;

    /// Called when the worker at `place` has taken its youngest task out of its queue and has
    /// restored it: a sleeper that looked between the two has missed that task, and is woken.
    fn restored(&self, _place: Mine<'_, impl Place>) {}

    /// Takes the task that the worker at `place` runs next, when it leaves its task in the middle.
    fn next_in_line(&self, place: Mine<'_, impl Place>, first: LookFirst) -> Option<Task>;

    /// Exchanges a task that yields for the next task, in place of `next_in_line` and `line_up`.
    /// Takes the next task of a queue, if that task was suspended; `end_exchange` then adds the
    /// yielding task to the same queue, behind all others. The queue stays locked until
    /// `end_exchange`, which the same thread calls a few instructions later.
    fn begin_exchange(&self, _place: Mine<'_, impl Place>) -> Option<Task> {
        None
    }

    /// # Safety
    /// `begin_exchange` has given the calling thread a task.
    unsafe fn end_exchange(&self, _place: Mine<'_, impl Place>, _task: Task) {}

    /// Waits awake until `awaited` is over, for a short time. The caller is in the middle of a task;
    /// it suspends the task if the event is not over afterwards. If tasks are queued that the worker
    /// could run instead, the wait is no longer than a suspension. (Ski rental, as in
    /// `idle::Patience`.) Meanwhile the caller runs parts of what is awaited: see
    /// [`Awaited::parts`].
    fn wait_awake(&self, _stack: OnStack<'_, impl LoopStack>, _awaited: &dyn Awaited) {}

    /// Runs tasks until `awaited` is over, and sleeps while there are none. The caller is in the
    /// middle of a task. (`SCHED_JOIN=help`.)
    fn help(&self, stack: OnStack<'_, impl LoopStack>, awaited: &dyn Awaited);

    /// Runs the tasks in the own queue of a guest for as long as the youngest `is_part` of what the guest
    /// waits for.
    fn run_own(&self, _stack: OnStack<'_, impl LoopStack>, _is_part: &dyn Fn(Task) -> bool) {}

    /// Wakes `worker`, if it sleeps in `help`, because the event that it has enlisted for is over.
    /// Called from any thread.
    fn rouse(&self, worker: usize);

    /// For `RestAwaited::new`.
    fn rests(&self) -> &Rests;

    /// Returns when no task was left at some moment since `thread.begin()`. The caller then sees
    /// what the tasks have written. No task of this run may call this.
    fn wait_for_rest(&self, thread: &RestAwaited);

    /// Lets a run that was held open end when no task is left.
    fn release(&self);

    /// How many tasks are in the queue for all workers. A hint, from any thread.
    fn queued_for_all(&self) -> usize;

    /// How many tasks wait for something that may come from outside the run. A hint, from any
    /// thread.
    fn waits(&self) -> usize;

    /// Calls `then` with the state of the run, if the run has not ended. The run is locked
    /// meanwhile. From any thread.
    fn when_open(&self, then: &mut dyn FnMut(&LockedRun));

    /// The loop of a worker. Returns when the run has ended.
    fn work(&self, stack: OnStack<'_, impl LoopStack>);
}

/// A policy with a deque for each worker. Kind `cont` keeps continuations in these deques.
pub trait DequePolicy: Policy {
    type Deque: Deque;

    /// The first half of `spawn`, with the deque of `place` at hand. If it returns false,
    /// `finish_spawn` must follow at once.
    fn spawn_quickly(&self, deque: &Self::Deque, place: Mine<'_, impl Place>, task: Task) -> bool;

    /// True if a task from outside the run waits. A hint.
    fn has_injected(&self) -> bool;
}

/// Whether a worker counts as idle: see `idle::quiescence`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// The worker runs no task, and its queue is empty.
    Idle,
    Active,
}

/// When a worker will take the task that it queues now.
#[derive(Clone, Copy)]
pub enum Turn {
    /// After the tasks that the caller will queue.
    Soon,
    /// Next: the caller is a task that is about to end.
    Next,
}

/// Where a worker that leaves a task in the middle looks for the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookFirst {
    /// In its own queue, then elsewhere.
    AtHome,
    /// Among the tasks from outside the run; then in its own queue, and last among the tasks that
    /// other workers keep to themselves. A worker does so now and then, so that no task waits for
    /// ever.
    Outside,
}

/// How long a thread sleeps between two looks at an event for which nobody will wake it.
pub const UNAWAITED: Duration = Duration::from_micros(50);

/// The event that a task waits for.
pub trait Awaited {
    /// True if the event has happened. The caller then sees what was written before the event.
    fn over(&self) -> bool;

    /// Arranges that the caller's worker is roused by the event. False if that is not possible at
    /// this moment, and the caller must look again.
    fn enlist(&self) -> bool;

    /// Arranges that the event queues `task`, which resumes the caller; the caller may have been
    /// resumed before this returns. False if that is not possible; then only the caller has the
    /// task.
    fn leave(&self, _task: Task) -> bool {
        false
    }

    /// The worker that runs the awaited task. The caller takes tasks from that worker first: they
    /// may be children of the awaited task.
    fn thief(&self) -> Option<usize>;

    /// The tasks that the caller may run on top of its own task.
    fn parts(&self) -> Parts<'_> {
        None
    }
}

/// Tells whether a task is a part of what is awaited. The task was taken from a queue and has not
/// begun. If it is a part, the caller runs it at once, on top of its own task. None: what is awaited
/// has no parts.
pub type Parts<'a> = Option<&'a dyn Fn(Task) -> bool>;

/// A stack on which a worker's loop runs. After each task the stack may belong to another worker: a
/// task that waits is suspended with its whole stack, and the worker that resumes the task goes on
/// with the loop on that stack.
pub trait LoopStack {
    type Place: Place;

    /// The worker that runs here now.
    fn place(&self) -> &Self::Place;

    /// Whether the worker that begins here is idle.
    fn activity(&self) -> Activity;

    /// True if the worker that begins here must look at the injector first. This is so once in
    /// [`TICK`] tasks that leave their worker without returning (`tick` counts only tasks that
    /// return), and when a turn is due ([`turns`]).
    fn begins_outside(&self) -> bool {
        false
    }

    /// The worker that has begun here with tasks from outside now turns to its own.
    fn ends_outside(&self) {}

    /// Lets tasks from outside the run go first, in a loop on another stack, if there is one. Called
    /// in the middle of a task, when a turn is due.
    fn give_way(&self) {}

    /// As `run`, for a task from outside that runs in a turn.
    fn run_from_outside(&self, task: Task) {
        self.run(task);
    }

    /// Counts a task that has returned here. True once in [`TICK`] tasks, and whenever another
    /// worker has taken over the stack meanwhile.
    fn tick(&self) -> bool;

    /// The worker has found its own queue empty.
    fn out_of_tasks(&self);

    /// Runs a task and counts it.
    fn run(&self, task: Task);

    /// As `run`, on top of the task here, which waits.
    fn run_on_top(&self, task: Task);
}

/// A worker looks at the injector once in this many tasks of its own; otherwise its own tasks could
/// starve the injector's. The number is Go's and Tokio's. It is a prime, so that the looks do not
/// keep step with the program.
pub const TICK: u32 = 61;

/// What a worker does, beside running tasks. Statistics count the steps, and an observed run records
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The worker has taken a task from the queue of this worker.
    Steal(usize),
    /// A search of all queues has found no task.
    FailedSearch,
    /// The worker has raided the queue of this worker.
    Raid(usize),
    /// The worker has woken this number of workers, perhaps none.
    Wake(usize),
    /// The worker has found no task. (Where workers have deques, `LoopStack::out_of_tasks` says so.)
    OutOfTasks,
    /// The worker has slept for a fixed time between two searches.
    Nap,
    /// The worker is about to sleep until it is woken: see `Place::sleeping`.
    Park,
    /// From now on the worker, which the calling thread occupies, is in this phase.
    Phase(Phase),
    /// From now on the worker is active, or idle.
    Activity(Activity),
}

impl Step {
    #[inline(always)]
    pub fn count(self, counters: &Counters) {
        match self {
            Step::Steal(_) => {
                counters.steals.add(1);
                counters.stolen_tasks.add(1);
            }
            Step::FailedSearch => counters.failed_steals.add(1),
            Step::Wake(woken) => counters.wakes.add(woken),
            Step::Nap => counters.naps.add(1),
            Step::Park => counters.parks.add(1),
            Step::Raid(_) | Step::OutOfTasks | Step::Phase(_) | Step::Activity(_) => {}
        }
    }
}

/// The evidence that the calling thread occupies a place of a run, which so goes on; or that the run has
/// not started, and nobody occupies the place. (After rayon's `IdleState`: to hold the value is the
/// evidence.)
pub struct Mine<'a, P> {
    place: &'a P,
    /// Makes the type `!Send`.
    thread: PhantomData<*mut ()>,
}

impl<'a, P> Mine<'a, P> {
    /// # Safety
    /// The calling thread occupies the place as long as this value is used, or the run has not started,
    /// and nobody does. The last use of an earlier evidence for this place happened before this call. The
    /// value is passed only to the policy of the place's run.
    #[inline(always)]
    pub unsafe fn new(place: &'a P) -> Self {
        Mine { place, thread: PhantomData }
    }

    /// The record alone, which other threads may have, too.
    #[inline(always)]
    pub fn worker(self) -> &'a P {
        self.place
    }
}

impl<P> Clone for Mine<'_, P> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Mine<'_, P> {}

impl<P> Deref for Mine<'_, P> {
    type Target = P;

    #[inline(always)]
    fn deref(&self) -> &P {
        self.place
    }
}

/// The evidence that the caller runs on a stack of this run. After each task the stack may belong to
/// another worker.
pub struct OnStack<'a, S> {
    stack: &'a S,
    /// Makes the type `!Send`.
    thread: PhantomData<*mut ()>,
}

impl<'a, S: LoopStack> OnStack<'a, S> {
    /// # Safety
    /// The caller runs on the stack as long as this value is used.
    #[inline(always)]
    pub unsafe fn new(stack: &'a S) -> Self {
        OnStack { stack, thread: PhantomData }
    }

    /// The worker that runs here now.
    #[inline(always)]
    pub fn place(&self) -> Mine<'a, S::Place> {
        // SAFETY: the caller is on the stack, so the calling thread occupies the stack's worker.
        unsafe { Mine::new(self.stack.place()) }
    }
}

impl<S> Clone for OnStack<'_, S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for OnStack<'_, S> {}

impl<S> Deref for OnStack<'_, S> {
    type Target = S;

    #[inline(always)]
    fn deref(&self) -> &S {
        self.stack
    }
}

/// The place where a worker runs, as a policy sees it: the worker record in the library, a smaller
/// record in the models.
pub trait Place {
    /// The number of the worker, from 0.
    fn index(&self) -> usize;
    fn counters(&self) -> &Counters;
    /// The turns of tasks from outside, for the worker itself.
    fn turns(&self) -> &Turns;
    /// Notes that the worker has looked at the injector: the next look is due after [`TICK`] tasks.
    fn looked_outside(&self) {}
    /// Brings a thread to the place of a worker that has had none since before the run: see
    /// `Policy::starts_asleep`. False if no thread can be had. Called from any thread.
    fn start(&self, worker: usize) -> bool;
    /// A random number below `n`.
    fn random_below(&self, n: usize) -> usize;
    /// Called when all workers are idle, no task is queued, and tasks wait, perhaps for ever.
    fn at_rest(&self) {}
    /// Called, where workers steal, when all of them are idle: no task is left, but for those that
    /// wait and those from outside.
    fn all_idle(&self) {}
    /// Counts a step of the worker, and tells observers of it.
    fn step(&self, step: Step) {
        step.count(self.counters());
    }
    /// The step `Park`, and the sleep itself, of a worker that searches.
    fn sleeping<R>(&self, sleep: impl FnOnce() -> R) -> R {
        self.step(Step::Park);
        sleep()
    }
    /// Called about once in `futex::LONGEST` by a worker that has been idle for so long. The caller
    /// holds no lock.
    fn idles_long(&self) {}
    /// True if the worker keeps memory, beside its queue, that it could give back. The caller
    /// occupies the place, and runs no task; so it is for `give_back`.
    fn keeps_memory(&self) -> bool {
        false
    }
    /// Returns that memory to the system. The caller holds no lock.
    fn give_back(&self) {}
    /// As `give_back`, for the guest's place of this index, which the caller owns.
    fn guest_gives_back(&self, _index: usize) {}
    /// True if the task is a continuation: it was suspended, and this resumes it.
    fn is_continuation(_task: Task) -> bool {
        false
    }
    /// Calls the task without counting it.
    fn call(&self, task: Task);
    /// Called after a task has returned and before the next one. If the task has returned in a
    /// child process that it made by fork, this ends the child.
    fn stay(&self);
}

/// Waits once after a search that failed, and counts the sleep, if it was one. `searching`: as for
/// `Naps::wait`.
fn wait_once(place: &impl Place, naps: &mut Naps, searching: usize) {
    if naps.are_sleeps() {
        place.step(Step::Phase(Phase::Parked));
    }
    if naps.wait(searching) {
        place.step(Step::Nap);
        place.step(Step::Phase(Phase::Searching));
    }
}
