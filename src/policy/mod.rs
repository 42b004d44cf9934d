//! The scheduling policies. Each is a file or folder here. This is one file because the traits,
//! which name each other, are the whole contract between a policy and the runtime.
//!
//! | kind | file | what |
//! | --- | --- | --- |
//! | `lifo`, `fifo` | `shared` | one stack or queue under one lock |
//! | `steal` | [`stealing`] | a deque per worker |
//! | `cont` | `runtime::cont` | as `steal`, but a thief takes the continuation of a spawn |
//! | `serial` | `serial` | one thread: the oracle of the tests |
//!
//! The deque, or the lock, is a type parameter: the spawn and the worker loop of each row are
//! compiled for that row alone. A C call goes through one function pointer of its row.

pub mod guests;
pub mod operations;
pub mod reliefs;
pub mod serial;
pub mod shared;
pub mod stealing;
pub mod turns;

use crate::idle::Naps;
use crate::idle::poller::Poller;
use crate::idle::quiescence::{LockedRun, Waiting};
use crate::policy::guests::Purpose;
use crate::policy::reliefs::Suspended;
use crate::policy::turns::Turns;
use crate::queue::background::Line;
use crate::queue::injector::{Limit, Refused};
use crate::queue::length::Lengths;
use crate::queue::run_gate::{Ends, RestAwaited, Rests};
use crate::queue::{Deque, Full};
use crate::settings::{Accepted, Global, Idle, Join, Overflow, Steal};
use crate::stats::{Counters, Phase};
use crate::sys::atomic::AtomicUsize;
use crate::sys::memory::NoMemory;
use crate::task::{Level, Task};
use std::any::Any;
use std::marker::PhantomData;
use std::ops::Deref;
use std::time::Duration;

/// The data that a policy needs about a run.
pub struct Plan {
    pub idle: Idle,
    pub ends: Ends,
    /// For kind `serial`.
    pub ready_order: ReadyOrder,
    pub workers: usize,
    /// The number of places for threads from outside: see [`guests`].
    pub guests: usize,
    /// The number of places for threads that run beside busy workers: see [`reliefs`].
    pub reliefs: usize,
    /// How many tasks a queue holds before it overflows.
    pub qlen: usize,
    pub overflow: Overflow,
    pub steal: Steal,
    pub global: Global,
    pub join: Join,
    /// How many threads can run at once.
    pub processors: usize,
    /// How long a queue keeps memory that it does not need.
    pub warm: Duration,
    /// The poller for descriptors. None if no task of the run waits for descriptors.
    pub poller: Option<&'static Poller>,
}

impl Plan {
    /// The number of places: the workers' places, followed by the guests' and the reliefs'.
    pub fn places(&self) -> usize {
        self.workers + self.guests + self.reliefs
    }

    /// The most tasks that a queue may hold before it refuses one.
    pub fn limit(&self) -> usize {
        if self.overflow == Overflow::Refuse { self.qlen } else { usize::MAX }
    }
}

/// The order in which kind `serial` runs ready tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadyOrder {
    YoungestFirst,
    Random,
}

/// The reason why `waiting` is not None in a policy that does not override `hold`.
const COUNTED: &str = "a number for each worker";

/// A scheduling policy: the operations that a run needs.
pub trait Policy: Sync + Sized + 'static {
    /// The values of `SCHED_STEAL`, `SCHED_OVERFLOW` and `SCHED_GLOBAL` that the policy accepts.
    const ACCEPTED: Accepted = Accepted::ONE_BY_ONE;

    /// The place of the lengths of the queues, for a debugger.
    const LENGTHS: Lengths;

    fn new(plan: &Plan) -> Result<Self, NoMemory>;

    /// Completes the initialization that needs the value's final address.
    ///
    /// # Safety
    /// Called once, before the first use. The value does not move afterwards.
    unsafe fn initialize_in_place(&self);

    fn spawn(&self, place: Mine<'_, impl Place>, task: Task) -> Result<(), Full>;

    /// Like `spawn`, for a caller that is about to end. The worker will take `task` next, so it is
    /// announced to other workers only if none of them searches.
    fn spawn_last(&self, place: Mine<'_, impl Place>, task: Task) -> Result<(), Full> {
        self.spawn(place, task)
    }

    /// Completes a spawn whose first step, the deque's `put`, was inlined into `sched_spawn`.
    ///
    /// # Safety
    /// The caller has just called this `put` for `task`, and it returned false.
    unsafe fn finish_spawn(&self, _place: Mine<'_, impl Place>, _task: Task) -> Result<(), Full> {
        Err(Full)
    }

    /// The deque of worker `index`, if each worker has one.
    fn deque_of(&self, _index: usize) -> Option<&dyn Any> {
        None
    }

    /// The length of worker `index`'s queue, if each worker has one. A hint, from any thread.
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

    /// Adds a task that has begun, behind all other tasks. Called from any thread while the run has
    /// not ended. The queue's limit does not apply.
    fn requeue(&self, place: &impl Place, task: Task) -> Result<(), NoMemory>;

    /// Like `requeue`, for a task whose blocking section has ended: see `queue::ended`.
    fn requeue_ended(&self, place: &impl Place, task: Task) -> Result<(), NoMemory> {
        self.requeue(place, task)
    }

    /// Adds a task of this level, as `inject` does, or as `put_back` does if the limit is waived.
    /// It is one of the tasks from outside.
    /// Not accepted: `Full` also says that there is no memory. If the result is `Line::Begins`, the
    /// caller has `age` called from time to time (`runtime::ageing`).
    fn inject_at(
        &self,
        place: &impl Place,
        task: Task,
        level: Level,
        limit: Limit,
    ) -> Result<Line, Refused> {
        match (level, limit) {
            (Level::Normal, Limit::Applies) => self.inject(place, task)?,
            (Level::Normal, Limit::Waived) => {
                self.inject_accepted(place, task).map_err(|NoMemory| Refused::Full)?;
            }
            (Level::Urgent, _) => self.inject_urgent(place, task, limit)?,
            (Level::Background, _) => return self.inject_background(place, task, limit),
        }
        Ok(Line::GoesOn)
    }

    /// Like `inject_at`, for a task without a level that the run has accepted before.
    fn inject_accepted(&self, place: &impl Place, task: Task) -> Result<(), NoMemory> {
        self.put_back(place, task)
    }

    /// Like `inject_at`, for an urgent task.
    fn inject_urgent(&self, place: &impl Place, task: Task, limit: Limit) -> Result<(), Refused>;

    /// Like `inject_at`, for a background task.
    fn inject_background(
        &self,
        place: &impl Place,
        task: Task,
        limit: Limit,
    ) -> Result<Line, Refused>;

    /// Makes a background task that has waited for too long an ordinary task from outside: see
    /// `queue::background`. Called by any thread. True if background tasks wait.
    fn age(&self, place: &impl Place) -> bool;

    /// True if a task is queued that goes before one whose section ends now. A hint.
    fn has_first(&self) -> bool {
        false
    }

    /// Reserves `more` slots for tasks that `requeue` adds, or releases -`more`.
    fn reserve(&self, more: isize) -> Result<(), NoMemory>;

    /// Like `requeue`, for a task that has not begun: the task takes none of the reserved slots.
    fn put_back(&self, place: &impl Place, task: Task) -> Result<(), NoMemory>;

    /// True if threads from outside can work at places of their own: see [`guests`].
    const HAS_GUESTS: bool = false;

    /// True if a guest's place has a queue of its own, to which only the guest adds tasks.
    const GUESTS_HAVE_QUEUES: bool = false;

    /// Gives a thread from outside a place, which the thread then owns: the place that it has left
    /// with tasks, or a free one. None if no place is free, or the run has ended. Called from any
    /// thread; the policy must not be freed during the call.
    fn come(&self, _thread: usize, _purpose: Purpose) -> Option<usize> {
        None
    }

    /// Tells whether tasks from outside that suit a relief wait. Called now and then by any thread:
    /// see [`reliefs`].
    fn suspended<P: Place>(&self, _place: &P) -> Suspended {
        Suspended::Absent
    }

    /// True if a worker has nothing to do. A hint.
    fn has_idle_worker(&self) -> bool {
        true
    }

    /// Takes a task for the relief at `place`.
    fn take_for_relief<P: Place>(&self, _place: Mine<'_, P>) -> Option<Task> {
        None
    }

    /// The guest gives `place` back. It is free when workers have run the tasks left in its queue.
    fn go(&self, _place: Mine<'_, impl Place>, _purpose: Purpose) {}

    /// Calls `sleep`. During the call, workers use the guest's processor and take its tasks.
    fn sleep_as_guest(&self, _place: Mine<'_, impl Place>, sleep: &mut dyn FnMut()) {
        sleep();
    }

    /// False if a run has one thread, even if the program asks for more.
    const HAS_THREADS: bool = true;

    /// True if a task that yields is queued among the tasks of its worker (`line_up`), false if it
    /// is queued behind all tasks of the run.
    const LINES_UP: bool = false;

    /// Adds a task that yields: as a spawn does, if the policy `LINES_UP` and there is room;
    /// otherwise as `requeue` does.
    fn line_up(&self, place: Mine<'_, impl Place>, task: Task) -> Result<(), NoMemory> {
        self.requeue(&*place, task)
    }

    /// The counter of worker `index`, if `hold` and `let_go` only count.
    fn waiting(&self, _index: usize) -> Option<&Waiting> {
        None
    }

    /// Keeps the run from ending, because the task at `place` is about to wait for something that
    /// may come from outside the run. The worker that resumes the task calls `let_go`.
    fn hold(&self, place: &impl Place) {
        self.waiting(place.index()).expect(COUNTED).hold();
    }

    fn let_go(&self, place: &impl Place) {
        self.waiting(place.index()).expect(COUNTED).let_go();
    }

    /// Like `hold`, by a thread that does not occupy a place of the run. False if the run has
    /// ended.
    fn hold_outside(&self) -> bool;

    /// Undoes a `hold` or `hold_outside`. Called by a thread that does not occupy a place of the
    /// run.
    fn let_go_outside(&self);

    /// Publishes all of the worker's private tasks. Called by a task that computes for long without
    /// adding or taking tasks. `takes` is the expected total time of the tasks; if it is much
    /// longer than a wake-up, sleepers are woken. If it is None, the tasks are published only if at
    /// least two workers search, because a single thief already has the task that was added first.
    fn publish_tasks(&self, _place: Mine<'_, impl Place>, _takes: Option<Duration>) {}

    /// The time of a wake-up, if a spawn would now wake a worker because none searches. A hint.
    fn wakes_at_spawn(&self) -> Option<Duration> {
        None
    }

    /// The number of queued tasks from outside. None means that they have no [`turns`] at worker
    /// `index`.
    fn outside(&self, _index: usize) -> Option<&AtomicUsize> {
        None
    }

    /// True if tasks from outside the run must now run before the own tasks of the worker at
    /// `place`. The caller then runs them, in a loop that `begins_outside`.
    fn is_turn_due(&self, _place: Mine<'_, impl Place>) -> bool {
        false
    }

    /// Removes `task` from the queue, if the worker at `place` has added it and can reach it.
    fn take_back(&self, place: Mine<'_, impl Place>, task: Task) -> bool;

    /// Called when the worker at `place` has taken its youngest task out of its queue and has put
    /// it back. Wakes a sleeper, because one that looked in between has missed the task.
    fn restored(&self, _place: Mine<'_, impl Place>) {}

    /// Takes the next task for the worker at `place`, whose current task is about to be suspended,
    /// but no background task: the caller may be ready to run (it yields), and a worker that has no
    /// other task looks again in its loop.
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

    /// Spins for a short time, until `awaited` is over. The caller is in the middle of a task, and
    /// suspends it if the event is not over afterwards. If the worker could run queued tasks
    /// instead, it spins no longer than a suspension takes (ski rental, as in `idle::Patience`). In
    /// between, the caller runs parts of `awaited`: see [`Awaited::parts`].
    fn wait_awake(&self, _stack: OnStack<'_, impl LoopStack>, _awaited: &dyn Awaited) {}

    /// Runs tasks until `awaited` is over, and sleeps while there are none. The caller is in the
    /// middle of a task. (`SCHED_JOIN=help`.)
    fn help(&self, stack: OnStack<'_, impl LoopStack>, awaited: &dyn Awaited);

    /// Runs tasks of a guest's own queue, the youngest first, as long as the next one `is_part` of
    /// the event that the guest waits for.
    fn run_own(&self, _stack: OnStack<'_, impl LoopStack>, _is_part: &dyn Fn(Task) -> bool) {}

    /// Called from any thread when the event that `worker` has enlisted for is over. Wakes the
    /// worker if it sleeps in `help`.
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

    /// How many tasks wait for something that may come from outside. A hint, from any thread.
    fn waits(&self) -> usize;

    /// Calls `then` with the state of the locked run, unless it has ended. From any thread.
    fn when_open(&self, then: &mut dyn FnMut(&LockedRun));

    /// The loop of a worker. Returns when the run has ended.
    fn work(&self, stack: OnStack<'_, impl LoopStack>);
}

/// A policy with a deque for each worker. Kind `cont` keeps continuations in these deques.
pub trait DequePolicy: Policy {
    type Deque: Deque;

    /// The fast path of `spawn`, to `place`'s deque. If false, `finish_spawn` must follow at once.
    fn spawn_quickly(&self, deque: &Self::Deque, place: Mine<'_, impl Place>, task: Task) -> bool;

    /// True if a task from outside the run waits that is not a background task. A hint.
    fn has_injected(&self) -> bool;
}

/// Tells whether a worker counts as idle: see `idle::quiescence`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// The worker runs no task, and its queue is empty.
    Idle,
    Active,
}

/// The time at which a worker will take the task that it is adding.
#[derive(Clone, Copy)]
pub enum Turn {
    /// After the tasks that the caller will add later.
    Soon,
    /// As the next task: the caller is a task that is about to end.
    Next,
}

/// The place where a worker looks for its next task when it suspends the current one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookFirst {
    /// In its own queue, then elsewhere.
    AtHome,
    /// Among the tasks from outside; then in its own queue, and last among the private tasks of
    /// other workers. This is done now and then, so that no task waits forever.
    Outside,
}

/// How long a thread sleeps between two looks at an event that will not wake it.
pub const UNAWAITED: Duration = Duration::from_micros(50);

/// The event that a task waits for.
pub trait Awaited {
    /// True if the event has happened. The caller then sees what was written before the event.
    fn over(&self) -> bool;

    /// Arranges that the event rouses the caller's worker. False if that is not possible; the
    /// caller must then poll.
    fn enlist(&self) -> bool;

    /// Arranges that the event queues `task`, which resumes the caller; the caller may have been
    /// resumed before this returns. False if that is not possible; then the caller keeps the task.
    fn leave(&self, _task: Task) -> bool {
        false
    }

    /// The worker that runs the awaited task, if there is one. The caller takes tasks from it
    /// first, because they may be children of the awaited task.
    fn thief(&self) -> Option<usize> {
        None
    }

    /// The tasks that the caller may run on top of its own task.
    fn parts(&self) -> Parts<'_> {
        None
    }
}

/// Tells whether a task that was taken from a queue, and has not begun, is a part of an awaited
/// event. Then the caller runs it at once, on top of its own task. None means that the event has no
/// parts.
pub type Parts<'a> = Option<&'a dyn Fn(Task) -> bool>;

/// A stack on which a worker's loop runs. After each task the stack may belong to another worker: a
/// task that waits is suspended with its whole stack, and the worker that resumes the task
/// continues the loop on that stack.
pub trait LoopStack {
    type Place: Place;

    /// The worker that runs here now.
    fn place(&self) -> &Self::Place;

    /// The activity of the worker that begins here.
    fn activity(&self) -> Activity;

    /// True if the worker that begins here must look at the injector first. This is so once in
    /// [`TICK`] tasks that leave their worker without returning (`tick` counts only tasks that
    /// return), and when a turn is due ([`turns`]).
    fn begins_outside(&self) -> bool {
        false
    }

    /// Called when the worker that has begun here with tasks from outside now runs its own.
    fn ends_outside(&self) {}

    /// Called in the middle of a task, when a turn is due. Suspends the task and runs tasks from
    /// outside the run in a loop on another stack, if there is a free stack.
    fn give_way(&self) {}

    /// Like `run`, for a task from outside that runs in a turn.
    fn run_from_outside(&self, task: Task) {
        self.run(task);
    }

    /// Counts a task that has returned here. True once in [`TICK`] tasks, and if another worker has
    /// taken over the stack during the task.
    fn tick(&self) -> bool;

    /// Called when the worker has found its own queue empty.
    fn out_of_tasks(&self);

    /// Runs a task and counts it.
    fn run(&self, task: Task);

    /// Like `run`, on top of the task that waits on this stack.
    fn run_on_top(&self, task: Task);
}

/// A worker looks at the injector once in this many tasks of its own; otherwise its own tasks could
/// starve the injector's. Go and Tokio use the same number. It is prime, so that the looks do not
/// fall into step with the program.
pub const TICK: u32 = 61;

/// An action of a worker other than running a task. Statistics count it; observed runs record it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The worker has taken a task from the queue of this victim.
    Steal(usize),
    /// A search of all queues has found no task.
    FailedSearch,
    /// The worker has raided the queue of this victim.
    Raid(usize),
    /// The worker has woken this number of workers, perhaps none.
    Wake(usize),
    /// The worker has found no task. (Workers with deques call `LoopStack::out_of_tasks` instead.)
    OutOfTasks,
    /// The worker has slept for a fixed time between two searches.
    Nap,
    /// The worker is about to sleep until it is woken: see `Place::sleeping`.
    Park,
    /// The worker, which the calling thread occupies, enters this phase.
    Phase(Phase),
    /// The worker becomes active, or idle.
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

/// The evidence that the calling thread occupies a place, so the run has not ended; or that the run
/// has not started and nobody occupies the place. (After rayon's `IdleState`.)
pub struct Mine<'a, P> {
    place: &'a P,
    /// Makes the type `!Send`.
    thread: PhantomData<*mut ()>,
}

impl<'a, P> Mine<'a, P> {
    /// # Safety
    /// The calling thread occupies the place as long as this value is used, or the run has not
    /// started and nobody occupies the place. The last use of an earlier `Mine` of this place
    /// happened before this call. The value is passed only to the policy of the place's run.
    #[inline(always)]
    pub unsafe fn new(place: &'a P) -> Self {
        Mine { place, thread: PhantomData }
    }

    /// The record without the evidence.
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

/// The evidence that the caller runs on a stack. After each task it may be another worker's stack.
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

/// A worker's place, as a policy sees it: the worker record, or in the models a smaller record.
pub trait Place {
    /// The number of the worker, from 0.
    fn index(&self) -> usize;
    fn counters(&self) -> &Counters;
    /// The turns of tasks from outside, for the worker itself.
    fn turns(&self) -> &Turns;
    /// Notes that the worker has looked at the injector: the next look is due after [`TICK`] tasks.
    fn looked_outside(&self) {}
    /// Gives a thread to `worker`, which has had none in this run so far: see
    /// `Policy::starts_asleep`. False if no thread can be had. Called from any thread.
    fn start(&self, worker: usize) -> bool;
    fn random_below(&self, n: usize) -> usize;
    /// Called when all workers are idle, no task is queued, and tasks wait, perhaps forever.
    fn at_rest(&self) {}
    /// Called when all workers of a policy with deques are idle: the tasks left wait, or come from
    /// outside.
    fn all_idle(&self) {}
    /// Counts a step of the worker, and tells observers of it.
    fn step(&self, step: Step) {
        step.count(self.counters());
    }
    /// Counts the step `Park` of a worker that searches, and calls `sleep`.
    fn sleeping<R>(&self, sleep: impl FnOnce() -> R) -> R {
        self.step(Step::Park);
        sleep()
    }
    /// Called by an idle worker about once every `futex::LONGEST`. The caller holds no lock.
    fn idles_long(&self) {}
    /// How long an idle worker that is about to sleep may sleep, at most `limit`. Afterwards it
    /// calls `serve_deadlines`.
    fn until_deadline(&self, limit: Duration) -> Duration {
        limit
    }
    /// Called by a worker after its sleep, without a lock: does what is due (`deadline`), and has
    /// the keeper poll if nobody else does.
    fn serve_deadlines(&self) {}
    /// Called by a worker that has found no task, without a lock: looks whether awaited descriptors
    /// are ready. True if it has queued the tasks that waited for them, behind all others.
    fn poll(&self) -> bool {
        false
    }
    /// True if the relief at this place must leave: a task there needs a worker's place.
    fn is_dismissed(&self) -> bool {
        false
    }
    /// Called by a worker whose sleep has given it events (`idle::poller`), without a lock: queues
    /// the tasks that waited for them.
    fn serve_events(&self) {}
    /// True if the worker keeps memory besides its queue's. Its occupant calls this between tasks.
    fn keeps_memory(&self) -> bool {
        false
    }
    /// Returns that memory to the system. Its occupant calls this between tasks, without a lock.
    fn give_back(&self) {}
    /// Like `give_back`, for the guest's place of this index, which the caller owns.
    fn guest_gives_back(&self, _index: usize) {}
    /// True if the task is a continuation, which resumes a suspended task.
    fn is_continuation(_task: Task) -> bool {
        false
    }
    /// True if a relief may take the task: see [`reliefs`].
    ///
    /// # Safety
    /// The task is queued, and nobody takes it during the call.
    unsafe fn suits_relief(task: Task) -> bool {
        Self::is_continuation(task)
    }
    /// Calls the task without counting it.
    fn call(&self, task: Task);
    /// Called after a task has returned and before the next one. If the task has returned in a
    /// child process that it made by fork, this ends the child.
    fn stay(&self);
}

/// Waits once after a failed search, while about `searching` workers search. Counts a sleep.
fn wait_once(place: &impl Place, naps: &mut Naps, searching: usize) {
    if naps.are_sleeps() {
        place.step(Step::Phase(Phase::Parked));
    }
    if naps.wait(searching) {
        place.step(Step::Nap);
        place.step(Step::Phase(Phase::Searching));
    }
}
