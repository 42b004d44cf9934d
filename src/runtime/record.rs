//! The records that point at each other: worker, strand and run. They are data; what acts on them stands in higher files.
//!
//! # The worker: what `struct scheduler *` points to
//!
//! ```text
//! line 0  read at each call: quick, deque, joins, owner, row, kind, index; run, gate (cold)
//! line 1  the owner's: counters
//! line 2  the owner's: parcels, random numbers; links (cold)
//! ```
//!
//! # Who may touch what, and when
//!
//! | field | written | read |
//! | --- | --- | --- |
//! | `owner` | by the thread that takes or leaves the place; in a forked child | by anyone |
//! | `quick`, `joins` | with `owner` | by anyone |
//! | `row` | before the run starts | by anyone |
//! | `kind`, `own`, `index`, `team` | before the run starts | by the run's workers; others under `gate` |
//! | `sets_aside`, `float`, `waiting` | before the run starts | by the owner |
//! | `deque` | before the run starts; when it ends | by the owner; in a forked child |
//! | `vacancy` | as it says itself | |
//! | `awaits` | by the owner; by the worker where the task goes on | when all workers are idle |
//! | `run` | before the run starts; under `gate` when it ends | by anyone |
//! | `counters` | by the owner | by anyone |
//! | `stock`, `rack`, `ground`, `strand`, `above`, `left`, `rng`, `wakes`, `outer` | by the owner | by the owner |
//!
//! `quick`, `joins`, `owner` and `deque` are read and written Relaxed: only their own thread finds itself in
//! them, and it reads what it wrote. `row` as well: rows are never changed, and a stale row is harmless to
//! threads that are not the owner.
//!
//! A task may give its `s` to another task or thread, so each entry asks: is the caller the
//! thread at this place? `owner` holds that thread's pointer, a number no two living threads
//! share; the comparison costs less than a nanosecond where a thread-local variable of a
//! shared library costs a call.
//!
//! Records are recycled, never freed ([`registry`]): a program that uses an `s` after its run has
//! ended reads a record without a run, and gets EINVAL. To keep it so for a while, the record that
//! rested longest is taken first, and `registry::RESTING` are kept at rest. A program that keeps an
//! `s` for longer may meet a later run's.

use crate::fiber::sanitizers::Side;
use crate::fiber::stack::{Rack, Stack};
use crate::fiber::switch::Context;
use crate::idle::quiescence::Waiting;
use crate::lock::mutex::Mutex;
use crate::policy::operations::Operations;
use crate::policy::{Awaited, Place, TICK};
use crate::queue::split::Split;
use crate::runtime::countdown::Countdown;
use crate::runtime::parcels::{Depot, Stock};
use crate::settings::{Config, Deque};
use crate::stats::report::Report;
use crate::stats::{Counters, Totals};
use crate::sync::forked::Forked;
use crate::sys::atomic::{AtomicPtr, AtomicUsize, Ordering, Pad};
use crate::sys::float::FloatControl;
use crate::sys::registers;
use crate::task::{Scheduler, Task, TaskFn};
use crate::threads::cache::Crew;
use crate::threads::event::Event;
use crate::threads::handoff::Vacancy;
use rand::rngs::SmallRng;
use std::cell::{Cell, UnsafeCell};
use std::ffi::{c_int, c_void};
use std::mem::offset_of;
use std::ptr::{self, NonNull};
use std::time::{Duration, Instant};

/// What a worker's record knows of the row of its run in the table of kinds: ways in, operations, abilities.
pub struct Row {
    /// `sched_spawn` where its built-in part does not apply, from any thread, and for a run that has ended, too.
    pub spawn: unsafe extern "C" fn(Option<TaskFn>, *mut c_void, &Worker) -> c_int,
    /// The rest of a spawn that the built-in part has begun.
    pub finish_spawn: unsafe extern "C" fn(Option<TaskFn>, *mut c_void, &Worker) -> c_int,
    /// `sched_fork` where its built-in part does not apply, from any thread.
    pub fork: unsafe extern "C" fn(&Forked, Option<TaskFn>, *mut c_void, &Worker),
    /// Queues a task, from the owner of the worker; returns as `sched_spawn` does.
    pub queue: unsafe extern "C" fn(TaskFn, *mut c_void, &Worker) -> c_int,
    pub operations: Operations<Worker, Strand>,
    /// A spawn calls the task at once: kind `cont`.
    pub calls_at_once: bool,
    /// The run has threads beside its first: in a blocking section one of them takes the worker's place.
    pub has_threads: bool,
    /// See `Policy::LINES_UP`.
    pub lines_up: bool,
}

/// The deque of the default row: `sched_spawn` has its `put` built in.
pub type Quick = Split<false>;

#[repr(C, align(128))]
pub struct Worker {
    /// `owner`, if `deque` is not null and a spawn puts the task there; else 0. So one comparison tells
    /// that the caller is the owner and that the deque is there.
    pub(super) quick: AtomicUsize,
    pub(super) deque: AtomicPtr<Quick>,
    /// `quick`, if a join may call the child by a jump; else 0. With C++'s runtime in the process it may not: a join
    /// without a frame cannot stop an exception that leaves the child.
    pub(super) joins: AtomicUsize,
    pub(super) owner: AtomicUsize,
    pub(super) row: AtomicPtr<Row>,
    pub(super) kind: Cell<*const ()>,
    pub(super) index: Cell<usize>,
    pub(super) team: Cell<*const Team>,
    /// Identifies the run: the address of its kind; 0 when it has ended.
    pub(super) run: AtomicUsize,
    /// Held by a foreign thread while it uses the run, and by the run's end.
    pub(super) gate: Mutex<()>,

    pub(super) counters: Pad<Counters>,

    pub(super) stock: Stock,
    /// The kind's deque of this worker, if it has one.
    pub(super) own: Cell<*const ()>,
    /// See `Kind::waiting`; or null.
    pub(super) waiting: Cell<*const Waiting>,
    /// Its thread's own stack.
    pub ground: Cell<*const Ground>,
    /// `SCHED_JOIN=suspend`.
    pub sets_aside: Cell<bool>,
    /// The floating-point controls of the run, with which a loop begins.
    pub float: Cell<FloatControl>,
    /// Tasks that may be left here in the middle before the worker looks at the injector.
    pub(super) left: Countdown,
    /// The stack that its thread is on.
    pub strand: Cell<*const Strand>,
    /// Kind `cont`: what that has above. (Beside it, since the one is the other's child's place: so each spawn
    /// need not wait for what the one before has loaded.)
    pub above: Cell<*const Strand>,
    /// Free stacks.
    pub rack: Rack,
    pub(super) rng: UnsafeCell<SmallRng>,
    /// Tasks that may be made to go on soon by tasks here, before one goes behind all others.
    pub(super) wakes: Countdown,
    /// The worker that the owner's thread was when it started this run, if any.
    pub outer: Cell<*const Worker>,
    /// The task that a task here has last begun to join when nobody had begun it. Null once that join is over.
    pub(super) awaits: AtomicPtr<Forked>,
    /// Who has the place, when its thread has left it in the middle of a task.
    pub(super) vacancy: Vacancy,
    /// Links of the registry.
    pub(super) next: Cell<*const Worker>,
    pub(super) next_free: Cell<*const Worker>,
}

// SAFETY: see the table above for each field's discipline.
unsafe impl Sync for Worker {}

/// Where sched_inline.h finds `quick`, `deque` and the counter of tasks.
pub const LAYOUT: [usize; 3] = [
    offset_of!(Worker, quick),
    offset_of!(Worker, deque),
    offset_of!(Worker, counters) + offset_of!(Counters, tasks),
];

/// See `ext::sync`: so many tasks in turn are woken to go on soon.
pub(super) const IN_TURN: u32 = 1024;

impl Worker {
    /// The own stack of its thread, which is the caller's.
    pub fn ground(&self) -> &Ground {
        // SAFETY: in its host's frame, which lasts until the run has ended for it.
        unsafe { &*self.ground.get() }
    }

    /// The strand that this worker is on. The caller occupies the place.
    pub fn strand(&self) -> &Strand {
        // SAFETY: it lives as long as its stack is in use; the caller is on it, or about to leave it.
        unsafe { &*self.strand.get() }
    }

    /// The row of this worker's run; or of a former one.
    #[inline(always)]
    pub fn row(&self) -> &'static Row {
        // SAFETY: a row of the table's, from the beginning on.
        unsafe { &*self.row.load(Ordering::Relaxed) }
    }

    /// The kind of this worker's run.
    ///
    /// # Safety
    /// The run is one of `K` and has not ended.
    #[inline(always)]
    pub unsafe fn kind<K>(&self) -> &K {
        // SAFETY: by the caller's promise.
        unsafe { &*self.kind.get().cast::<K>() }
    }

    /// The kind's deque of this worker.
    ///
    /// # Safety
    /// The run is one of a kind whose deques are of this type, and has not ended.
    #[inline(always)]
    pub unsafe fn deque<D>(&self) -> &D {
        // SAFETY: by the caller's promise.
        unsafe { &*self.own.get().cast::<D>() }
    }

    /// True once in `TICK` calls: a task that leaves its worker has not returned, which else would be counted.
    #[inline(always)]
    pub fn tick(&self) -> bool {
        self.left.tick(TICK)
    }

    /// True once in so many calls. The caller occupies this place.
    #[inline]
    pub fn wakes_behind(&self) -> bool {
        self.wakes.tick(IN_TURN)
    }

    /// What a task gets.
    #[inline(always)]
    pub fn handle(&self) -> *mut Scheduler {
        ptr::from_ref(self).cast_mut().cast()
    }

    /// True if no run goes on that this worker is of, the caller's or another.
    pub fn has_ended(&self) -> bool {
        self.run.load(Ordering::Acquire) == 0 // with `retire`
    }

    /// What tells this run from others.
    pub fn run_id(&self) -> usize {
        self.run.load(Ordering::Relaxed)
    }

    /// The owner's empty parcels.
    #[inline]
    pub fn stock(&self) -> &Stock {
        &self.stock
    }

    /// True if a spawn in this worker's run calls the task at once: kind `cont`.
    pub fn calls_at_once(&self) -> bool {
        self.row().calls_at_once
    }
}

/// A stack with a worker's loop on it, or with room for one. It lies at the high end of a stack of the
/// rack's, ready for the next use; or in the loop's first frame.
#[repr(align(64))]
pub struct Strand {
    pub(super) worker: Cell<*const Worker>,
    /// None: the thread's own. (Or the memory of a new stack: all zero.)
    pub(super) stack: Option<Stack>,
    pub(super) looks: Cell<Looks>,
    /// To be run before those in the queues.
    pub(super) first: Cell<Option<Task>>,
    /// It cannot be left: a task here has started a run, which lies on top; or there is no stack.
    pub(super) fixed: Cell<bool>,
    /// Bytes of its stack below this record; 0: no stack.
    pub(super) room: usize,
    /// `room`, but 0 if the strand is fixed or has another above. So one comparison with the stack pointer tells whether
    /// the caller can leave the strand as it is.
    pub(super) reach: Cell<usize>,
    /// A blocking section of the task here.
    pub(super) section: Section,
    /// The group of the task here, if it is in one; only its address is used.
    pub group: Cell<*const ()>,
    /// Debug builds: tasks forked here and not joined.
    pub(super) forks: Cell<isize>,
    /// Kind `cont`: of the spawner whose child is here, its context at that spawn.
    pub(super) spawner: Cell<Context>,
    /// Kind `cont`: null, or the strand on which children of the task here run: the one that it waits for, or the
    /// next one. Nobody else has it. Always null if this strand cannot be left.
    pub(super) above: Cell<*const Strand>,
    /// Kind `cont`: the strand of that spawner, for as long as it waits for this.
    pub(super) below: Cell<*const Strand>,
    /// Kind `cont`: of the child here, if it was forked. The loop does not look at it.
    pub(super) forked: Cell<*const Forked>,
    /// Kind `cont`: who has continued it at its last spawn was not the child.
    pub(super) arrived: Cell<bool>,
    /// Where the frames end of what calls tasks here: the loop, or the task that others run on top of. What lies below
    /// it, when the next task is called, is in frames that have returned.
    pub(super) floor: Cell<usize>,
    /// How many tasks help here, each in the middle of the one before.
    pub(super) nested: Cell<u32>,
    /// What the last of them waits for, if others run on top of it for that.
    pub(super) awaited: Cell<Option<NonNull<dyn Awaited>>>,
    /// How often tasks here have given way.
    pub(super) turns: Cell<u32>,
    /// Until the next tick, and what it was at the last. When another worker has come with a task,
    /// the next is at once.
    pub(super) countdown: Cell<u32>,
    pub(super) granted: Cell<u32>,
}

/// Where a loop looks for tasks first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Looks {
    Inside,
    Outside,
    /// It begins idle.
    Nowhere,
}

/// The own stack of a thread that hosts a worker; it lies in `host`'s frame.
#[derive(Default)]
pub struct Ground {
    /// Where it goes on.
    pub(super) base: Cell<Context>,
    /// As the sanitizers know it.
    pub(super) side: Side,
    /// `nested` of the strand below when its task started this run, if one did.
    pub(super) nested_below: Cell<u32>,
}

/// What the strands of a run have in common.
#[derive(Clone, Copy)]
pub struct FiberTerms {
    /// Bytes of a stack.
    pub stack: usize,
    /// `SCHED_JOIN=suspend`.
    pub sets_aside: bool,
    /// What a loop begins with.
    pub float: FloatControl,
}

/// What a strand knows of its task's section.
#[derive(Default)]
pub struct Section {
    /// How many are open, each within the one before; 0: none.
    pub(super) depth: Cell<u32>,
    /// What the thread needs to come back to its worker.
    pub(super) left: Cell<usize>,
    /// The thread's own stack.
    pub(super) ground: Cell<*const Ground>,
    /// The thread's next outer section, in another run.
    pub(super) outer: Cell<*const Strand>,
}

impl Section {
    #[inline(always)]
    pub fn is_open(&self) -> bool {
        self.depth.get() > 0
    }
}

impl Strand {
    pub(super) fn new(stack: Option<Stack>) -> Strand {
        Strand {
            worker: Cell::new(ptr::null()),
            stack,
            looks: Cell::new(Looks::Inside),
            first: Cell::new(None),
            fixed: Cell::new(stack.is_none()),
            room: Strand::room(stack),
            reach: Cell::new(Strand::room(stack)),
            section: Section::default(),
            group: Cell::new(ptr::null()),
            forks: Cell::new(0),
            spawner: Cell::new(ptr::null_mut()),
            above: Cell::new(ptr::null()),
            below: Cell::new(ptr::null()),
            forked: Cell::new(ptr::null()),
            arrived: Cell::new(false),
            floor: Cell::new(0),
            nested: Cell::new(0),
            awaited: Cell::new(None),
            turns: Cell::new(0),
            countdown: Cell::new(TICK),
            granted: Cell::new(TICK),
        }
    }

    /// Where it lies on a stack of the rack's.
    #[inline(always)]
    pub(super) fn at(stack: Stack) -> *mut Strand {
        stack.top().wrapping_sub(size_of::<Strand>()).cast()
    }

    /// Where what runs there begins to grow down.
    pub(super) fn top(stack: Stack) -> *mut u8 {
        Strand::at(stack).cast()
    }

    /// Bytes of the stack below the record. None: 0.
    pub(super) fn room(stack: Option<Stack>) -> usize {
        stack.map_or(0, |stack| stack.room() - size_of::<Strand>())
    }

    /// That of a stack, which the caller has got.
    #[inline(always)]
    pub(super) fn on<'a>(stack: Stack) -> &'a Strand {
        let place = Strand::at(stack);
        // SAFETY: room for it, which holds one, or zeroes, which are one as well.
        unsafe {
            if (*place).stack.is_none() {
                place.write(Strand::new(Some(stack)));
            }
            &*place
        }
    }

    /// Its stack; None: the thread's own.
    pub fn stack(&self) -> Option<Stack> {
        self.stack
    }

    /// The worker that runs here now.
    pub fn worker(&self) -> &Worker {
        // SAFETY: records are never freed.
        unsafe { &*self.worker.get() }
    }

    /// True if a task that waits for another is to be set aside, and can be.
    pub fn sets_aside(&self) -> bool {
        self.worker().sets_aside.get()
    }

    /// Counts tasks forked here and not joined; tells how many there are.
    pub fn note_forks(&self, more: isize) -> isize {
        self.forks.set(self.forks.get() + more);
        self.forks.get()
    }

    /// True if this address lies in frames that have returned, and that were of tasks which were called from where the
    /// caller is called now. It is called by the loop, or on top of a task, before the next task is.
    ///
    /// The caller's own frame may cover the address: so it is compared with `floor`. Where the stack ends is known of the
    /// strand's. Of a thread's own, and of the program's own where a task helps there, a page below the caller is looked
    /// at: more than that a task needs in any case.
    #[inline(always)]
    pub fn is_behind(&self, address: *const c_void) -> bool {
        let floor = self.floor.get();
        address.addr() < floor && self.is_behind_on(floor, address.addr())
    }

    #[cold]
    #[inline(never)]
    fn is_behind_on(&self, floor: usize, address: usize) -> bool {
        const PAGE: usize = 4096;
        let here = registers::stack_pointer();
        let own = self.stack.filter(|stack| (stack.low()..floor).contains(&here));
        address >= own.map_or(here - PAGE, Stack::low)
    }
}

/// What a run has, whatever its kind.
pub struct Team {
    /// Dropped first: no worker is there any more when the parcels go.
    pub(super) crew: Crew,
    pub(super) workers: Box<[&'static Worker]>,
    pub(super) depot: Depot,
    pub(super) strands: FiberTerms,
    pub(super) report: Report,
    /// Worker 0's loop has returned.
    pub(super) end: Event,
    /// Tasks that were called at once by a thread that is no worker: no queue had room for them.
    pub(super) outside: AtomicUsize,
    pub(super) began: Instant,
    pub(super) config: Config,
    pub(super) deque: Option<Deque>,
    pub(super) qlen: usize,
}

impl Team {
    /// True if its threads are kept for later runs when it ends, and not joined.
    pub fn keeps_threads(&self) -> bool {
        self.crew.terms().keeps()
    }

    pub fn workers(&self) -> usize {
        self.workers.len()
    }

    /// Brings worker `index` a thread; see `Crew::call`.
    ///
    /// # Safety
    /// As for that.
    pub unsafe fn call(&self, index: usize) -> bool {
        // SAFETY: passed on.
        unsafe { self.crew.call(index) }
    }

    /// Sleeps for so long, or until the run has ended.
    pub fn sleep(&self, limit: Duration) {
        self.end.sleep(limit);
    }

    /// Worker 0's loop has returned.
    pub fn announce_end(&self) {
        self.end.happen();
    }

    /// Counts a task as `outside` says, from any thread.
    pub fn count_outside(&self) {
        self.outside.fetch_add(1, Ordering::Relaxed);
    }

    /// What its strands have in common.
    pub fn strands(&self) -> FiberTerms {
        self.strands
    }

    pub fn depot(&self) -> &Depot {
        &self.depot
    }

    pub fn worker(&self, index: usize) -> &'static Worker {
        self.workers[index]
    }

    pub(super) fn present(&self) -> impl Iterator<Item = &'static Worker> + Clone {
        let there = |i: &usize| !self.crew.is_missing(*i);
        (0..self.workers()).filter(there).map(|i| self.worker(i))
    }

    /// What all workers did so far.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals { time: self.began.elapsed(), ..Totals::default() };
        for worker in self.present() {
            totals.values.merge(worker.counters().values());
            totals.threads += 1;
        }
        totals.values.tasks += self.outside.load(Ordering::Relaxed);
        totals.threads_missing = self.workers() - totals.threads;
        totals
    }
}
