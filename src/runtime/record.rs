//! The records of workers, fibers and runs. They are plain data; the functions that act on several
//! of them stand in higher files. This is one file because each record points at the others: in
//! three files they would import each other.
//!
//! # The worker: what a `struct scheduler *` points to
//!
//! ```text
//! block 0  read by every call: spawn_owner, built_in, join_owner, owner, row, policy, index;
//!          and, rarely used: run, run_tag, run_lock
//! block 1  counted by the owner: counters
//! block 2  the owner's other state: argument blocks, stacks, fiber, random numbers; links
//! ```
//! A block is a pair of cache lines, 128 bytes, which processors prefetch together. The owner
//! writes block 2 and later fields all the time, so they share no lines with the other blocks.
//!
//! A worker's record that a thread occupies is also called the thread's *place*. A run that is held
//! open has further places, for guests (`policy::guests`).
//!
//! # Who may touch which field, and when
//!
//! | field | written | read |
//! | --- | --- | --- |
//! | `owner` | by the thread that takes or leaves the place; in a forked child | any thread |
//! | `spawn_owner`, `join_owner` | together with `owner` | any thread |
//! | `row` | before the run starts | any thread |
//! | `policy`, `policy_deque`, `index` | before the run starts | workers; others under `run_lock` |
//! | `run` | before the run starts | workers; others under `run_lock` |
//! | `join`, `float_control`, `waiting`, `outside` | before the run starts | the owner |
//! | `built_in` | before the run starts; when it ends | the owner; in a forked child |
//! | `handoff` | by its own protocol: `threads::handoff` | |
//! | `watch` | before the run starts | the owner; during the run, any thread |
//! | `unbegun_join` | by the owner; by whoever continues the task | when all workers are idle |
//! | `begins` | by the owner; before the run starts | a signal handler of the owner's thread |
//! | `is_idle` | by the owner; before the run starts | an observer, on any thread |
//! | `run_tag` | before the run starts; at its end, under `run_lock`; by fork | any thread |
//! | `counters` | by the owner | any thread |
//! | `block_cache`, `stacks`, `rng` | by the owner | the owner |
//! | `host_stack`, `fiber`, `child_fiber`, `outer_worker` | by the owner | the owner |
//! | `until_injector`, `wakes_until_behind`, `ended_until_own` | by the owner | the owner |
//! | `turns`, `past_loops` | by the owner | the owner |
//! | `next_record` | once, before the record is in the list of all | any thread |
//! | `next_resting` | under the lock of the registry; in a forked child | as written |
//!
//! `owner`, `spawn_owner`, `join_owner` and `built_in` are read and written Relaxed: a thread finds
//! its own thread pointer in them only if it has written the pointer itself, and a thread always
//! sees its own writes. `row` is Relaxed because rows never change, and a stale row is harmless to
//! threads that are not the owner.
//!
//! A task may pass its `s` to another task or thread, so each function of the interface asks: does
//! the calling thread occupy this place? `owner` holds the occupant's thread pointer, a number that
//! no two living threads share. The comparison costs less than a nanosecond; a thread-local
//! variable of a shared library costs a call.
//!
//! Records are recycled and never freed ([`registry`](super::registry)). A program that uses an `s`
//! after the end of its run finds a record without a run, and gets EINVAL. To keep it so for a
//! while, the record that has rested longest is reused first, and `registry::MIN_RESTING` records
//! always rest. A program that keeps an `s` for longer may find a worker of a later run.

use crate::fiber::listeners::Listener;
use crate::fiber::sanitizers::SanitizerState;
use crate::fiber::stack::Stack;
use crate::fiber::stack::free::StackCache;
use crate::fiber::switch::Context;
use crate::idle::quiescence::Waiting;
use crate::lock::mutex::Mutex;
use crate::pace::past::PastLoops;
use crate::policy::operations::Operations;
use crate::policy::reliefs::ReliefState;
use crate::policy::turns::Turns;
use crate::policy::{Awaited, Place, TICK};
use crate::profile::run::Profile;
use crate::queue::length::Lengths;
use crate::queue::split::Split;
use crate::runtime::arg_blocks::{BlockCache, BlockPool};
use crate::runtime::countdown::Countdown;
use crate::runtime::wait_note::WaitNote;
use crate::runtime::watch::{Watch, Watched};
use crate::settings::{Config, DequeOrLock, Join};
use crate::stats::Counters;
use crate::stats::phases::Phases;
use crate::stats::report::Report;
use crate::sync::forked::Forked;
use crate::sys::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, Pad};
use crate::sys::fence::Asymmetric;
use crate::sys::float::FloatControl;
use crate::task::{Scheduler, Task, TaskFn};
use crate::threads::cache::RunThreads;
use crate::threads::event::Event;
use crate::threads::handoff::Handoff;
use crate::threads::watcher::Duty;
use crate::trace::timeline::Timeline;
use rand::rngs::SmallRng;
use std::cell::{Cell, UnsafeCell};
use std::ffi::{c_int, c_void};
use std::mem::offset_of;
use std::ptr::{self, NonNull};

/// A worker's part of a row of the table of kinds: the functions of the interface, the operations
/// of the policy, and the policy's capabilities.
pub struct Row {
    /// `sched_spawn` where the built-in part does not apply: from any thread, even after the run.
    pub spawn: unsafe extern "C" fn(Option<TaskFn>, *mut c_void, &Worker) -> c_int,
    /// `sched_fork` where the built-in part does not apply: from any thread.
    pub fork: unsafe extern "C" fn(&Forked, Option<TaskFn>, *mut c_void, &Worker),
    /// Queues a forked task that its owner may also run: sets the descriptor to the task, and
    /// queues it. The number is the address of the program's function. From any thread. The error
    /// is the result of `sched_spawn`.
    pub offer: unsafe fn(&Forked, Task, usize, &Worker) -> Result<(), c_int>,
    pub operations: Operations<Worker, Fiber>,
    /// True if a spawn calls the new task at once: kind `cont`.
    pub calls_at_once: bool,
    /// True if the run may have several threads: a relief takes over a worker whose thread blocks.
    pub has_threads: bool,
    /// See `Policy::HAS_GUESTS`.
    pub has_guests: bool,
    /// See `Policy::GUESTS_HAVE_QUEUES`.
    pub guests_have_queues: bool,
    /// See `Policy::LINES_UP`.
    pub lines_up: bool,
    /// For a debugger.
    pub lengths: &'static Lengths,
    /// The row of runs that are not observed; None: this row. See `runtime::observed`.
    pub plain: Option<&'static Row>,
    pub doctor: &'static Doctor,
}

/// The calls by which a run informs the observer of the process (`inspect`).
pub struct Doctor {
    /// A run begins. `Duty::Doctor`: if no task ends for the time in its `Config`, the state is
    /// shown. `Duty::Live`: its statistics are shown while it lasts. `Duty::Timeline`: its timeline
    /// is written if a signal ends the process.
    pub begin: fn(Duty),
    /// The run has ended.
    pub end: fn(Duty),
    /// A worker has been idle for a long time while tasks wait.
    pub idles_long: fn(),
}

/// The deque of the default row: `sched_spawn` contains its `put`.
pub type BuiltIn = Split<Asymmetric>;

#[repr(C, align(128))]
pub struct Worker {
    /// `owner`, if `built_in` is not null and a spawn puts its task there; otherwise 0. So one
    /// comparison shows that the caller is the owner and that the deque exists.
    pub(super) spawn_owner: AtomicUsize,
    /// This worker's deque, if it is of the built-in type; otherwise null.
    pub(super) built_in: AtomicPtr<BuiltIn>,
    /// `spawn_owner`, if a join may call the child by a jump; otherwise 0. A join may not jump if
    /// the process contains C++'s runtime: without a frame it stops no exception.
    pub(super) join_owner: AtomicUsize,
    /// The thread pointer of the thread that occupies this place; 0: no thread does.
    pub(super) owner: AtomicUsize,
    pub(super) row: AtomicPtr<Row>,
    /// The policy of the run; its type is the row's.
    pub(super) policy: Cell<*const ()>,
    pub(super) index: Cell<usize>,
    pub(super) run: Cell<*const Run>,
    /// Identifies the run by the address of its policy; 0: this worker's run has ended.
    pub(super) run_tag: AtomicUsize,
    /// Held by the end of the run, and by a thread outside of the run while it uses the run.
    pub(super) run_lock: Mutex<()>,

    pub(super) counters: Pad<Counters>,

    pub(super) block_cache: BlockCache,
    /// This worker's deque, of the policy's type; null if the policy has no deque for each worker.
    pub(super) policy_deque: Cell<*const ()>,
    /// The result of `Policy::waiting`; null: none.
    pub(super) waiting: Cell<*const Waiting>,
    /// The observers of this worker; null: the run is not observed, and prints no statistics.
    pub(super) watch: Cell<*const Watch>,
    /// The own stack of the owner's thread.
    pub host_stack: Cell<*const HostStack>,
    /// How a task waits in a join.
    pub join: Cell<Join>,
    /// The floating-point control registers with which each loop of the run begins.
    pub float_control: Cell<FloatControl>,
    /// The number of suspensions (in kind `cont`, also of spawns) left before a look at the
    /// injector.
    pub(super) until_injector: Countdown,
    /// The result of `Policy::outside`; null: none.
    pub(super) outside: Cell<*const AtomicUsize>,
    pub(super) turns: Turns,
    /// The fiber that the owner's thread is on.
    pub fiber: Cell<*const Fiber>,
    /// Kind `cont`: a copy of `fiber.child_fiber`. A spawn reads it without a load of `fiber`,
    /// which the spawn before has just stored.
    pub child_fiber: Cell<*const Fiber>,
    pub stacks: StackCache,
    pub(super) rng: UnsafeCell<SmallRng>,
    /// The number of woken tasks that will continue soon before one is queued behind all others.
    pub(super) wakes_until_behind: Countdown,
    /// The number of tasks whose section has ended that still precede one of the worker's own.
    pub(super) ended_until_own: Countdown,
    /// The last loops of the owner: hints for its next ones.
    pub past_loops: Pad<PastLoops>,
    /// The worker that the owner's thread already occupied when it took this place; null: none.
    /// These pointers link all workers that one thread occupies.
    pub outer_worker: Cell<*const Worker>,
    /// The task that a task here last began to join before it had begun; null after the join.
    pub(super) unbegun_join: AtomicPtr<Forked>,
    /// The forked task that was last taken out of a queue: its descriptor, then the function that
    /// the descriptor named. Relaxed: only the owner's thread uses it.
    pub(super) begins: AtomicUsize,
    /// True if the worker is idle. Relaxed: only shown to the user.
    pub(super) is_idle: AtomicBool,
    /// True if the worker sleeps until something is due (`runtime::deadlines`). Only its own thread
    /// uses this.
    pub(super) covers_deadline: Cell<bool>,
    /// Decides which thread gets the place after its owner has left it for a blocking section.
    pub(super) handoff: Handoff,
    /// Links the list of all records of the registry.
    pub(super) next_record: Cell<*const Worker>,
    /// Links the registry's list of records without a run.
    pub(super) next_resting: Cell<*const Worker>,
}

// SAFETY: the table at the top of this file says for each field which threads touch it, and when.
unsafe impl Sync for Worker {}

/// The offsets at which sched_inline.h finds `spawn_owner`, `built_in` and the counter of tasks.
pub const LAYOUT: [usize; 3] = [
    offset_of!(Worker, spawn_owner),
    offset_of!(Worker, built_in),
    offset_of!(Worker, counters) + offset_of!(Counters, tasks),
];

/// One task of this many that a worker wakes in succession is queued behind all others; the rest
/// continue soon. See `api::sync`.
pub(super) const WAKES_IN_TURN: u32 = 1024;

impl Worker {
    /// The row of this worker's run; after its end, still that row.
    #[inline(always)]
    pub fn row(&self) -> &'static Row {
        // Relaxed: see the top of this file.
        // SAFETY: from the making of the record on, `row` points to a row of the static table.
        unsafe { &*self.row.load(Ordering::Relaxed) }
    }

    /// The row without observers.
    pub(super) fn plain_row(&self) -> &'static Row {
        let row = self.row();
        row.plain.unwrap_or(row)
    }

    /// # Safety
    /// The run has not ended, and its policy has a deque of type `D` for each worker.
    #[inline(always)]
    pub unsafe fn deque<D>(&self) -> &D {
        // SAFETY: the policy's deques are of type `D`, and live as long as the run.
        unsafe { &*self.policy_deque.get().cast::<D>() }
    }

    /// Counts a task that leaves its worker without returning (`LoopStack::tick` counts tasks that
    /// return). True once in `TICK` calls: the worker must then look at the injector.
    #[inline(always)]
    pub fn tick(&self) -> bool {
        self.until_injector.tick(TICK)
    }

    /// True if a task from outside the run waits, and the policy gives it turns. A hint; two loads.
    #[inline(always)]
    pub fn has_outside(&self) -> bool {
        // SAFETY: null, or a word of the run's policy, which lives as long as the run.
        unsafe { self.outside.get().as_ref() }.is_some_and(|n| n.load(Ordering::Relaxed) != 0)
    }

    /// Counts a woken task. True once in `WAKES_IN_TURN` calls: that task is queued behind all
    /// others. The caller occupies this worker.
    #[inline]
    pub fn wakes_behind(&self) -> bool {
        self.wakes_until_behind.tick(WAKES_IN_TURN)
    }

    /// Counts a task whose section has ended and which is about to continue here. True once in
    /// `TICK` calls: a task of the worker's own queue goes first. The caller occupies this worker.
    pub(super) fn own_turn(&self) -> bool {
        self.ended_until_own.tick(TICK)
    }

    /// The `struct scheduler *` that a task receives.
    #[inline(always)]
    pub fn handle(&self) -> *mut Scheduler {
        ptr::from_ref(self).cast_mut().cast()
    }

    /// True if this record belongs to no run: its run has ended, and no later run has taken it.
    pub fn has_ended(&self) -> bool {
        self.run_tag.load(Ordering::Acquire) == 0 // Acquire: pairs with the Release in `retire`
    }

    /// A number that is unique among the runs that have not ended; 0: this worker's run has ended.
    pub fn run_id(&self) -> usize {
        // Relaxed: the number is only compared
        self.run_tag.load(Ordering::Relaxed)
    }

    pub fn calls_at_once(&self) -> bool {
        self.row().calls_at_once
    }
}

/// A stack on which a worker's loop runs, or can run. The record lies at the high end of its stack
/// and stays there for the next use; the record of a thread's own stack lies in the first frame of
/// the loop. Only the thread that occupies the fiber's worker touches the fields. A suspended fiber
/// belongs to the owner of its continuation.
#[repr(align(64))]
pub struct Fiber {
    /// The worker whose loop runs here, or ran here last.
    pub(super) worker: Cell<*const Worker>,
    /// None for a thread's own stack, or a new stack, whose memory is all zero: see `Fiber::on`.
    pub(super) stack: Option<Stack>,
    /// The place where the loop that begins here looks for its first task. Also `Injector` while
    /// tasks from outside the run have a turn here ([`outside`](super::outside)).
    pub(super) loop_start: Cell<LoopStart>,
    /// A task that the loop runs before those in the queues.
    pub(super) first_task: Cell<Option<Task>>,
    /// True if the worker cannot leave this fiber: it is a thread's own stack, or other work lies
    /// on top of the task here (a run that the task has started, or tasks on top of its blocking
    /// section).
    pub(super) pinned: Cell<bool>,
    /// Bytes of the stack below this record; 0: no stack.
    pub(super) usable_bytes: usize,
    /// `usable_bytes`, or 0 if the fiber is pinned or has a child fiber. One comparison of this
    /// with the distance between the caller's stack pointer and the record shows that the caller is
    /// on this stack, and that the fiber is not pinned and has no child fiber.
    pub(super) leave_limit: Cell<usize>,
    pub(super) section: Section,
    /// The group of the task here, or null. Only its address is used.
    pub group: Cell<*const ()>,
    /// The innermost loop or reduction of which a part runs here (`api::stop`), or null.
    pub stop: Cell<*const ()>,
    /// The youngest task here; null in a run that is not observed. An observer on another thread
    /// reads it, and the records to which it leads.
    pub(super) observed: Cell<*const Watched>,
    /// Debug builds: how many tasks were forked here and not joined yet.
    pub(super) unjoined_forks: Cell<isize>,
    /// Kind `cont`: the context of the spawner at the spawn that called the task here.
    pub(super) spawner_context: Cell<Context>,
    /// Kind `cont`: the fiber for children of the task here. It has the child for which the task
    /// waits as a spawner, or is free for the next child. Null: none yet. No other fiber or cache
    /// has that fiber. Always null if this fiber is pinned.
    pub(super) child_fiber: Cell<*const Fiber>,
    /// Kind `cont`: the fiber of the spawner, valid as long as the spawner waits for the task here.
    pub(super) parent_fiber: Cell<*const Fiber>,
    /// Kind `cont`: the number of child fibers between this one and the first, each made by a spawn
    /// on the one before. Set to 0 when the task here waits, when the loop here finds its queue
    /// empty, and before the loop here runs tasks from outside the run.
    pub(super) nesting: Cell<u32>,
    /// Kind `cont`: the descriptor of the task here, if it was forked. The loop does not read it.
    pub(super) descriptor: Cell<*const Forked>,
    /// Kind `cont`: something other than its child's return resumed the task here at its last
    /// spawn. Used only where each switch is reported to a sanitizer or to C++'s runtime.
    pub(super) resumed_by_other: Cell<bool>,
    /// The stack pointer in the frame that calls tasks here: the frame of the loop, or of
    /// `work_on_top`. When it calls the next task, all frames below this address have returned.
    pub(super) calling_frame: Cell<usize>,
    /// The number of tasks here that have other tasks running on top of them.
    pub(super) help_depth: Cell<u32>,
    /// The wait of the youngest of these tasks, if it waits.
    pub(super) awaited: Cell<Option<NonNull<dyn Awaited>>>,
    /// A note of what the task here waits for, which observers read.
    pub wait: WaitNote,
    /// How often tasks here have yielded, modulo the period of `is_nth_yield`.
    pub(super) yields: Cell<u32>,
    /// The number of successive calls of the task for descriptors that did not wait (`api::io`).
    pub burst: Cell<u32>,
    /// The descriptor that a task here has read last, and the number of its successive reads that
    /// had to wait and did not fill the buffer (`api::io`).
    pub waited_reads: Cell<(c_int, u32)>,
    /// How many more tasks run here before the next tick. At a tick the loop checks rare
    /// conditions: the injector, an open section, another worker. The statistics also count tasks
    /// by it. Rejected: a separate counter, which takes two more instructions a task (79.4 instead
    /// of 77.5 in the benchmark `tree`, by callgrind).
    pub(super) countdown: Cell<u32>,
    /// The value of `countdown` after the last tick: `TICK`, or 1 if the next tick must come at
    /// once, for instance because the fiber has moved to another worker.
    pub(super) countdown_start: Cell<u32>,
}

/// The place where a loop looks for its first task.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LoopStart {
    OwnQueue,
    Injector,
    /// Nowhere: the worker begins idle.
    Idle,
}

/// The own stack of a thread that occupies a worker. The record lies in the frame of `host::host`.
pub struct HostStack {
    /// The context of `host::host`, which continues when the worker's loop ends.
    pub(super) base: Cell<Context>,
    /// The worker that the thread occupies, or occupied last.
    pub(super) worker: Cell<Option<&'static Worker>>,
    pub(super) sanitizers: SanitizerState,
    /// `help_depth` of the outer worker's fiber when its task started this run; 0: no outer worker.
    pub(super) outer_help_depth: Cell<u32>,
}

impl Default for HostStack {
    fn default() -> Self {
        HostStack {
            base: Cell::new(ptr::null_mut()),
            worker: Cell::default(),
            sanitizers: SanitizerState::default(),
            outer_help_depth: Cell::default(),
        }
    }
}

/// The blocking section of a fiber's task: see [`blocking`](super::blocking).
pub struct Section {
    /// How many sections of the task are open, each within the one before; 0: none.
    pub(super) depth: Cell<u32>,
    /// The word by which the thread asks `Handoff` for its worker.
    pub(super) handoff_word: Cell<usize>,
    /// The own stack of the thread that is in the section.
    pub(super) host_stack: Cell<*const HostStack>,
    /// The fiber of the thread's next outer section, which is in another run; null: none.
    pub(super) outer_fiber: Cell<*const Fiber>,
}

impl Default for Section {
    fn default() -> Self {
        Section {
            depth: Cell::default(),
            handoff_word: Cell::default(),
            host_stack: Cell::new(ptr::null()),
            outer_fiber: Cell::new(ptr::null()),
        }
    }
}

impl Section {
    #[inline(always)]
    pub fn is_open(&self) -> bool {
        self.depth.get() > 0
    }
}

impl Fiber {
    /// The offset of the youngest task's record, for an observer.
    pub const OBSERVED: usize = offset_of!(Fiber, observed);
    pub const DESCRIPTOR: usize = offset_of!(Fiber, descriptor);

    pub(super) fn new(stack: Option<Stack>) -> Fiber {
        Fiber {
            worker: Cell::new(ptr::null()),
            stack,
            loop_start: Cell::new(LoopStart::OwnQueue),
            first_task: Cell::new(None),
            pinned: Cell::new(stack.is_none()),
            usable_bytes: Fiber::usable_bytes_of(stack),
            leave_limit: Cell::new(Fiber::usable_bytes_of(stack)),
            section: Section::default(),
            group: Cell::new(ptr::null()),
            stop: Cell::new(ptr::null()),
            observed: Cell::new(ptr::null()),
            unjoined_forks: Cell::new(0),
            spawner_context: Cell::new(ptr::null_mut()),
            child_fiber: Cell::new(ptr::null()),
            parent_fiber: Cell::new(ptr::null()),
            nesting: Cell::new(0),
            descriptor: Cell::new(ptr::null()),
            resumed_by_other: Cell::new(false),
            calling_frame: Cell::new(0),
            help_depth: Cell::new(0),
            awaited: Cell::new(None),
            wait: WaitNote::none(),
            yields: Cell::new(0),
            burst: Cell::new(0),
            waited_reads: Cell::new((0, 0)),
            countdown: Cell::new(TICK),
            countdown_start: Cell::new(TICK),
        }
    }

    #[inline(always)]
    pub(super) fn record_address(stack: Stack) -> *mut Fiber {
        stack.top().wrapping_sub(size_of::<Fiber>()).cast()
    }

    /// The address from which the frames on this stack grow down: the address of the record.
    pub(super) fn top(stack: Stack) -> *mut u8 {
        Fiber::record_address(stack).cast()
    }

    /// Bytes of the stack below the record; 0 without a stack.
    pub(super) fn usable_bytes_of(stack: Option<Stack>) -> usize {
        stack.map_or(0, |stack| stack.room() - size_of::<Fiber>())
    }

    /// The fiber on a stack that belongs to the caller.
    #[inline(always)]
    pub(super) fn on<'a>(stack: Stack) -> &'a Fiber {
        let place = Fiber::record_address(stack);
        // SAFETY: the stack has room for the record, and holds one or zeroes, which are also valid.
        unsafe {
            if (*place).stack.is_none() {
                Fiber::write(place, stack);
            }
            &*place
        }
    }

    /// # Safety
    /// The place is the record's on this stack, which belongs to the caller.
    #[cold]
    #[inline(never)] // its frame does not stay on the stack of a task that waits
    unsafe fn write(place: *mut Fiber, stack: Stack) {
        // SAFETY: the place has room for a fiber's record, and belongs to the caller.
        unsafe { place.write(Fiber::new(Some(stack))) };
    }

    /// The note of the fiber on a stack that may belong to another thread, or have no fiber yet.
    pub fn wait_on<'a>(stack: Stack) -> &'a WaitNote {
        // SAFETY: the record's address is in the stack's memory, which is zero before there is a
        // fiber; a note of zeroes says that nothing waits. All fields of a note are atomics.
        unsafe { &(*Fiber::record_address(stack)).wait }
    }

    pub fn stack(&self) -> Option<Stack> {
        self.stack
    }

    pub fn worker(&self) -> &'static Worker {
        // SAFETY: records are never freed.
        unsafe { &*self.worker.get() }
    }

    pub fn join(&self) -> Join {
        self.worker().join.get()
    }
}

/// Returns the program's function that a task will call; functions of the library may stand between
/// the queue and it. Each run has this pointer, since those functions are on higher floors.
pub type FunctionOf = fn(Task) -> usize;

/// A run that the observer of the process attends to. Dropping it reports the end of the run.
pub struct Attended(pub(super) &'static Doctor, pub(super) Duty);

/// The part of a run that does not depend on its kind.
pub struct Run {
    /// Dropped first: no thread is at work any more when the argument blocks are freed.
    pub(super) threads: RunThreads,
    #[allow(dead_code, reason = "to drop them tells the end of the run")]
    pub(super) attended: [Option<Attended>; 3],
    /// Made at the first deadline in the run. (Not a OnceLock, which hangs where futex is refused.)
    pub(super) keeper: Mutex<Option<Attended>>,
    /// True once the keeper was made, so that later calls need not take the lock.
    pub(super) has_keeper: AtomicBool,
    pub(super) workers: Box<[&'static Worker]>,
    /// The places of guests and reliefs: see `policy::guests`. Their indices follow those of the
    /// workers.
    pub(super) guests: Box<[&'static Worker]>,
    /// For a debugger: the number of workers, which is the index of the first guest's place.
    pub(super) first_guest: usize,
    /// The index of the first relief's place (`policy::reliefs`), behind those of guests.
    pub(super) first_relief: usize,
    pub(super) relief: ReliefState,
    pub(super) block_pool: BlockPool,
    pub(super) stack_size: usize,
    pub(super) report: Report,
    pub(super) timeline: Option<Box<Timeline>>,
    #[allow(dead_code, reason = "while it is there, switches are told to the watches")]
    pub(super) listener: Option<Listener>,
    pub(super) profile: Option<Box<Profile>>,
    /// The phases of each worker, if the run prints statistics.
    pub(super) phases: Box<[Pad<Phases>]>,
    /// The watch of each worker, if the run is observed or prints statistics.
    pub(super) watches: Box<[Watch]>,
    pub(super) function_of: FunctionOf,
    /// Happens when the loop of worker 0 has returned.
    pub(super) end: Event,
    /// How many threads wait for `end`, without a time limit.
    pub(super) ends_awaited: AtomicUsize,
    /// How many tasks were called at once outside of the run, because no queue had room.
    pub(super) outside: AtomicUsize,
    /// The time at which the run began, in nanoseconds of `clock::nanos`.
    pub(super) began: u64,
    pub(super) config: Config,
    pub(super) deque: Option<DequeOrLock>,
    pub(super) qlen: usize,
}

impl Run {
    /// True if the threads are kept for later runs when this run ends; false if they are joined.
    pub fn keeps_threads(&self) -> bool {
        self.threads.terms().keeps()
    }

    pub fn workers(&self) -> usize {
        self.workers.len()
    }

    pub fn places(&self) -> usize {
        self.workers.len() + self.guests.len()
    }

    /// The number of places of workers and guests.
    pub fn numbers(&self) -> usize {
        self.first_relief
    }

    pub fn place(&self, index: usize) -> &'static Worker {
        self.workers.get(index).unwrap_or_else(|| &self.guests[index - self.workers.len()])
    }

    pub fn all_places(&self) -> impl Iterator<Item = &'static Worker> + Clone {
        self.workers.iter().chain(&self.guests).copied()
    }

    /// The guests that have run a task.
    pub fn used_guests(&self) -> impl Iterator<Item = &'static Worker> + Clone {
        self.guests.iter().copied().filter(|guest| guest.counters().values().tasks > 0)
    }

    /// Counts a task in `outside`, from any thread. Relaxed: read after the run, or for a report.
    pub fn count_outside(&self) {
        self.outside.fetch_add(1, Ordering::Relaxed);
    }

    /// True if the run's statistics are shown while it lasts.
    pub fn is_live(&self) -> bool {
        self.report.is_live()
    }

    pub fn began(&self) -> u64 {
        self.began
    }

    pub fn phases(&self, worker: usize) -> Option<&Phases> {
        self.phases.get(worker).map(|phases| &**phases)
    }

    pub fn watch(&self, worker: usize) -> Option<&Watch> {
        self.watches.get(worker)
    }

    /// The timeline, if the run is traced.
    pub fn timeline(&self) -> Option<&Timeline> {
        self.timeline.as_deref()
    }

    pub fn function_of(&self, task: Task) -> usize {
        (self.function_of)(task)
    }

    pub fn worker(&self, index: usize) -> &'static Worker {
        self.workers[index]
    }

    pub fn config(&self) -> &Config {
        &self.config
    }
}
