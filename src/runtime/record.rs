//! The records that point at each other: worker, fiber and run. They are data; what acts on them stands in higher files.
//!
//! # The worker: what `struct scheduler *` points to
//!
//! ```text
//! line 0  read at each call: spawn_owner, built_in, join_owner, owner, row, policy, index; run, tag, run_lock (cold)
//! line 1  the owner's: counters
//! line 2  the owner's: argument blocks, stacks, fiber, random numbers; links (cold)
//! ```
//!
//! # Who may touch what, and when
//!
//! | field | written | read |
//! | --- | --- | --- |
//! | `owner` | by the thread that takes or leaves the place; in a forked child | by anyone |
//! | `spawn_owner`, `join_owner` | with `owner` | by anyone |
//! | `row` | before the run starts | by anyone |
//! | `policy`, `policy_deque`, `index`, `run` | before the run starts | by the run's workers; others under `run_lock` |
//! | `suspends_joins`, `float`, `waiting` | before the run starts | by the owner |
//! | `built_in` | before the run starts; when it ends | by the owner; in a forked child |
//! | `handoff` | as it says itself | |
//! | `unbegun_join` | by the owner; by the worker where the task goes on | when all workers are idle |
//! | `tag` | before the run starts; under `run_lock` when it ends | by anyone |
//! | `counters` | by the owner | by anyone |
//! | `block_cache`, `stacks`, `host_stack`, `fiber`, `child_fiber`, `until_injector`, `rng`, `wakes_until_behind`, `outer_worker` | by the owner | by the owner |
//!
//! `spawn_owner`, `join_owner`, `owner` and `built_in` are read and written Relaxed: only their own thread finds itself in
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

use crate::fiber::sanitizers::SanitizerState;
use crate::fiber::stack::{Stack, StackCache};
use crate::fiber::switch::Context;
use crate::idle::quiescence::Waiting;
use crate::lock::mutex::Mutex;
use crate::policy::operations::Operations;
use crate::policy::{Awaited, Place, TICK};
use crate::queue::split::Split;
use crate::runtime::arg_blocks::{BlockCache, BlockPool};
use crate::runtime::countdown::Countdown;
use crate::settings::{Config, Deque};
use crate::stats::report::Report;
use crate::stats::{Counters, Totals};
use crate::sync::forked::Forked;
use crate::sys::atomic::{AtomicPtr, AtomicUsize, Ordering, Pad};
use crate::sys::float::FloatControl;
use crate::sys::registers;
use crate::task::{Scheduler, Task, TaskFn};
use crate::threads::cache::RunThreads;
use crate::threads::event::Event;
use crate::threads::handoff::Handoff;
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
    pub operations: Operations<Worker, Fiber>,
    /// A spawn calls the task at once: kind `cont`.
    pub calls_at_once: bool,
    /// The run has threads beside its first: in a blocking section one of them takes the worker's place.
    pub has_threads: bool,
    /// See `Policy::LINES_UP`.
    pub lines_up: bool,
}

/// The deque of the default row: `sched_spawn` has its `put` built in.
pub type BuiltIn = Split<false>;

#[repr(C, align(128))]
pub struct Worker {
    /// `owner`, if `deque` is not null and a spawn puts the task there; else 0. So one comparison tells
    /// that the caller is the owner and that the deque is there.
    pub(super) spawn_owner: AtomicUsize,
    pub(super) built_in: AtomicPtr<BuiltIn>,
    /// `spawn_owner`, if a join may call the child by a jump; else 0. With C++'s runtime in the process it may not: a join
    /// without a frame cannot stop an exception that leaves the child.
    pub(super) join_owner: AtomicUsize,
    pub(super) owner: AtomicUsize,
    pub(super) row: AtomicPtr<Row>,
    pub(super) policy: Cell<*const ()>,
    pub(super) index: Cell<usize>,
    pub(super) run: Cell<*const Run>,
    /// Identifies the run: the address of its kind; 0 when it has ended.
    pub(super) run_tag: AtomicUsize,
    /// Held by a foreign thread while it uses the run, and by the run's end.
    pub(super) run_lock: Mutex<()>,

    pub(super) counters: Pad<Counters>,

    pub(super) block_cache: BlockCache,
    /// The kind's deque of this worker, if it has one.
    pub(super) policy_deque: Cell<*const ()>,
    /// See `Policy::waiting`; or null.
    pub(super) waiting: Cell<*const Waiting>,
    /// Its thread's own stack.
    pub host_stack: Cell<*const HostStack>,
    /// `SCHED_JOIN=suspend`.
    pub suspends_joins: Cell<bool>,
    /// The floating-point controls of the run, with which a loop begins.
    pub float_control: Cell<FloatControl>,
    /// Tasks that may be left here in the middle before the worker looks at the injector.
    pub(super) until_injector: Countdown,
    /// The stack that its thread is on.
    pub fiber: Cell<*const Fiber>,
    /// Kind `cont`: what that has above. (Beside it, since the one is the other's child's place: so each spawn
    /// need not wait for what the one before has loaded.)
    pub child_fiber: Cell<*const Fiber>,
    /// Free stacks.
    pub stacks: StackCache,
    pub(super) rng: UnsafeCell<SmallRng>,
    /// Tasks that may be made to go on soon by tasks here, before one goes behind all others.
    pub(super) wakes_until_behind: Countdown,
    /// The worker that the owner's thread was when it started this run, if any.
    pub outer_worker: Cell<*const Worker>,
    /// The task that a task here has last begun to join when nobody had begun it. Null once that join is over.
    pub(super) unbegun_join: AtomicPtr<Forked>,
    /// Who has the place, when its thread has left it in the middle of a task.
    pub(super) handoff: Handoff,
    /// Links of the registry.
    pub(super) next_record: Cell<*const Worker>,
    pub(super) next_resting: Cell<*const Worker>,
}

// SAFETY: see the table above for each field's discipline.
unsafe impl Sync for Worker {}

/// Where sched_inline.h finds `spawn_owner`, `deque` and the counter of tasks.
pub const LAYOUT: [usize; 3] = [
    offset_of!(Worker, spawn_owner),
    offset_of!(Worker, built_in),
    offset_of!(Worker, counters) + offset_of!(Counters, tasks),
];

/// See `ext::sync`: so many tasks in turn are woken to go on soon.
pub(super) const WAKES_IN_TURN: u32 = 1024;

impl Worker {
    /// The row of this worker's run; or of a former one.
    #[inline(always)]
    pub fn row(&self) -> &'static Row {
        // SAFETY: a row of the table's, from the beginning on.
        unsafe { &*self.row.load(Ordering::Relaxed) }
    }

    /// The kind's deque of this worker.
    ///
    /// # Safety
    /// The run is one of a kind whose deques are of this type, and has not ended.
    #[inline(always)]
    pub unsafe fn deque<D>(&self) -> &D {
        // SAFETY: by the caller's promise.
        unsafe { &*self.policy_deque.get().cast::<D>() }
    }

    /// True once in `TICK` calls: a task that leaves its worker has not returned, which else would be counted.
    #[inline(always)]
    pub fn tick(&self) -> bool {
        self.until_injector.tick(TICK)
    }

    /// True once in so many calls. The caller occupies this place.
    #[inline]
    pub fn wakes_behind(&self) -> bool {
        self.wakes_until_behind.tick(WAKES_IN_TURN)
    }

    /// What a task gets.
    #[inline(always)]
    pub fn handle(&self) -> *mut Scheduler {
        ptr::from_ref(self).cast_mut().cast()
    }

    /// True if no run goes on that this worker is of, the caller's or another.
    pub fn has_ended(&self) -> bool {
        self.run_tag.load(Ordering::Acquire) == 0 // with `retire`
    }

    /// What tells this run from others.
    pub fn run_id(&self) -> usize {
        self.run_tag.load(Ordering::Relaxed)
    }

    /// The owner's empty blocks.
    #[inline]
    pub fn block_cache(&self) -> &BlockCache {
        &self.block_cache
    }

    /// True if a spawn in this worker's run calls the task at once: kind `cont`.
    pub fn calls_at_once(&self) -> bool {
        self.row().calls_at_once
    }
}

/// A stack with a worker's loop on it, or with room for one. It lies at the high end of a stack of the
/// stack cache's, ready for the next use; or in the loop's first frame.
#[repr(align(64))]
pub struct Fiber {
    pub(super) worker: Cell<*const Worker>,
    /// None: the thread's own. (Or the memory of a new stack: all zero.)
    pub(super) stack: Option<Stack>,
    pub(super) loop_start: Cell<LoopStart>,
    /// To be run before those in the queues.
    pub(super) first_task: Cell<Option<Task>>,
    /// It cannot be left: a task here has started a run, which lies on top; or there is no stack.
    pub(super) pinned: Cell<bool>,
    /// Bytes of its stack below this record; 0: no stack.
    pub(super) usable_bytes: usize,
    /// `room`, but 0 if the fiber is fixed or has another above. So one comparison with the stack pointer tells whether
    /// the caller can leave the fiber as it is.
    pub(super) leave_limit: Cell<usize>,
    /// A blocking section of the task here.
    pub(super) section: Section,
    /// The group of the task here, if it is in one; only its address is used.
    pub group: Cell<*const ()>,
    /// Debug builds: tasks forked here and not joined.
    pub(super) unjoined_forks: Cell<isize>,
    /// Kind `cont`: of the spawner whose child is here, its context at that spawn.
    pub(super) spawner_context: Cell<Context>,
    /// Kind `cont`: null, or the fiber on which children of the task here run: the one that it waits for, or the
    /// next one. Nobody else has it. Always null if this fiber cannot be left.
    pub(super) child_fiber: Cell<*const Fiber>,
    /// Kind `cont`: the fiber of that spawner, for as long as it waits for this.
    pub(super) parent_fiber: Cell<*const Fiber>,
    /// Kind `cont`: of the child here, if it was forked. The loop does not look at it.
    pub(super) descriptor: Cell<*const Forked>,
    /// Kind `cont`: who has continued it at its last spawn was not the child.
    pub(super) resumed_by_other: Cell<bool>,
    /// Where the frames end of what calls tasks here: the loop, or the task that others run on top of. What lies below
    /// it, when the next task is called, is in frames that have returned.
    pub(super) calling_frame: Cell<usize>,
    /// How many tasks help here, each in the middle of the one before.
    pub(super) help_depth: Cell<u32>,
    /// What the last of them waits for, if others run on top of it for that.
    pub(super) awaited: Cell<Option<NonNull<dyn Awaited>>>,
    /// How often tasks here have given way.
    pub(super) yields: Cell<u32>,
    /// Until the next tick, and what it was at the last. When another worker has come with a task,
    /// the next is at once.
    pub(super) countdown: Cell<u32>,
    pub(super) countdown_start: Cell<u32>,
}

/// Where a loop looks for tasks first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LoopStart {
    OwnQueue,
    Injector,
    /// It begins idle.
    Idle,
}

/// The own stack of a thread that hosts a worker; it lies in `host`'s frame.
#[derive(Default)]
pub struct HostStack {
    /// Where it goes on.
    pub(super) base: Cell<Context>,
    /// As the sanitizers know it.
    pub(super) sanitizers: SanitizerState,
    /// `nested` of the fiber below when its task started this run, if one did.
    pub(super) outer_help_depth: Cell<u32>,
}

/// What the fibers of a run have in common.
#[derive(Clone, Copy)]
pub struct FiberSettings {
    /// Bytes of a stack.
    pub stack_size: usize,
    /// `SCHED_JOIN=suspend`.
    pub suspends_joins: bool,
    /// What a loop begins with.
    pub float_control: FloatControl,
}

/// What a fiber knows of its task's section.
#[derive(Default)]
pub struct Section {
    /// How many are open, each within the one before; 0: none.
    pub(super) depth: Cell<u32>,
    /// What the thread needs to come back to its worker.
    pub(super) handoff_word: Cell<usize>,
    /// The thread's own stack.
    pub(super) host_stack: Cell<*const HostStack>,
    /// The thread's next outer section, in another run.
    pub(super) outer_fiber: Cell<*const Fiber>,
}

impl Section {
    #[inline(always)]
    pub fn is_open(&self) -> bool {
        self.depth.get() > 0
    }
}

impl Fiber {
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
            unjoined_forks: Cell::new(0),
            spawner_context: Cell::new(ptr::null_mut()),
            child_fiber: Cell::new(ptr::null()),
            parent_fiber: Cell::new(ptr::null()),
            descriptor: Cell::new(ptr::null()),
            resumed_by_other: Cell::new(false),
            calling_frame: Cell::new(0),
            help_depth: Cell::new(0),
            awaited: Cell::new(None),
            yields: Cell::new(0),
            countdown: Cell::new(TICK),
            countdown_start: Cell::new(TICK),
        }
    }

    /// Where it lies on a stack of the stack cache's.
    #[inline(always)]
    pub(super) fn at(stack: Stack) -> *mut Fiber {
        stack.top().wrapping_sub(size_of::<Fiber>()).cast()
    }

    /// Where what runs there begins to grow down.
    pub(super) fn top(stack: Stack) -> *mut u8 {
        Fiber::at(stack).cast()
    }

    /// Bytes of the stack below the record. None: 0.
    pub(super) fn usable_bytes_of(stack: Option<Stack>) -> usize {
        stack.map_or(0, |stack| stack.room() - size_of::<Fiber>())
    }

    /// That of a stack, which the caller has got.
    #[inline(always)]
    pub(super) fn on<'a>(stack: Stack) -> &'a Fiber {
        let place = Fiber::at(stack);
        // SAFETY: room for it, which holds one, or zeroes, which are one as well.
        unsafe {
            if (*place).stack.is_none() {
                place.write(Fiber::new(Some(stack)));
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
    pub fn suspends_joins(&self) -> bool {
        self.worker().suspends_joins.get()
    }

    /// Counts tasks forked here and not joined; tells how many there are.
    pub fn count_forks(&self, more: isize) -> isize {
        self.unjoined_forks.set(self.unjoined_forks.get() + more);
        self.unjoined_forks.get()
    }

    /// True if this address lies in frames that have returned, of tasks that were called from where the caller is
    /// called now. To be asked by the loop, or on top of a task, before the next task is called.
    ///
    /// The caller's own frame may cover the address, so the address is compared with `floor`.
    #[inline(always)]
    pub fn is_in_returned_frame(&self, address: *const c_void) -> bool {
        let floor = self.calling_frame.get();
        address.addr() < floor && self.is_in_returned_frame_slowly(floor, address.addr())
    }

    /// The end of the stack is known if the caller and `floor` are on the fiber's own. They may be on another: a
    /// thread's own, one of the program's, or that of an inner run in which the task waits. Of such a stack only a page
    /// below the caller is looked at, since more than that may belong to another stack.
    #[cold]
    #[inline(never)]
    fn is_in_returned_frame_slowly(&self, floor: usize, address: usize) -> bool {
        const PAGE: usize = 4096;
        let here = registers::stack_pointer();
        let own = self.stack.filter(|stack| {
            let bounds = stack.low()..=stack.top().addr();
            bounds.contains(&here) && bounds.contains(&floor)
        });
        match own {
            Some(stack) => address >= stack.low(),
            None => floor.wrapping_sub(here) < PAGE && address >= here - PAGE,
        }
    }
}

/// What a run has, whatever its kind.
pub struct Run {
    /// Dropped first: no worker is there any more when the blocks go.
    pub(super) threads: RunThreads,
    pub(super) workers: Box<[&'static Worker]>,
    pub(super) block_pool: BlockPool,
    pub(super) fiber_settings: FiberSettings,
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

impl Run {
    /// True if its threads are kept for later runs when it ends, and not joined.
    pub fn keeps_threads(&self) -> bool {
        self.threads.terms().keeps()
    }

    pub fn workers(&self) -> usize {
        self.workers.len()
    }

    /// Brings worker `index` a thread; see `RunThreads::call`.
    ///
    /// # Safety
    /// As for that.
    pub unsafe fn call(&self, index: usize) -> bool {
        // SAFETY: passed on.
        unsafe { self.threads.start(index) }
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

    /// What its fibers have in common.
    pub fn fiber_settings(&self) -> FiberSettings {
        self.fiber_settings
    }

    pub fn block_pool(&self) -> &BlockPool {
        &self.block_pool
    }

    pub fn worker(&self, index: usize) -> &'static Worker {
        self.workers[index]
    }

    pub(super) fn present_workers(&self) -> impl Iterator<Item = &'static Worker> + Clone {
        let there = |i: &usize| !self.threads.is_missing(*i);
        (0..self.workers()).filter(there).map(|i| self.worker(i))
    }

    /// What all workers did so far.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals { time: self.began.elapsed(), ..Totals::default() };
        for worker in self.present_workers() {
            totals.values.merge(worker.counters().values());
            totals.threads += 1;
        }
        totals.values.tasks += self.outside.load(Ordering::Relaxed);
        totals.threads_missing = self.workers() - totals.threads;
        totals
    }
}
