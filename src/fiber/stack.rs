//! Stacks for tasks.
//!
//! # Layout
//!
//! ```text
//! low                                                                       high
//!  | guard | ......................... room, grows down <-- | StackRecord | offset |
//! ```
//! A stack is address space that is committed when it is touched ([`super::space`]). Its lowest
//! pages are a guard. The *record* contains what the library knows of the stack. The *offset* is up
//! to some 2 KiB and differs from stack to stack, so that the busy ends of many stacks do not
//! compete for the same places in a cache.
//!
//! A new stack takes some microseconds and page faults, so stacks are kept. Each worker keeps some;
//! the last one used is the first one taken. When a worker has too many, or its run ends, they go
//! to the process's store, where all but a few return their pages to the system.
//!
//! In kind `cont` a deep recursion has a stack for each level. When a thief has taken the spawner,
//! the worker below is soon out of tasks, and gives the stacks of the levels below to the store;
//! the next recursion needs as many. So during a run of that kind the store keeps thousands of
//! stacks as they are. It is trimmed when no task is left: at the end of the run, or when all
//! workers are idle. (Trimmed at each return instead, UTS T3 on two workers spent a seventh of its
//! time in mmap, munmap and madvise.)

use crate::fiber::sanitizers::SanitizerState;
use crate::fiber::valgrind::Registered;
use crate::fiber::{limit, space, valgrind};
use crate::lock::mutex::Mutex;
use crate::sys::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sys::memory::{NoMemory, page_size};
use std::cell::Cell;
use std::ptr::{self, NonNull};

/// The record of a stack; it lies just above the stack's room.
#[repr(C, align(64))]
pub struct StackRecord {
    low: *mut u8,
    /// The size of the whole mapping in bytes.
    size: usize,
    next: Cell<Option<Stack>>,
    registered: Registered,
    sanitizers: SanitizerState,
}

/// A stack. Its owner may run on it, or give it back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Stack(NonNull<StackRecord>);

// SAFETY: a stack is memory that is passed from one owner to the next.
unsafe impl Send for Stack {}

/// The offset of the `n`-th stack. The busy ends of three consecutive stacks, which a task and its
/// children may use, share no addresses within a page: such a shared address would delay loads
/// after stores (4 KiB aliasing).
const fn offset(n: usize) -> usize {
    n % 3 * 832 + n / 3 % 8 * 64
}

/// The guard's size in bytes. A frame larger than this may skip the guard.
const GUARD: usize = 64 << 10;

pub(super) fn guard() -> usize {
    GUARD.next_multiple_of(page_size())
}

impl Stack {
    /// A new stack of at least `size` bytes, with a guard below.
    #[cold]
    pub fn new(size: usize) -> Result<Stack, NoMemory> {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let (page, guard) = (page_size(), guard());
        let bytes = size.checked_add(guard + 4096).ok_or(NoMemory)?.next_multiple_of(page);
        limit::count_in(bytes)?;
        let low = space::map(bytes, guard).inspect_err(|NoMemory| limit::count_out())?;
        let offset = offset(MADE.fetch_add(1, Ordering::Relaxed));
        let top = low.wrapping_add(bytes - offset - size_of::<StackRecord>());
        let record = top.cast::<StackRecord>();
        let registered = valgrind::register(low as usize, low as usize + bytes);
        // SAFETY: the record lies at the end of our own mapping; it is aligned, because pages are.
        unsafe {
            let sanitizers =
                SanitizerState::of(low as usize + guard, top as usize - low as usize - guard);
            record.write(StackRecord {
                low,
                size: bytes,
                next: Cell::new(None),
                registered,
                sanitizers,
            });
            Ok(Stack(NonNull::new_unchecked(record)))
        }
    }

    fn record(&self) -> &StackRecord {
        // SAFETY: the record lives as long as the stack.
        unsafe { self.0.as_ref() }
    }

    /// The address from which the stack grows down; aligned to 64.
    #[inline(always)]
    pub fn top(self) -> *mut u8 {
        self.0.as_ptr().cast()
    }

    /// True if a fault at this address is an overflow of this stack.
    pub fn guards(self, address: usize) -> bool {
        let low = self.record().low as usize;
        (low..low + guard()).contains(&address)
    }

    fn holds(self, address: usize) -> bool {
        (self.record().low as usize..self.top() as usize).contains(&address)
    }

    /// The stack as the sanitizers know it.
    pub fn sanitizer_state(&self) -> &SanitizerState {
        &self.record().sanitizers
    }

    /// The lowest address of the mapping, which is in the guard.
    pub fn low(self) -> usize {
        self.record().low.addr()
    }

    /// The room for tasks in bytes.
    pub fn room(self) -> usize {
        self.top() as usize - self.record().low as usize - guard()
    }

    /// # Safety
    /// No thread is on the stack.
    unsafe fn unmap(self) {
        let StackRecord { low, size, registered, .. } = *self.record();
        registered.forget();
        self.sanitizer_state().end();
        // SAFETY: `new` made the mapping; by the caller's promise nobody uses it any more.
        unsafe { space::unmap(low, size) };
        limit::count_out();
    }

    /// Returns the stack's pages to the system, except for the highest ones.
    fn discard_pages(self) {
        let low = self.record().low.wrapping_add(guard());
        let bytes = self.record().size.saturating_sub(guard() + 2 * page_size());
        // SAFETY: this is the part of the stack above the guard, and no thread is on the stack.
        unsafe { space::discard(low, bytes) };
    }
}

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

    /// Unmaps the stacks, which were in the store, or meant for it.
    fn unmap_all(&mut self) {
        while let Some(stack) = self.pop() {
            // SAFETY: nobody uses a stack of the store.
            unsafe { stack.unmap() };
        }
    }
}

/// Free stacks, an array of which the first `count` are in use; the last one used is taken first.
/// The array must be consistent after each instruction of its owner, because a fork may copy it
/// between any two of these instructions.
#[repr(C)]
struct FreeArray<const N: usize> {
    /// An atomic only for the order of its stores.
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
        // SAFETY: by the caller's promise `count` is less than N.
        unsafe { self.stacks.get_unchecked(count) }.set(Some(stack));
        // Release: pairs with `renew`; the stack is stored first.
        self.count.store(count + 1, Ordering::Release);
    }
}

/// The most stacks in the store. Further ones are unmapped.
const MOST_STORED: usize = 4096;
/// The most stacks in the store after `trim`, and in kinds that do not nest; and how many of these
/// keep their pages.
const MOST_KEPT: usize = 256;
const KEPT_WITH_PAGES: usize = 64;
/// The most stacks that a worker keeps.
const MOST_CACHED: usize = 16;

/// The process's free stacks, all of one size.
struct Store {
    free: FreeArray<MOST_STORED>,
    size: usize,
    /// True once the library is unloaded: no stack is kept any more.
    is_closed: bool,
}

impl Store {
    /// Adds a free stack of the store's size; returns it if the store has `most` stacks already, or
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

static STORE: Mutex<Store> =
    Mutex::new(Store { free: FreeArray::new(), size: 0, is_closed: false });

/// True if the store may hold more than `MOST_KEPT` stacks. Relaxed: a hint for `trim`, which looks
/// at the store itself under the lock; two callers that trim at once do no harm.
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
        // A run with stacks of another size may have begun meanwhile.
        let push = |store: &mut Store| {
            if store.size == size { store.push(stack, MOST_KEPT) } else { Some(stack) }
        };
        STORE.with(push).into_iter().for_each(|stack| outdated.push(stack));
    }
    outdated.unmap_all();
}

/// In the child of a fork: the stacks that nobody used are the child's own. `caches` are those of
/// all workers.
///
/// A child's memory is that of the parent at one moment: a parent's thread that writes to a page
/// which fork has already copied waits until the fork is over, and does nothing meanwhile. So each
/// array is as its owner's last instruction left it. Stacks that were in use at that moment stay
/// mapped: the child may be running on one of them.
///
/// # Safety
/// No other thread of this process uses stacks before this returns.
pub unsafe fn renew<'a>(caches: impl Iterator<Item = &'a StackCache> + Clone) {
    // SAFETY: by the caller's promise; a thread that held the lock exists only in the parent.
    unsafe { STORE.force_unlock() };
    let in_caches: usize = caches.clone().map(|cache| cache.free.count()).sum();
    limit::renew(in_caches + STORE.with(|store| store.free.count()));
    let here = ptr::from_ref(&in_caches) as usize;
    for cache in caches {
        while let Some(stack) = cache.free.pop() {
            // A signal handler may have forked on a stack that was already in a cache, but that its
            // thread had not left yet.
            if !stack.holds(here) {
                // SAFETY: the other threads that may have been on this stack exist only in the
                // parent.
                unsafe { cache.store(stack) };
            }
        }
    }
}

/// The object that contains the library is unloaded: unmaps the kept stacks, and keeps no more.
pub fn unload() {
    STORE.with(|store| store.is_closed = true);
    while let Some(stack) = STORE.with(|store| store.free.pop()) {
        // SAFETY: the stack was in the store, so nobody uses it.
        unsafe { stack.unmap() };
    }
}

/// A worker's free stacks. Only the worker's own thread uses them.
#[repr(C)]
pub struct StackCache {
    size: Cell<usize>,
    /// True in runs in which a deep recursion has a stack for each level: kind `cont`.
    nests: Cell<bool>,
    free: FreeArray<MOST_CACHED>,
}

impl Default for StackCache {
    fn default() -> Self {
        StackCache { size: Cell::new(0), nests: Cell::new(false), free: FreeArray::new() }
    }
}

impl StackCache {
    /// Prepares the empty cache for a run with stacks of this size. `nests`: see the field.
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
        let stored = STORE.with(|store| if store.size == size { store.free.pop() } else { None });
        stored.map_or_else(|| Stack::new(size), Ok)
    }

    /// A stack from this cache, if it has one.
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
        // SAFETY: by the caller's promise the cache is not full.
        unsafe { self.free.push(stack) };
    }

    /// Moves one stack to the store.
    ///
    /// # Safety
    /// No thread is on the cache's stacks, except for the caller as in `put`.
    #[cold]
    #[inline(never)]
    pub unsafe fn move_one_to_store(&self) {
        if let Some(stack) = self.pop() {
            // SAFETY: the stack comes from this run's caches, and by the caller's promise no thread
            // uses it.
            unsafe { self.store(stack) };
        }
    }

    /// # Safety
    /// As for `put`.
    #[cold]
    unsafe fn store(&self, stack: Stack) {
        let size = self.size.get();
        let most = if self.nests.get() && !limit::is_scarce() { MOST_STORED } else { MOST_KEPT };
        let mut outdated = FreeList::default();
        STORE.with(|store| {
            if store.size != size {
                while let Some(stack) = store.free.pop() {
                    outdated.push(stack);
                }
                store.size = size;
            }
            if most == MOST_KEPT && store.free.count() >= KEPT_WITH_PAGES {
                // Rare: so many stacks are free at once only after many tasks have waited.
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

    /// The run has ended: moves all stacks to the store.
    ///
    /// # Safety
    /// No thread is on a stack of the cache.
    pub unsafe fn close(&self) {
        while let Some(stack) = self.free.pop() {
            // SAFETY: by the caller's promise no thread is on the stack.
            unsafe { self.store(stack) };
        }
    }
}
