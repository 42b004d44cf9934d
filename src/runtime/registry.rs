//! All worker records: the resting ones, which new runs take, and their reset in a forked child.

use crate::fiber::overflow::{Hooks, On};
use crate::fiber::stack::free::StackCache;
use crate::fiber::{overflow, stack};
use crate::lock::mutex::Mutex;
use crate::policy::turns::Turns;
use crate::policy::{Policy, TICK};
use crate::profile;
use crate::runtime::arg_blocks::BlockCache;
use crate::runtime::countdown::Countdown;
use crate::runtime::record::{BuiltIn, Fiber, Row, Run, WAKES_IN_TURN, Worker};
use crate::runtime::{deadlines, default_worker, descriptors, identity, run_wait, waiter};
use crate::settings::Join;
use crate::stats::{file, report};
use crate::sync::crowd::CROWDS;
use crate::sync::{depend, pending};
use crate::sys::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, Pad};
use crate::sys::float::FloatControl;
use crate::sys::memory::NoMemory;
use crate::sys::{memory, output, process};
use crate::threads::handoff::Handoff;
use crate::threads::{cache, watcher};
use crate::trace::timeline;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use std::cell::{Cell, UnsafeCell};
use std::{hint, ptr};

/// A record is reused only while more records than this rest: stale `s` give EINVAL for a while.
const MIN_RESTING: usize = 64;

struct Registry {
    /// All records, linked by `next_record`. The list only grows, at its head.
    all: AtomicPtr<Worker>,
    resting: Mutex<Resting>,
}

/// The records that belong to no run, linked by `next_resting`.
struct Resting {
    oldest: *const Worker,
    youngest: *const Worker,
    count: usize,
}

// SAFETY: the pointers are to records, which any thread may use and which are never freed.
unsafe impl Send for Resting {}

#[unsafe(link_section = "sched_words")]
static REGISTRY: Registry =
    Registry { all: AtomicPtr::new(ptr::null_mut()), resting: Mutex::new(Resting::none()) };

impl Registry {
    fn add(&self, worker: &'static Worker) {
        let mut head = self.all.load(Ordering::Acquire);
        loop {
            worker.next_record.set(head);
            let new = ptr::from_ref(worker).cast_mut();
            // Release: pairs with the Acquire loads of `all`, which then see the new record.
            match self.all.compare_exchange(head, new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }
}

impl Resting {
    const fn none() -> Self {
        Resting { oldest: ptr::null(), youngest: ptr::null(), count: 0 }
    }

    fn take(&mut self) -> Option<&'static Worker> {
        if self.count <= MIN_RESTING {
            return None;
        }
        // SAFETY: at least one record rests, and records are never freed.
        let worker = unsafe { &*self.oldest };
        self.oldest = worker.next_resting.get();
        self.count -= 1;
        Some(worker)
    }

    fn put(&mut self, worker: &'static Worker) {
        worker.next_resting.set(ptr::null());
        if self.count == 0 {
            self.oldest = worker;
        } else {
            // SAFETY: as in `take`.
            unsafe { &*self.youngest }.next_resting.set(worker);
        }
        self.youngest = worker;
        self.count += 1;
    }
}

/// A record for one worker of a new run. When the lease is dropped, the record rests again.
pub struct Lease(&'static Worker);

impl Lease {
    pub fn new(row: &'static Row) -> Result<Lease, NoMemory> {
        if let Some(worker) = REGISTRY.resting.with(Resting::take) {
            return Ok(Lease(worker));
        }
        let place = memory::allocate::<Worker>()?;
        // SAFETY: the memory is new and has room for a record; it is never freed.
        let worker = unsafe {
            place.write(Worker {
                spawn_owner: AtomicUsize::new(0),
                join_owner: AtomicUsize::new(0),
                built_in: AtomicPtr::new(ptr::null_mut()),
                owner: AtomicUsize::new(0),
                row: AtomicPtr::new(ptr::from_ref(row).cast_mut()),
                policy: Cell::new(ptr::null()),
                policy_deque: Cell::new(ptr::null()),
                waiting: Cell::new(ptr::null()),
                index: Cell::new(0),
                run: Cell::new(ptr::null()),
                run_tag: AtomicUsize::new(0),
                run_lock: Mutex::new(()),
                counters: Pad::default(),
                block_cache: BlockCache::default(),
                stacks: StackCache::default(),
                watch: Cell::new(ptr::null()),
                host_stack: Cell::new(ptr::null()),
                join: Cell::new(Join::Suspend),
                float_control: Cell::new(FloatControl::get()),
                until_injector: Countdown::new(TICK),
                outside: Cell::new(ptr::null()),
                turns: Turns::default(),
                fiber: Cell::new(ptr::null()),
                child_fiber: Cell::new(ptr::null()),
                rng: UnsafeCell::new(SmallRng::seed_from_u64(0)),
                wakes_until_behind: Countdown::new(u32::MAX),
                ended_until_own: Countdown::new(TICK),
                past_loops: Pad::default(),
                outer_worker: Cell::new(ptr::null()),
                unbegun_join: AtomicPtr::new(ptr::null_mut()),
                begins: AtomicUsize::new(0),
                is_idle: AtomicBool::new(false),
                covers_deadline: Cell::new(false),
                handoff: Handoff::default(),
                next_record: Cell::new(ptr::null()),
                next_resting: Cell::new(ptr::null()),
            });
            &*place.as_ptr()
        };
        REGISTRY.add(worker);
        Ok(Lease(worker))
    }

    pub fn worker(&self) -> &'static Worker {
        self.0
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.0.retire();
        REGISTRY.resting.with(|resting| resting.put(self.0));
    }
}

// --- fork -------------------------------------------------------------------------------

/// Registers the library's handlers for forks, for exit, and for stack overflow.
///
/// A child made by fork has one thread, and a copy of the memory of all threads: no run of the
/// parent continues in the child. The child closes its copies of the worker records, so that an `s`
/// of the parent gives EINVAL there, and it may start runs of its own.
///
/// Other threads may be anywhere in this library at the moment of the fork. No lock is held across
/// the fork, because the program's own fork handlers may start runs, or hold locks that a starting
/// run waits for. So the child relies only on data that is consistent at each moment (the list of
/// all records), and resets everything else.
pub fn watch_process() {
    process::watch(reset_in_child);
    #[unsafe(link_section = "sched_words")]
    static DONE: AtomicBool = AtomicBool::new(false);
    if !DONE.load(Ordering::Relaxed) {
        // SAFETY: the functions have the right type, and glibc removes the handlers of a plugin
        // that is unloaded. It is harmless if two threads register them at once.
        unsafe { libc::pthread_atfork(Some(before_fork), None, Some(after_fork_in_child)) };
        cache::watch_exit();
        overflow::watch(Hooks { find: find_stack, begins_overwritten, ends: watcher::before_end });
        DONE.store(true, Ordering::Relaxed);
        hint::black_box(&UNLOAD); // so that the linker keeps it
    }
}

/// Called at exit, and when a plugin that contains the library is unloaded: see `threads::cache`.
#[used]
#[unsafe(link_section = ".fini_array")]
static UNLOAD: extern "C" fn() = unload;

extern "C" fn unload() {
    output::clear_line();
    timeline::write_open();
    if cache::unload() {
        overflow::unload();
        stack::free::unload();
        file::unload();
    }
}

/// Finds the stack of the calling thread whose access to `address` failed. This runs in a signal
/// handler, where thread-local variables are forbidden: in a library that was loaded by dlopen, the
/// first use of one may allocate it. So all records are searched instead.
fn find_stack(address: usize) -> Option<On> {
    let mut next: *const Worker = REGISTRY.all.load(Ordering::Acquire); // pairs with `add`
    let mut found = None;
    // SAFETY: records are never freed.
    while let Some(worker) = unsafe { next.as_ref() } {
        // SAFETY: the calling thread occupies the worker, whose `fiber` is null or a fiber in use.
        let fiber = worker.is_mine().then(|| unsafe { worker.fiber.get().as_ref() }).flatten();
        match fiber.map(Fiber::stack) {
            Some(Some(stack)) if found.is_none() || stack.guards(address) => {
                found = Some(On::Stack(stack));
            }
            Some(None) if found.is_none() => found = Some(On::ThreadStack),
            _ => {}
        }
        next = worker.next_record.get();
    }
    found.or_else(|| Some(On::Stack(identity::current_fiber_in_handler()?.stack()?)))
}

/// See `Worker::begins_overwritten`. Called in a signal handler, like `find_stack`.
fn begins_overwritten(at: usize, address: usize) -> bool {
    all_records().any(|worker| worker.is_mine() && worker.begins_overwritten(at, address))
}

unsafe extern "C" fn before_fork() {
    process::before_fork();
}

unsafe extern "C" fn after_fork_in_child() {
    process::after_fork_in_child();
    // Does nothing if a fork handler of the program has started a run already.
    process::watch(reset_in_child);
}

#[unsafe(link_section = "sched_words")]
static RUNS: AtomicUsize = AtomicUsize::new(0);

/// Counts a run whose records have all been assigned. None of its threads has begun.
pub(super) fn run_is_ready() {
    RUNS.fetch_add(1, Ordering::SeqCst); // SeqCst: pairs with `runs_made`
}

/// How many runs have become ready so far. If the number is the same at two moments, a walk of the
/// records after the first moment finds all runs that have threads at the second.
pub fn runs_made() -> usize {
    RUNS.load(Ordering::SeqCst)
}

/// The address of the first of all records, for a debugger.
pub const fn first_record() -> *const () {
    (&raw const REGISTRY.all).cast()
}

pub fn all_records() -> impl Iterator<Item = &'static Worker> + Clone {
    // SAFETY: records are never freed.
    let get = |worker: *const Worker| unsafe { worker.as_ref() };
    let first = get(REGISTRY.all.load(Ordering::Acquire)); // pairs with `add`
    std::iter::successors(first, move |worker| get(worker.next_record.get()))
}

/// Calls `look` with each run that has not ended. The caller holds no lock of a run.
pub fn each_run(look: &mut dyn FnMut(&Run)) {
    all_records().filter(|worker| !worker.has_ended()).for_each(|worker| {
        worker.with_run_of_first(look);
    });
}

/// Resets everything in a child made by fork, before the child uses it: see `process::watch`.
fn reset_in_child() {
    // SAFETY: no other thread of this process uses this library yet.
    unsafe {
        cache::renew();
        watcher::renew();
        stack::free::renew(all_records().map(|worker| &worker.stacks));
        default_worker::renew();
        run_wait::forget();
        deadlines::forget();
        descriptors::forget();
        CROWDS.forget();
        depend::forget();
        pending::forget();
    }
    identity::forget_sections();
    waiter::forget_threads();
    // A stack that was in use stays in use in the child, but its task belongs to the parent.
    stack::for_each(|stack| Fiber::wait_on(stack).forget());
    output::forget_line();
    report::after_fork_in_child();
    profile::report::after_fork_in_child();
    timeline::after_fork_in_child();
    let mut resting = Resting::none();
    for worker in all_records() {
        let deque = worker.built_in.load(Ordering::Relaxed);
        if !deque.is_null() {
            // SAFETY: the deque lives until `retire`, which sets the pointer to null.
            unsafe { &*deque }.abandon();
        }
        worker.spawn_owner.store(0, Ordering::Relaxed);
        worker.join_owner.store(0, Ordering::Relaxed);
        worker.owner.store(0, Ordering::Relaxed);
        worker.run_tag.store(0, Ordering::Relaxed);
        worker.handoff.forget();
        // SAFETY: no other thread of this process uses the lock yet.
        unsafe { worker.run_lock.reset(()) };
        resting.put(worker);
    }
    // SAFETY: as above.
    unsafe { REGISTRY.resting.reset(resting) };
}

// --- how a run uses a record -------------------------------------------------------------

impl Worker {
    /// Makes this record the worker `index` of a run. The run has not started.
    pub fn assign<P: Policy>(
        &self,
        index: usize,
        row: &'static Row,
        policy: &P,
        run: &Run,
        seed: u64,
    ) {
        self.block_cache.reset(&run.block_pool);
        self.stacks.open(run.stack_size, row.calls_at_once);
        self.join.set(run.config.join);
        self.float_control.set(run.threads.terms().float());
        self.run.set(run);
        self.row.store(ptr::from_ref(row).cast_mut(), Ordering::Relaxed);
        let deque = policy.deque_of(index);
        let built_in = deque.and_then(|deque| deque.downcast_ref::<BuiltIn>());
        let built_in = built_in.map_or(ptr::null(), ptr::from_ref);
        self.built_in.store(built_in.cast_mut(), Ordering::Relaxed);
        self.policy.set(ptr::from_ref(policy).cast());
        self.policy_deque.set(deque.map_or(ptr::null(), |deque| ptr::from_ref(deque).cast()));
        self.waiting.set(policy.waiting(index).map_or(ptr::null(), ptr::from_ref));
        self.outside.set(policy.outside(index).map_or(ptr::null(), ptr::from_ref));
        self.turns.end();
        self.index.set(index);
        self.watch.set(run.watch(index).map_or(ptr::null(), ptr::from_ref));
        self.is_idle.store(index > 0, Ordering::Relaxed);
        self.counters.clear();
        self.wakes_until_behind.set(WAKES_IN_TURN);
        self.unbegun_join.store(ptr::null_mut(), Ordering::Relaxed);
        self.begins.store(0, Ordering::Relaxed);
        // SAFETY: no thread occupies this worker yet, so nobody uses its random numbers.
        unsafe { *self.rng.get() = SmallRng::seed_from_u64(seed.wrapping_add(index as u64)) };
        // Release: pairs with the Acquire loads in `with_open_run` and `index_in_run_of`, which
        // then see the fields of this run.
        self.run_tag.store(ptr::from_ref(policy).addr(), Ordering::Release);
    }

    /// Closes the record when its run has ended: from now on a call with this `s` gives EINVAL.
    pub(super) fn retire(&self) {
        self.built_in.store(ptr::null_mut(), Ordering::Relaxed);
        self.outside.set(ptr::null());
        self.run_lock.with(|()| self.run_tag.store(0, Ordering::Release)); // pairs with `has_ended`
    }
}
