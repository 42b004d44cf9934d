//! All worker records: those at rest, and what becomes of them in a forked child.

use crate::fiber::overflow::On;
use crate::fiber::stack::StackCache;
use crate::fiber::{overflow, stack};
use crate::lock::mutex::Mutex;
use crate::policy::{Policy, TICK};
use crate::runtime::arg_blocks::BlockCache;
use crate::runtime::countdown::Countdown;
use crate::runtime::default_worker;
use crate::runtime::identity;
use crate::runtime::record::{BuiltIn, Fiber, Row, Run, WAKES_IN_TURN, Worker};
use crate::stats::report;
use crate::sys::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, Pad};
use crate::sys::float::FloatControl;
use crate::sys::memory::NoMemory;
use crate::sys::{memory, process};
use crate::threads::cache;
use crate::threads::handoff::Handoff;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use std::cell::{Cell, UnsafeCell};
use std::{hint, ptr};

/// Records kept at rest before one is used again.
const RESTING: usize = 64;

struct Registry {
    /// All records, linked by `next`; it only grows, at the head.
    all: AtomicPtr<Worker>,
    resting: Mutex<Resting>,
}

/// Records of no run, linked by `next_resting`.
struct Resting {
    oldest: *const Worker,
    youngest: *const Worker,
    count: usize,
}

// SAFETY: the records may be used by any thread.
unsafe impl Send for Resting {}

static REGISTRY: Registry =
    Registry { all: AtomicPtr::new(ptr::null_mut()), resting: Mutex::new(Resting::none()) };

impl Registry {
    fn add(&self, worker: &'static Worker) {
        let mut head = self.all.load(Ordering::Acquire);
        loop {
            worker.next_record.set(head);
            let new = ptr::from_ref(worker).cast_mut();
            // Release: whoever walks the list sees the record made.
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
        if self.count <= RESTING {
            return None;
        }
        // SAFETY: there is a record at rest, and records are never freed.
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
            // SAFETY: there is a record at rest, and records are never freed.
            unsafe { &*self.youngest }.next_resting.set(worker);
        }
        self.youngest = worker;
        self.count += 1;
    }
}

/// A record for one worker of a new run; goes back to rest when dropped.
pub struct Lease(&'static Worker);

impl Lease {
    pub fn new(row: &'static Row) -> Result<Lease, NoMemory> {
        if let Some(worker) = REGISTRY.resting.with(Resting::take) {
            return Ok(Lease(worker));
        }
        let place = memory::allocate::<Worker>()?;
        // SAFETY: room for a record, which is never freed.
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
                host_stack: Cell::new(ptr::null()),
                suspends_joins: Cell::new(false),
                float_control: Cell::new(FloatControl::get()),
                until_injector: Countdown::new(TICK),
                fiber: Cell::new(ptr::null()),
                child_fiber: Cell::new(ptr::null()),
                rng: UnsafeCell::new(SmallRng::seed_from_u64(0)),
                wakes_until_behind: Countdown::new(u32::MAX),
                outer_worker: Cell::new(ptr::null()),
                unbegun_join: AtomicPtr::new(ptr::null_mut()),
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

/// A child made by fork has one thread and the memory of all: no run of the parent's goes on
/// in it. Its records are closed there, so that an `s` of the parent's gives EINVAL, and the
/// child may start runs of its own.
///
/// The fork may come at any moment of other threads' work here, and no lock is held across it:
/// a program's own fork handlers may start runs, or hold locks that a starting run waits for.
/// So the child trusts only what is consistent at each moment (the list of all records) and
/// makes the rest anew.
pub fn watch_process() {
    process::watch(renew);
    static DONE: AtomicBool = AtomicBool::new(false);
    if !DONE.load(Ordering::Relaxed) {
        // SAFETY: functions of the right type, which stay mapped (the library is never
        // unloaded). Registered twice by two threads at once, it does no harm.
        unsafe { libc::pthread_atfork(Some(before_fork), None, Some(after_fork_in_child)) };
        cache::watch_exit();
        overflow::watch(find_stack);
        DONE.store(true, Ordering::Relaxed);
        hint::black_box(&UNLOAD); // so that the linker keeps it
    }
}

/// Called when a plugin that contains the library is unloaded, and at exit: `threads::cache` tells which.
#[used]
#[unsafe(link_section = ".fini_array")]
static UNLOAD: extern "C" fn() = unload;

extern "C" fn unload() {
    if cache::unload() {
        overflow::unload();
        stack::unload();
    }
}

/// Where the calling thread is, whose access to `address` has failed. In a signal handler: a thread-local
/// variable may have to be allocated at first use, in a library that was loaded by dlopen, so all records are
/// looked through.
fn find_stack(address: usize) -> Option<On> {
    let mut next: *const Worker = REGISTRY.all.load(Ordering::Acquire); // with `Lease::new`
    let mut found = None;
    // SAFETY: records are never freed.
    while let Some(worker) = unsafe { next.as_ref() } {
        // SAFETY: the calling thread's fiber; it is there from its beginning to its end.
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

unsafe extern "C" fn before_fork() {
    process::before_fork();
}

unsafe extern "C" fn after_fork_in_child() {
    process::after_fork_in_child();
    process::watch(renew); // does nothing if a run of a handler of the program's was first
}

/// All records that are there now.
fn all() -> impl Iterator<Item = &'static Worker> + Clone {
    // SAFETY: records are never freed.
    let get = |worker: *const Worker| unsafe { worker.as_ref() };
    let first = get(REGISTRY.all.load(Ordering::Acquire)); // with `Lease::new`
    std::iter::successors(first, move |worker| get(worker.next_record.get()))
}

/// To be called in a new process before anything else of the library's: see `process::watch`.
fn renew() {
    // SAFETY: as said, no other thread of this process uses them yet.
    unsafe {
        cache::renew();
        stack::renew(all().map(|worker| &worker.stacks));
        default_worker::renew();
    }
    identity::forget_sections();
    report::after_fork_in_child();
    let mut resting = Resting::none();
    for worker in all() {
        let deque = worker.built_in.load(Ordering::Relaxed);
        if !deque.is_null() {
            // SAFETY: the deque lives until `retire`.
            unsafe { &*deque }.abandon();
        }
        worker.spawn_owner.store(0, Ordering::Relaxed);
        worker.join_owner.store(0, Ordering::Relaxed);
        worker.owner.store(0, Ordering::Relaxed);
        worker.run_tag.store(0, Ordering::Relaxed);
        worker.handoff.forget();
        // SAFETY: as above.
        unsafe { worker.run_lock.reset(()) };
        resting.put(worker);
    }
    // SAFETY: as above.
    unsafe { REGISTRY.resting.reset(resting) };
}

// --- a run's use of a record ---

impl Worker {
    /// Makes the record worker `index` of a run.
    pub fn assign<P: Policy>(
        &self,
        index: usize,
        row: &'static Row,
        policy: &P,
        run: &Run,
        seed: u64,
    ) {
        self.block_cache.open(run.block_pool());
        let settings = run.fiber_settings();
        self.stacks.open(settings.stack_size);
        self.suspends_joins.set(settings.suspends_joins);
        self.float_control.set(settings.float_control);
        self.run.set(run);
        self.row.store(ptr::from_ref(row).cast_mut(), Ordering::Relaxed);
        let deque = policy.deque_of(index);
        let quick = deque.and_then(|deque| deque.downcast_ref::<BuiltIn>());
        let quick = quick.map_or(ptr::null(), ptr::from_ref);
        self.built_in.store(quick.cast_mut(), Ordering::Relaxed);
        self.policy.set(ptr::from_ref(policy).cast());
        self.policy_deque.set(deque.map_or(ptr::null(), |deque| ptr::from_ref(deque).cast()));
        self.waiting.set(policy.waiting(index).map_or(ptr::null(), ptr::from_ref));
        self.index.set(index);
        self.counters.clear();
        self.wakes_until_behind.set(WAKES_IN_TURN);
        self.unbegun_join.store(ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: no thread occupies the place yet.
        unsafe { *self.rng.get() = SmallRng::seed_from_u64(seed.wrapping_add(index as u64)) };
        // Release: pairs with with_open_run and index_in_run_of.
        self.run_tag.store(ptr::from_ref(policy).addr(), Ordering::Release);
    }

    /// The run has ended: from now on this record gives EINVAL.
    pub(super) fn retire(&self) {
        self.built_in.store(ptr::null_mut(), Ordering::Relaxed);
        self.run_lock.with(|()| self.run_tag.store(0, Ordering::Release)); // with `has_ended`
    }
}
