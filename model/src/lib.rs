//! Model checking of libsched's queues, idling and end of a run. Loom runs the shipped code through
//! every interleaving (up to a number of preemptions) and every value that the memory model lets a
//! read return. The models are in `tests/`; `make loom` runs them.
//!
//! This is one file, because each model uses nearly all of its parts.
#![cfg(loom)]

use loom::sync::Arc;
use loom::thread::{self, JoinHandle};
use sched::idle::poller::Poller;
use sched::lock::monitor::Monitor;
use sched::policy::serial::Serial;
use sched::policy::shared::{Order, Shared as SharedQueue};
use sched::policy::stealing::Stealing;
use sched::policy::turns::Turns;
use sched::policy::{Activity, Awaited, LoopStack, Mine, OnStack, Place, Plan, Policy, ReadyOrder};
use sched::queue::chaselev::ChaseLev;
use sched::queue::injector::Limit;
use sched::queue::ring::Ring;
use sched::queue::run_gate::{Ends, RestAwaited, no_limit};
use sched::queue::split::Split;
use sched::queue::{Deque, Owner, Steal};
use sched::settings::{Global, Idle, Join, Overflow, Steal as Amount};
use sched::stats::Counters;
use sched::sys::fence::Asymmetric;
use sched::task::{Level, Scheduler, Task, TaskFn};
use std::ffi::c_void;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Explores `model` with at most `preemptions` forced switches per execution (each mutant here
/// needs three or fewer). Prints the number of executions, and fails if it is less than `at_least`:
/// then the model reaches less than it did when it was written. With MODEL_UNCOUNTED, for mutants,
/// any number passes, so that only a check kills a mutant.
pub fn explore(
    name: &str,
    preemptions: usize,
    at_least: usize,
    model: impl Fn() + Sync + Send + 'static,
) {
    static EXECUTIONS: AtomicUsize = AtomicUsize::new(0);
    static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    EXECUTIONS.store(0, Ordering::Relaxed);
    let uncounted = std::env::var_os("MODEL_UNCOUNTED").is_some();
    let at_least = if uncounted { 1 } else { at_least };
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    builder.check(move || {
        EXECUTIONS.fetch_add(1, Ordering::Relaxed);
        model();
    });
    let executions = EXECUTIONS.load(Ordering::Relaxed);
    println!("{name}: {executions} executions, at most {preemptions} preemptions each");
    assert!(executions >= at_least, "{name}: only {executions} executions");
}

thread_local! {
    /// A model and its threads run on one thread.
    static SEEN: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// For [`explore_seeing`]: the model has seen its event this many times.
pub fn saw(times: usize) {
    SEEN.set(SEEN.get() + times);
}

/// [`explore`]s a model, and fails unless an execution [`saw`] the event that the model is for.
pub fn explore_seeing(
    what: &str,
    name: &str,
    preemptions: usize,
    at_least: usize,
    model: impl Fn() + Sync + Send + 'static,
) {
    SEEN.set(0);
    explore(name, preemptions, at_least, model);
    assert!(SEEN.get() > 0, "{name}: {what}");
}

/// Waits until no task is left in a run that is held open.
pub fn wait_for_rest(policy: &impl Policy) {
    let rest = RestAwaited::new(policy.rests(), &no_limit);
    rest.begin();
    policy.wait_for_rest(&rest);
}

/// A thread that uses what it shares with others.
pub fn thread_with<T: 'static, R: 'static>(
    shared: &Arc<T>,
    f: impl FnOnce(&T) -> R + 'static,
) -> JoinHandle<R> {
    let shared = Arc::clone(shared);
    thread::spawn(move || f(&shared))
}

pub fn join(threads: impl IntoIterator<Item = JoinHandle<()>>) {
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// An event that some execution of a model must reach; otherwise the model shows nothing.
pub struct Reached(AtomicUsize);

impl Reached {
    pub const fn not_yet() -> Self {
        Reached(AtomicUsize::new(0))
    }

    pub fn note(&self, happened: bool) {
        self.0.fetch_add(usize::from(happened), Ordering::Relaxed);
    }

    pub fn expect(&self, what: &str) {
        assert!(self.0.load(Ordering::Relaxed) > 0, "no execution with {what}");
    }
}

/// A deque for models of whole runs.
pub trait Modelled: Deque + 'static {
    const NAME: &'static str;
    const OVERFLOW: Overflow = Overflow::Grow;
    const STEAL: Amount = Amount::One;
}

/// The smallest possible ring.
pub type SmallRing = Ring<2>;

impl<const N: usize> Modelled for Ring<N> {
    const NAME: &'static str = "ring";
    const OVERFLOW: Overflow = Overflow::Half;
    const STEAL: Amount = Amount::Half;
}

impl Modelled for ChaseLev {
    const NAME: &'static str = "chaselev";
}

impl Modelled for Split<Asymmetric> {
    const NAME: &'static str = "split";
}

/// A policy for models of whole runs.
pub trait ModelledPolicy: Policy {
    const OVERFLOW: Overflow = Overflow::Grow;
    const STEAL: Amount = Amount::One;
    const PROCESSORS: usize = usize::MAX;
}

impl<D: Modelled> ModelledPolicy for Stealing<D> {
    const OVERFLOW: Overflow = D::OVERFLOW;
    const STEAL: Amount = D::STEAL;
}

/// The queue has one processor, so that some pushes wake nobody.
impl<O: Order> ModelledPolicy for SharedQueue<LoomMonitor, O> {
    const PROCESSORS: usize = 1;
}

impl ModelledPolicy for Serial {}

pub type Worker<D> = WorkerOf<Stealing<D>>;

pub type Scene<D> = SceneOf<Stealing<D>>;

/// Loom's mutex and condition variable as a monitor. A lost wake-up is a deadlock.
pub struct LoomMonitor {
    mutex: loom::sync::Mutex<()>,
    changed: loom::sync::Condvar,
    /// Only the holder uses it.
    guard: std::cell::UnsafeCell<Option<loom::sync::MutexGuard<'static, ()>>>,
}

// SAFETY: only the holder of the mutex uses the guard.
unsafe impl Send for LoomMonitor {}
// SAFETY: as above.
unsafe impl Sync for LoomMonitor {}

impl LoomMonitor {
    fn keep<'a>(&'a self, guard: loom::sync::MutexGuard<'a, ()>) {
        // SAFETY: the guard does not outlive the monitor, because `unlock` drops it.
        let guard = unsafe {
            std::mem::transmute::<loom::sync::MutexGuard<'a, ()>, loom::sync::MutexGuard<'static, ()>>(
                guard,
            )
        };
        // SAFETY: the caller holds the mutex.
        unsafe { *self.guard.get() = Some(guard) };
    }

    fn give_up(&self) -> loom::sync::MutexGuard<'static, ()> {
        // SAFETY: the caller holds the mutex.
        unsafe { (*self.guard.get()).take() }.expect("the caller holds the mutex")
    }
}

// SAFETY: loom's mutex excludes and orders.
unsafe impl Monitor for LoomMonitor {
    fn new() -> Self {
        LoomMonitor {
            mutex: loom::sync::Mutex::new(()),
            changed: loom::sync::Condvar::new(),
            guard: std::cell::UnsafeCell::new(None),
        }
    }

    fn lock(&self) {
        self.keep(self.mutex.lock().expect("a model that panics is over"));
    }

    unsafe fn unlock(&self) {
        drop(self.give_up());
    }

    unsafe fn wait(&self, _limit: Duration) {
        let guard = self.give_up();
        self.keep(self.changed.wait(guard).expect("a model that panics is over"));
    }

    fn notify_one(&self) {
        self.changed.notify_one();
    }

    fn notify_all(&self, _n: usize) {
        self.changed.notify_all();
    }
}

/// The threads of workers wait here until the policy starts them.
pub struct Doors {
    /// Tells for each worker whether it has a thread. None if it was not started yet.
    started: loom::sync::Mutex<Vec<Option<bool>>>,
    changed: loom::sync::Condvar,
    /// The worker for which there is no thread.
    refused: usize,
}

impl Doors {
    fn open(&self, worker: usize) -> bool {
        let mut started = self.started.lock().expect("a model that panics is over");
        assert_eq!(started[worker], None, "a worker is started once");
        started[worker] = Some(worker != self.refused);
        self.changed.notify_all();
        worker != self.refused
    }

    /// Waits for the start of the worker. False if it gets no thread, or the run has ended.
    pub fn wait(&self, worker: usize) -> bool {
        let mut started = self.started.lock().expect("a model that panics is over");
        loop {
            if let Some(is_started) = started[worker] {
                return is_started;
            }
            started = self.changed.wait(started).expect("a model that panics is over");
        }
    }

    /// Called when the run has ended.
    pub fn close(&self) {
        let mut started = self.started.lock().expect("a model that panics is over");
        started.iter_mut().for_each(|started| _ = started.get_or_insert(false));
        self.changed.notify_all();
    }
}

/// The smallest possible place of a worker.
pub struct WorkerOf<P: Policy> {
    index: usize,
    counters: Counters,
    scheduler: *const P,
    turns: Turns,
    /// True once `at_rest` was called here. (A std atomic, which loom does not explore.)
    was_at_rest: AtomicBool,
    doors: Option<Arc<Doors>>,
    poller: Option<&'static Poller>,
}

impl<P: Policy> WorkerOf<P> {
    pub fn new(index: usize, scheduler: &P) -> Self {
        WorkerOf {
            index,
            counters: Counters::default(),
            scheduler,
            turns: Turns::default(),
            was_at_rest: AtomicBool::new(false),
            doors: None,
            poller: None,
        }
    }

    /// The worker that a task of the model receives as `s`.
    ///
    /// # Safety
    /// `s` is the argument that `run` passed.
    pub unsafe fn of<'a>(s: *mut Scheduler) -> &'a WorkerOf<P> {
        // SAFETY: by the caller's promise `s` is a worker of the model.
        unsafe { &*s.cast() }
    }

    /// The place, for the model's thread that occupies it.
    pub fn mine(&self) -> Mine<'_, Self> {
        // SAFETY: each place has one thread in a model, which alone calls this.
        unsafe { Mine::new(self) }
    }

    /// Like `mine`, for the stack of the thread.
    pub fn on_stack(&self) -> OnStack<'_, Self> {
        // SAFETY: as in `mine`.
        unsafe { OnStack::new(self) }
    }

    /// Spawns from a task that runs at this place.
    pub fn spawn(&self, f: TaskFn, closure: *mut c_void) {
        self.scheduler().spawn(self.mine(), Task { f, closure }).expect("there is memory");
    }

    /// Like `spawn`, for a task that is about to end.
    pub fn spawn_last(&self, f: TaskFn, closure: *mut c_void) {
        self.scheduler().spawn_last(self.mine(), Task { f, closure }).expect("there is memory");
    }

    /// Publishes the private tasks, as a loop does between two chunks. Called by a task at this
    /// place.
    pub fn publish_tasks(&self) {
        self.scheduler().publish_tasks(self.mine(), Some(Duration::ZERO));
    }

    /// Runs other tasks until `awaited` is over. Called by a task that runs at this place.
    pub fn help(&self, awaited: &dyn Awaited) {
        self.scheduler().help(self.on_stack(), awaited);
    }

    /// Like `help`, for a short wait: see `Policy::wait_awake`.
    pub fn wait_awake(&self, awaited: &dyn Awaited) {
        self.scheduler().wait_awake(self.on_stack(), awaited);
    }

    /// True if this worker has found all workers idle while a task waits.
    pub fn was_at_rest(&self) -> bool {
        self.was_at_rest.load(Ordering::Relaxed)
    }

    pub fn rouse(&self, worker: usize) {
        self.scheduler().rouse(worker);
    }

    /// The run's scheduler, which outlives its workers.
    pub fn scheduler(&self) -> &P {
        // SAFETY: the scheduler outlives its workers.
        unsafe { &*self.scheduler }
    }

    /// Spawns like a thread that is not a worker of the run, while a task runs at this place.
    pub fn inject(&self, f: TaskFn, closure: *mut c_void) {
        self.scheduler().inject(self, Task { f, closure }).expect("the run goes on");
    }

    /// Like `inject`, for a task with this level.
    pub fn inject_at(&self, level: Level, f: TaskFn, closure: *mut c_void) {
        let queued = self.scheduler().inject_at(self, Task { f, closure }, level, Limit::Applies);
        queued.expect("the run goes on");
    }
}

impl<P: Policy> Place for WorkerOf<P> {
    fn index(&self) -> usize {
        self.index
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn turns(&self) -> &Turns {
        &self.turns
    }

    fn random_below(&self, _n: usize) -> usize {
        0
    }

    /// The model has no events: this is a look that finds none.
    fn poll(&self) -> bool {
        self.poller.is_some_and(Poller::look)
    }

    fn call(&self, task: Task) {
        let s = std::ptr::from_ref(self).cast_mut().cast();
        // SAFETY: the models' tasks are functions of their type.
        unsafe { (task.f)(task.closure, s) }
    }

    fn stay(&self) {}

    fn at_rest(&self) {
        self.was_at_rest.store(true, Ordering::Relaxed);
    }

    /// In most models there are no doors, because every worker has its thread.
    fn start(&self, worker: usize) -> bool {
        self.doors.as_ref().is_some_and(|doors| doors.open(worker))
    }
}

/// In the models a stack stays with its worker.
impl<P: Policy> LoopStack for WorkerOf<P> {
    type Place = WorkerOf<P>;

    fn place(&self) -> &WorkerOf<P> {
        self
    }

    fn activity(&self) -> Activity {
        if self.index == 0 { Activity::Active } else { Activity::Idle }
    }

    fn tick(&self) -> bool {
        false
    }

    fn out_of_tasks(&self) {}

    fn run(&self, task: Task) {
        self.call(task);
    }

    fn run_on_top(&self, task: Task) {
        self.run(task);
    }
}

/// A counter that most models' tasks increment. Loom checks the accesses, so it reports a task that
/// is not ordered after what precedes its spawn, or before what follows its end.
pub struct Cell(loom::cell::UnsafeCell<usize>);

// SAFETY: loom checks each access for races.
unsafe impl Sync for Cell {}
// SAFETY: loom checks each access for races.
unsafe impl Send for Cell {}

impl Cell {
    pub fn new() -> Self {
        Cell(loom::cell::UnsafeCell::new(0))
    }

    pub fn add(&self) {
        // SAFETY: loom reports it if another thread's access is not ordered with this one.
        self.0.with_mut(|value| unsafe { *value += 1 });
    }

    pub fn get(&self) -> usize {
        // SAFETY: loom reports it if another thread's access is not ordered with this one.
        self.0.with(|value| unsafe { *value })
    }

    pub fn closure(&self) -> *mut c_void {
        closure_of(self)
    }

    /// # Safety
    /// `closure` comes from `Cell::closure`, and the cell lives.
    pub unsafe fn of<'a>(closure: *mut c_void) -> &'a Cell {
        // SAFETY: by the caller's promise `closure` is a living cell.
        unsafe { &*closure.cast() }
    }
}

impl Default for Cell {
    fn default() -> Self {
        Cell::new()
    }
}

/// A task: increments the cell that is its closure.
///
/// # Safety
/// The closure is a living cell.
pub unsafe extern "C" fn count(closure: *mut c_void, _s: *mut Scheduler) {
    // SAFETY: by the caller's promise the closure is a living cell.
    unsafe { Cell::of(closure) }.add();
}

/// The closure of a task that uses `of`.
pub fn closure_of<T>(of: &T) -> *mut c_void {
    std::ptr::from_ref(of).cast_mut().cast()
}

/// What a task of a model uses, and its worker.
///
/// # Safety
/// `closure` is a `T` that lives until the run has ended, and `s` is a worker of the model.
pub unsafe fn task_of<'a, P: Policy, T>(
    closure: *mut c_void,
    s: *mut Scheduler,
) -> (&'a T, &'a WorkerOf<P>) {
    // SAFETY: by the caller's promise.
    unsafe { (&*closure.cast::<T>(), WorkerOf::<P>::of(s)) }
}

/// A thread may block here until a task has run.
pub struct Latch {
    opened: loom::sync::Mutex<bool>,
    bell: loom::sync::Condvar,
}

impl Latch {
    pub fn new() -> Arc<Self> {
        let (opened, bell) = (loom::sync::Mutex::new(false), loom::sync::Condvar::new());
        Arc::new(Latch { opened, bell })
    }

    pub fn wait(&self) {
        let mut opened = self.opened.lock().unwrap();
        while !*opened {
            opened = self.bell.wait(opened).unwrap();
        }
    }

    pub fn is_open(&self) -> bool {
        *self.opened.lock().unwrap()
    }
}

/// A task: opens the latch that is its closure.
///
/// # Safety
/// The closure is a living [`Latch`].
pub unsafe extern "C" fn open(closure: *mut c_void, _s: *mut Scheduler) {
    // SAFETY: by the caller's promise.
    let latch = unsafe { &*closure.cast::<Latch>() };
    *latch.opened.lock().unwrap() = true;
    latch.bell.notify_one();
}

/// The workers of one scheduler, and cells that count which tasks were run.
pub struct SceneOf<P: Policy> {
    pub places: Vec<WorkerOf<P>>,
    pub scheduler: Box<P>,
    pub cells: Vec<Cell>,
}

// SAFETY: each place is used by one thread; the other fields are made to be shared.
unsafe impl<P: Policy> Send for SceneOf<P> {}
// SAFETY: each place is used by one thread; the other fields are made to be shared.
unsafe impl<P: Policy> Sync for SceneOf<P> {}

impl<P: ModelledPolicy> SceneOf<P> {
    pub fn new(workers: usize, cells: usize) -> Arc<Self> {
        SceneOf::with(workers, 0, cells, Ends::AtRest)
    }

    /// The scene of a run that is held open.
    pub fn held(workers: usize, cells: usize) -> Arc<Self> {
        SceneOf::with(workers, 0, cells, Ends::AfterRelease)
    }

    /// Like `held`, with places for guests after the workers' places.
    pub fn held_for_guests(workers: usize, guests: usize, cells: usize) -> Arc<Self> {
        SceneOf::with(workers, guests, cells, Ends::AfterRelease)
    }

    /// The scene of a run beside which a task of another run waits for a descriptor: a sleeping
    /// worker is the poller.
    pub fn beside_a_wait(workers: usize, cells: usize, ends: Ends) -> (Arc<Self>, &'static Poller) {
        let poller: &Poller = Box::leak(Box::new(Poller::new()));
        poller.begin_wait();
        let mut scene = SceneOf::made(workers, 0, cells, ends, Some(poller));
        scene.places.iter_mut().for_each(|place| place.poller = Some(poller));
        (Arc::new(scene), poller)
    }

    fn with(workers: usize, guests: usize, cells: usize, ends: Ends) -> Arc<Self> {
        Arc::new(SceneOf::made(workers, guests, cells, ends, None))
    }

    fn made(
        workers: usize,
        guests: usize,
        cells: usize,
        ends: Ends,
        poller: Option<&'static Poller>,
    ) -> Self {
        let plan = Plan {
            idle: Idle::Park,
            ends,
            ready_order: ReadyOrder::YoungestFirst,
            workers,
            guests,
            reliefs: 0,
            qlen: usize::MAX,
            overflow: P::OVERFLOW,
            steal: P::STEAL,
            global: Global::One,
            join: Join::Suspend,
            processors: P::PROCESSORS,
            warm: Duration::ZERO,
            poller,
        };
        let scheduler = Box::new(P::new(&plan).expect("there is memory"));
        SceneOf {
            places: (0..workers + guests).map(|i| WorkerOf::new(i, &*scheduler)).collect(),
            scheduler,
            cells: (0..cells).map(|_| Cell::new()).collect(),
        }
    }

    /// The scene of a run whose workers but 0 get threads when started; worker `refused` gets none.
    pub fn lazily(workers: usize, cells: usize, refused: usize) -> (Arc<Self>, Arc<Doors>) {
        let doors = Arc::new(Doors {
            started: loom::sync::Mutex::new(vec![None; workers]),
            changed: loom::sync::Condvar::new(),
            refused,
        });
        let mut scene = SceneOf::made(workers, 0, cells, Ends::AtRest, None);
        scene.places.iter_mut().for_each(|place| place.doors = Some(Arc::clone(&doors)));
        (Arc::new(scene), doors)
    }

    /// The life of worker `index`, on the calling thread.
    pub fn work(&self, index: usize) {
        self.scheduler.work(self.places[index].on_stack());
    }

    /// Creates the threads of these workers.
    pub fn start(this: &Arc<Self>, workers: Range<usize>) -> Vec<JoinHandle<()>> {
        workers.map(|i| thread_with(this, move |scene| scene.work(i))).collect()
    }

    /// Runs all workers, worker 0 on the calling thread, until that worker's loop has returned.
    /// Returns the other workers' threads.
    pub fn run(this: &Arc<Self>) -> Vec<JoinHandle<()>> {
        let others = SceneOf::start(this, 1..this.places.len());
        this.work(0);
        others
    }

    pub fn each_ran_once(&self) {
        for (i, cell) in self.cells.iter().enumerate() {
            assert_eq!(cell.get(), 1, "task {i}");
        }
    }
}

/// A deque used by several threads, and cells that count which tasks were taken.
pub struct Shared<D: Deque> {
    pub deque: D,
    pub cells: Vec<Cell>,
}

impl<D: Deque + 'static> Shared<D> {
    /// [`explore`]s the owner's work beside the threads that the model returns. At their end each
    /// of the `tasks` tasks must have been taken once.
    pub fn explore<T: IntoIterator<Item = JoinHandle<()>>>(
        name: &str,
        preemptions: usize,
        at_least: usize,
        tasks: usize,
        model: impl Fn(&Arc<Self>, &mut Owner<D>) -> T + Sync + Send + 'static,
    ) {
        explore(name, preemptions, at_least, move || {
            let shared = Shared::new(tasks);
            let mut owner = shared.owner();
            join(model(&shared, &mut owner));
            shared.check(owner);
        });
    }

    pub fn new(cells: usize) -> Arc<Self> {
        Shared::limited(cells, usize::MAX)
    }

    pub fn limited(cells: usize, limit: usize) -> Arc<Self> {
        let deque = D::new(limit).expect("there is memory");
        Arc::new(Shared { deque, cells: (0..cells).map(|_| Cell::new()).collect() })
    }

    pub fn owner(&self) -> Owner<'_, D> {
        // SAFETY: only the model's main thread calls this, once.
        unsafe { Owner::new(&self.deque) }
    }

    /// The task of cell `i`, counted once already: the thread that takes it counts it again.
    pub fn task(&self, i: usize) -> Task {
        self.cells[i].add();
        Task { f: count, closure: self.cells[i].closure() }
    }

    pub fn push(&self, owner: &mut Owner<D>, i: usize) {
        owner.push(self.task(i)).expect("there is memory");
    }

    /// Takes the oldest public task.
    pub fn steal(&self) -> bool {
        match self.deque.steal() {
            Steal::Taken(task) => {
                take(task);
                true
            }
            _ => false,
        }
    }

    pub fn thief(this: &Arc<Self>, attempts: usize) -> JoinHandle<()> {
        thread_with(this, move |shared| {
            for _ in 0..attempts {
                shared.steal();
            }
        })
    }

    /// After all threads have ended, takes the tasks left, and checks that each was taken once.
    pub fn check(&self, mut owner: Owner<D>) {
        while pop(&mut owner) {}
        for (i, cell) in self.cells.iter().enumerate() {
            assert_eq!(cell.get(), 2, "task {i} was taken {} times", cell.get() - 1);
        }
    }
}

pub fn pop<D: Deque>(owner: &mut Owner<D>) -> bool {
    owner.pop().map(take).is_some()
}

/// Runs a task of a [`Shared`].
pub fn take(task: Task) {
    // SAFETY: the task is `count` with a cell that lives.
    unsafe { (task.f)(task.closure, std::ptr::null_mut()) }
}

/// Tests of models over types, each with its numbers of workers and preemptions and the least
/// number of its executions. A test has the name of its model, unless it has one of its own.
#[macro_export]
macro_rules! models {
    ($($name:ident: $type:ty { $($tests:tt)+ })+) => {
        $(mod $name {
            use super::*;
            $crate::models! { @of $type: $($tests)+ }
        })+
    };
    (@of $type:ty: $($test:ident $(: $model:ident)? ($($arg:expr),+);)+) => {
        $($crate::models! { @test $type, $test $(: $model)?, $($arg),+ })+
    };
    (@test $type:ty, $test:ident: $model:ident, $($arg:expr),+) => {
        #[test]
        fn $test() {
            super::$model::<$type>($($arg),+);
        }
    };
    (@test $type:ty, $model:ident, $($arg:expr),+) => {
        $crate::models! { @test $type, $model: $model, $($arg),+ }
    };
}
