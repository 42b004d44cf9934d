//! Free stacks.
//!
//! A new stack takes some microseconds and page faults, so stacks are kept. Each worker keeps some;
//! the last one used is the first one taken. When a worker has too many, or its run ends, they go
//! to the process's store, where all but a few return their pages to the system.
//!
//! In kind `cont` a deep recursion has a stack for each level. When a thief has taken a spawner,
//! the worker that ran the spawner's child is soon out of tasks, and gives the stacks of the lower
//! levels to the store; the next recursion needs as many. So during a run of that kind the store
//! keeps thousands of stacks with their pages. The store is trimmed when no task is left: at the
//! end of the run, or when all workers are idle. Rejected: to trim the store at each return; UTS T3
//! on two workers then spent a seventh of its time in mmap, munmap and madvise.

use super::{Stack, YOUNGEST};
use crate::fiber::{limit, space};
use crate::lock::mutex::Mutex;
use crate::sys::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sys::memory::NoMemory;
use crate::sys::{detector, output};
use std::cell::Cell;
use std::ptr;

/// Free stacks, linked by `next`.
#[derive(Default)]
struct FreeList(Option<Stack>);

impl FreeList {
    fn pop(&mut self) -> Option<Stack> {
        let stack = self.0?;
        self.0 = stack.record().next.take();
        Some(stack)
    }

    fn push(&mut self, stack: Stack) {
        stack.record().next.set(self.0.replace(stack));
    }

    /// Unmaps the stacks, which were in the store, or meant for it. The stacks of a deep recursion
    /// are mostly neighbours, so few calls unmap them. (Each call interrupts the other threads, and
    /// the end of the run waits for it.)
    fn unmap_all(&mut self) {
        let mut mappings = [(ptr::null_mut(), 0); UNMAPPED_AT_ONCE];
        while self.0.is_some() {
            let mut count = 0;
            while count < UNMAPPED_AT_ONCE {
                let Some(stack) = self.pop() else { break };
                // SAFETY: nobody uses a stack of the store.
                mappings[count] = unsafe { stack.retire() };
                count += 1;
            }
            mappings[..count].sort_unstable();
            for neighbours in
                mappings[..count].chunk_by(|&(low, size), next| low.wrapping_add(size) == next.0)
            {
                let bytes = neighbours.iter().map(|&(_, size)| size).sum();
                // SAFETY: these are whole mappings, one after the other, and their stacks are
                // retired.
                unsafe { space::unmap(neighbours[0].0, bytes) };
            }
        }
    }
}

/// Free stacks, an array of which the first `count` are in use; the last one used is taken first.
/// The array must be consistent after each instruction of its owner, because a fork may copy it
/// between any two of these instructions.
#[repr(C)]
struct FreeArray<const N: usize> {
    /// Atomic only for the order of its stores.
    count: AtomicUsize,
    stacks: [Cell<Option<Stack>>; N],
}

impl<const N: usize> FreeArray<N> {
    const fn new() -> Self {
        FreeArray { count: AtomicUsize::new(0), stacks: [const { Cell::new(None) }; N] }
    }

    #[inline(always)]
    fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn pop(&self) -> Option<Stack> {
        let last = self.count().checked_sub(1)?;
        self.count.store(last, Ordering::Relaxed);
        self.stacks[last].get()
    }

    /// # Safety
    /// The array holds fewer than N stacks.
    #[inline(always)]
    unsafe fn push(&self, stack: Stack) {
        let count = self.count();
        // SAFETY: `count` is less than N.
        unsafe { self.stacks.get_unchecked(count) }.set(Some(stack));
        // Release: a child of fork whose `renew` sees the new count also sees the stack.
        self.count.store(count + 1, Ordering::Release);
    }
}

/// The most stacks in the store. Further ones are unmapped.
const MOST_STORED: usize = 4096;
/// The most stacks in the store after `trim`, and at any time in kinds other than `cont`. Of these,
/// `KEPT_WITH_PAGES` keep their pages.
const MOST_KEPT: usize = 256;
const KEPT_WITH_PAGES: usize = 64;
/// The most mappings of stacks that are sorted and joined before they are unmapped.
const UNMAPPED_AT_ONCE: usize = 256;
/// The most stacks that a worker keeps.
const MOST_CACHED: usize = 16;

/// The process's free stacks, all of one size.
struct Store {
    free: FreeArray<MOST_STORED>,
    size: usize,
    /// True once the library is unloaded: the store then keeps no stack.
    is_closed: bool,
}

impl Store {
    /// Adds a free stack of the store's size. Returns the stack if the store has `most` stacks, or
    /// is closed.
    fn push(&self, stack: Stack, most: usize) -> Option<Stack> {
        if self.is_closed || self.free.count() >= most {
            return Some(stack);
        }
        // SAFETY: the store holds fewer than `most`, which is at most `MOST_STORED`.
        unsafe { self.free.push(stack) };
        None
    }
}

// Not in the section `sched_words`, whose bytes lie in the library's file, because this static is
// large. `fetch` tells race detectors that the static is the library's.
static STORE: Mutex<Store> =
    Mutex::new(Store { free: FreeArray::new(), size: 0, is_closed: false });

/// True if the store may hold more than `MOST_KEPT` stacks. Relaxed: a hint for `trim`, which looks
/// at the store itself under the lock; two callers that trim at once do no harm.
#[unsafe(link_section = "sched_words")]
static HAS_SURPLUS: AtomicBool = AtomicBool::new(false);

/// Brings the store down to `MOST_KEPT` stacks, of which `KEPT_WITH_PAGES` keep their pages.
pub fn trim() {
    if !HAS_SURPLUS.load(Ordering::Relaxed) {
        return;
    }
    HAS_SURPLUS.store(false, Ordering::Relaxed);
    let (mut emptied, mut outdated) = (FreeList::default(), FreeList::default());
    let size = STORE.with(|store| {
        while store.free.count() > MOST_KEPT {
            store.free.pop().into_iter().for_each(|stack| outdated.push(stack));
        }
        while store.free.count() > KEPT_WITH_PAGES {
            store.free.pop().into_iter().for_each(|stack| emptied.push(stack));
        }
        store.size
    });
    while let Some(stack) = emptied.pop() {
        stack.discard_pages();
        // A run with stacks of another size may have begun in the meantime.
        let push = |store: &mut Store| {
            if store.size == size { store.push(stack, MOST_KEPT) } else { Some(stack) }
        };
        STORE.with(push).into_iter().for_each(|stack| outdated.push(stack));
    }
    outdated.unmap_all();
}

/// Called in the child of a fork: makes the stacks that nobody used the child's own. `caches` are
/// the caches of all workers.
///
/// A child's memory is the parent's memory at one moment: a parent's thread that writes to a page
/// which fork has already copied waits until the fork is over. So each array is as its owner's last
/// instruction left it. Stacks that were in use at that moment stay mapped: the child may be
/// running on one of them.
///
/// # Safety
/// No other thread of this process uses stacks before this returns.
pub unsafe fn renew<'a>(caches: impl Iterator<Item = &'a StackCache> + Clone) {
    // SAFETY: no other thread uses the lists; one that held a lock exists only in the parent.
    unsafe {
        STORE.force_unlock();
        YOUNGEST.force_unlock();
    }
    YOUNGEST.with(|youngest| youngest.link_back());
    let in_caches: usize = caches.clone().map(|cache| cache.free.count()).sum();
    limit::renew(in_caches + STORE.with(|store| store.free.count()));
    let here = ptr::from_ref(&in_caches) as usize;
    for cache in caches {
        while let Some(stack) = cache.free.pop() {
            // A signal handler may have forked on a stack that was in a cache but not left yet.
            if !stack.holds(here) {
                // SAFETY: other threads that may have been on the stack exist only in the parent.
                unsafe { cache.store(stack) };
            }
        }
    }
}

/// Called when the library is unloaded: unmaps the kept stacks, and keeps no more.
pub fn unload() {
    STORE.with(|store| store.is_closed = true);
    let mut outdated = FreeList::default();
    while let Some(stack) = STORE.with(|store| store.free.pop()) {
        outdated.push(stack);
    }
    outdated.unmap_all();
}

/// A worker's free stacks. Only the worker's own thread uses them.
#[repr(C)]
pub struct StackCache {
    size: Cell<usize>,
    /// True in runs in which a deep recursion has a stack for each level: kind `cont`.
    nests: Cell<bool>,
    free: FreeArray<MOST_CACHED>,
}

/// Says, once in the life of the process, that no stack of this size is left for a task that waits,
/// or for a task that could run in the meantime. Tasks then run on top of each other, and a task
/// that waits for a task below it waits forever; without this message nobody would know why.
#[cold]
fn say_none(size: usize) {
    #[unsafe(link_section = "sched_words")]
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Ordering::Relaxed) {
        output::say(format_args!(
            "no stack of {} KiB is left for a task that waits: others run on top of it, and it \
             resumes after them; SCHED_STACK makes stacks smaller",
            size >> 10
        ));
    }
}

impl Default for StackCache {
    fn default() -> Self {
        StackCache { size: Cell::new(0), nests: Cell::new(false), free: FreeArray::new() }
    }
}

impl StackCache {
    /// Prepares the empty cache for a run with stacks of this size. `nests` is explained at the
    /// field.
    pub fn open(&self, size: usize, nests: bool) {
        self.size.set(size);
        self.nests.set(nests);
    }

    /// A stack that nobody uses, from the cache, the store or the system.
    #[inline]
    pub fn take(&self) -> Result<Stack, NoMemory> {
        self.free.pop().map_or_else(|| self.fetch(), Ok)
    }

    #[cold]
    fn fetch(&self) -> Result<Stack, NoMemory> {
        let size = self.size.get();
        detector::own(&STORE);
        let stored = STORE.with(|store| if store.size == size { store.free.pop() } else { None });
        stored.inspect(|stack| detector::acquire(stack.record())); // pairs with `store`
        stored.map_or_else(|| Stack::new(size).inspect_err(|NoMemory| say_none(size)), Ok)
    }

    #[inline]
    pub fn pop(&self) -> Option<Stack> {
        self.free.pop()
    }

    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.free.count() >= MOST_CACHED
    }

    /// # Safety
    /// The stack comes from this run's caches, and this cache is not full. The caller may be on the
    /// stack if it leaves it before the cache's next use.
    #[inline(always)]
    pub unsafe fn put(&self, stack: Stack) {
        // SAFETY: the cache is not full.
        unsafe { self.free.push(stack) };
    }

    /// Moves one stack to the store.
    ///
    /// # Safety
    /// No thread is on the cache's stacks. (The caller may be on a stack that it puts afterwards.)
    #[cold]
    #[inline(never)]
    pub unsafe fn move_one_to_store(&self) {
        if let Some(stack) = self.pop() {
            // SAFETY: the stack comes from this cache, and no thread is on it.
            unsafe { self.store(stack) };
        }
    }

    /// # Safety
    /// The stack comes from this run's caches, and no thread is on it.
    #[cold]
    unsafe fn store(&self, stack: Stack) {
        let size = self.size.get();
        let most = if self.nests.get() && !limit::is_scarce() { MOST_STORED } else { MOST_KEPT };
        let mut outdated = FreeList::default();
        detector::release(stack.record()); // pairs with `fetch`
        STORE.with(|store| {
            if store.size != size {
                while let Some(stack) = store.free.pop() {
                    outdated.push(stack);
                }
                store.size = size;
            }
            if most == MOST_KEPT && store.free.count() >= KEPT_WITH_PAGES {
                // Rare: this many stacks are free at once only after many tasks have waited.
                stack.discard_pages();
            }
            if let Some(stack) = store.push(stack, most) {
                outdated.push(stack);
            }
            if store.free.count() > MOST_KEPT {
                HAS_SURPLUS.store(true, Ordering::Relaxed);
            }
        });
        outdated.unmap_all();
    }

    /// Called when the run has ended: moves all stacks to the store.
    ///
    /// # Safety
    /// No thread is on a stack of the cache.
    pub unsafe fn close(&self) {
        while let Some(stack) = self.free.pop() {
            // SAFETY: the stack comes from this cache, and no thread is on it.
            unsafe { self.store(stack) };
        }
    }
}
