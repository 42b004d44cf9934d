//! Stacks for tasks.
//!
//! # Layout
//!
//! ```text
//! low                                                                     high
//!  | guard | ......................... room, grows down <-- | Foot | colour |
//! ```
//! A stack is address space, committed as it is touched ([`super::space`]). Its lowest pages are a guard. *Foot*
//! is what the library knows of the stack. *Colour*: up to some 2 KiB, other for each stack, so that
//! the hot ends of many do not compete for the same places in a cache.
//!
//! A new one takes some microseconds and page faults; so they are kept: by each worker, last used, first
//! taken, and when it has too many or the run ends, in the process's store, where all but a few give
//! their pages back.

use crate::fiber::limit::page;
use crate::fiber::sanitizers::SanitizerState;
use crate::fiber::valgrind::Registered;
use crate::fiber::{limit, space, valgrind};
use crate::lock::mutex::Mutex;
use crate::sys::atomic::{AtomicUsize, Ordering};
use crate::sys::memory::NoMemory;
use std::cell::Cell;
use std::ptr::{self, NonNull};

/// Above where a stack begins.
#[repr(C, align(64))]
pub struct Foot {
    low: *mut u8,
    /// Bytes of the whole.
    size: usize,
    next: Cell<Option<Stack>>,
    registered: Registered,
    sanitizers: SanitizerState,
}

/// A stack; whoever has it may run on it, or give it back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Stack(NonNull<Foot>);

// SAFETY: it is memory, and passed from one owner to the next.
unsafe impl Send for Stack {}

/// That of the stack made as number `n`: the hot ends of three in a row, where a task and its children are, perhaps,
/// share no addresses within a page; loads are held up by stores to such (4 KiB aliasing).
const fn colour(n: usize) -> usize {
    n % 3 * 832 + n / 3 % 8 * 64
}

/// Bytes below the room: a frame that is larger may miss them.
const GUARD: usize = 64 << 10;

pub(super) fn guard() -> usize {
    GUARD.next_multiple_of(page())
}

impl Stack {
    /// At least `size` bytes, and a guard below.
    #[cold]
    pub fn new(size: usize) -> Result<Stack, NoMemory> {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let (page, guard) = (page(), guard());
        let bytes = size.checked_add(guard + 4096).ok_or(NoMemory)?.next_multiple_of(page);
        limit::count_in(bytes)?;
        let low = space::map(bytes, guard).inspect_err(|NoMemory| limit::count_out())?;
        let colour = colour(MADE.fetch_add(1, Ordering::Relaxed));
        let top = low.wrapping_add(bytes - colour - size_of::<Foot>());
        let foot = top.cast::<Foot>();
        let registered = valgrind::register(low as usize, low as usize + bytes);
        // SAFETY: the end of our own mapping, aligned: pages are.
        unsafe {
            let sanitizers =
                SanitizerState::of(low as usize + guard, top as usize - low as usize - guard);
            foot.write(Foot { low, size: bytes, next: Cell::new(None), registered, sanitizers });
            Ok(Stack(NonNull::new_unchecked(foot)))
        }
    }

    fn foot(&self) -> &Foot {
        // SAFETY: it is there as long as the stack.
        unsafe { self.0.as_ref() }
    }

    /// Where it begins to grow down: aligned to 64.
    #[inline(always)]
    pub fn top(self) -> *mut u8 {
        self.0.as_ptr().cast()
    }

    /// True if a fault at this address is an overflow of this stack.
    pub fn guards(self, address: usize) -> bool {
        let low = self.foot().low as usize;
        (low..low + guard()).contains(&address)
    }

    fn holds(self, address: usize) -> bool {
        (self.foot().low as usize..self.top() as usize).contains(&address)
    }

    /// As the sanitizers know it.
    pub fn sanitizer_state(&self) -> &SanitizerState {
        &self.foot().sanitizers
    }

    /// Where its memory begins, the guard included.
    pub fn low(self) -> usize {
        self.foot().low.addr()
    }

    /// Room for tasks, in bytes.
    pub fn room(self) -> usize {
        self.top() as usize - self.foot().low as usize - guard()
    }

    /// # Safety
    /// Nobody is on it.
    unsafe fn free(self) {
        let Foot { low, size, registered, .. } = *self.foot();
        registered.forget();
        self.sanitizer_state().end();
        // SAFETY: made by `new`, and by the caller's promise not used any more.
        unsafe { space::unmap(low, size) };
        limit::count_out();
    }

    /// Gives its pages back, but for the highest ones.
    fn cool(self) {
        let low = self.foot().low.wrapping_add(guard());
        let bytes = self.foot().size.saturating_sub(guard() + 2 * page());
        // SAFETY: the part of the stack above the guard, on which nobody is.
        unsafe { space::discard(low, bytes) };
    }
}

/// Free stacks, linked by `next`.
#[derive(Default)]
struct Pile(Option<Stack>);

impl Pile {
    fn pop(&mut self) -> Option<Stack> {
        let stack = self.0?;
        self.0 = stack.foot().next.take();
        Some(stack)
    }

    fn push(&mut self, stack: Stack) {
        stack.foot().next.set(self.0.replace(stack));
    }
}

/// Free stacks, the last used first: those below `count`, at any moment of its owner's work, since a forked child
/// has a copy of one moment.
#[repr(C)]
struct Shelf<const N: usize> {
    /// Atomic for the order of its stores alone.
    count: AtomicUsize,
    stacks: [Cell<Option<Stack>>; N],
}

impl<const N: usize> Shelf<N> {
    const fn new() -> Self {
        Shelf { count: AtomicUsize::new(0), stacks: [const { Cell::new(None) }; N] }
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
    /// There are fewer than N.
    #[inline(always)]
    unsafe fn push(&self, stack: Stack) {
        let count = self.count();
        // SAFETY: by the caller's promise.
        unsafe { self.stacks.get_unchecked(count) }.set(Some(stack));
        self.count.store(count + 1, Ordering::Release); // with `renew`: after the stack
    }
}

/// In the store, before further ones are given back to the system; so many of them with their
/// pages.
const STORED: usize = 256;
const WARM: usize = 64;
/// At a worker's.
const KEPT: usize = 16;

/// The process's free stacks, all of one size.
struct Store {
    shelf: Shelf<STORED>,
    size: usize,
    /// How many are kept.
    most: usize,
}

static STORE: Mutex<Store> = Mutex::new(Store { shelf: Shelf::new(), size: 0, most: STORED });

/// The process is a child made by fork: the stacks that nobody used are its own. `stack caches` are all workers'.
///
/// A child's memory is that of the parent at one moment: a thread that writes to a page which fork has copied waits until
/// the fork is over, and does nothing after that write. So each shelf is as its owner's last instruction left it.
/// What was in use then stays: what the child goes on with may lie there.
///
/// # Safety
/// No other thread of this process uses stacks before this returns.
pub unsafe fn renew<'a>(racks: impl Iterator<Item = &'a StackCache> + Clone) {
    // SAFETY: by the caller's promise; whoever held the lock is in the parent.
    unsafe { STORE.force_unlock() };
    let in_racks: usize = racks.clone().map(|stacks| stacks.shelf.count()).sum();
    limit::renew(in_racks + STORE.with(|store| store.shelf.count()));
    let here = ptr::from_ref(&in_racks) as usize;
    for stacks in racks {
        while let Some(stack) = stacks.shelf.pop() {
            // A handler of a signal may have forked on one that is about to be left.
            if !stack.holds(here) {
                // SAFETY: other threads that may have been on it are in the parent.
                unsafe { stacks.store(stack) };
            }
        }
    }
}

/// What the library is part of is unloaded: the stacks that are kept are given back, and no more are kept.
pub fn unload() {
    STORE.with(|store| store.most = 0);
    while let Some(stack) = STORE.with(|store| store.shelf.pop()) {
        // SAFETY: in the store, so nobody's.
        unsafe { stack.free() };
    }
}

/// A worker's free stacks. Its owner's alone.
#[repr(C)]
pub struct StackCache {
    size: Cell<usize>,
    shelf: Shelf<KEPT>,
}

impl Default for StackCache {
    fn default() -> Self {
        StackCache { size: Cell::new(0), shelf: Shelf::new() }
    }
}

impl StackCache {
    /// For a run with stacks of this size. The stack cache is empty.
    pub fn open(&self, size: usize) {
        self.size.set(size);
    }

    /// A stack that nobody uses.
    #[inline]
    pub fn take(&self) -> Result<Stack, NoMemory> {
        self.shelf.pop().map_or_else(|| self.fetch(), Ok)
    }

    #[cold]
    fn fetch(&self) -> Result<Stack, NoMemory> {
        let size = self.size.get();
        let stored = STORE.with(|store| if store.size == size { store.shelf.pop() } else { None });
        stored.map_or_else(|| Stack::new(size), Ok)
    }

    /// A stack at hand.
    #[inline]
    pub fn pop(&self) -> Option<Stack> {
        self.shelf.pop()
    }

    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.shelf.count() >= KEPT
    }

    /// # Safety
    /// It is from this run's stack caches, and this one is not full. The caller may be on it, if it leaves it before this stack cache's
    /// next use.
    #[inline(always)]
    pub unsafe fn put(&self, stack: Stack) {
        // SAFETY: there are fewer than KEPT.
        unsafe { self.shelf.push(stack) };
    }

    /// Gives one to the store.
    ///
    /// # Safety
    /// As for `put`.
    #[cold]
    #[inline(never)]
    pub unsafe fn thin(&self) {
        if let Some(stack) = self.pop() {
            // SAFETY: passed on.
            unsafe { self.store(stack) };
        }
    }

    /// # Safety
    /// As for `put`.
    #[cold]
    unsafe fn store(&self, stack: Stack) {
        let size = self.size.get();
        let mut outdated = Pile::default();
        STORE.with(|store| {
            if store.size != size {
                while let Some(stack) = store.shelf.pop() {
                    outdated.push(stack);
                }
                store.size = size;
            }
            if store.shelf.count() >= WARM {
                stack.cool(); // seldom: so many are in use at once only where many tasks wait
            }
            if store.shelf.count() < store.most {
                // SAFETY: there are fewer than STORED.
                unsafe { store.shelf.push(stack) };
            } else {
                outdated.push(stack);
            }
        });
        while let Some(stack) = outdated.pop() {
            // SAFETY: in the store, or given to it, and so nobody's.
            unsafe { stack.free() };
        }
    }

    /// The run has ended.
    ///
    /// # Safety
    /// Nobody is on a stack of the stack cache.
    pub unsafe fn close(&self) {
        while let Some(stack) = self.shelf.pop() {
            // SAFETY: passed on.
            unsafe { self.store(stack) };
        }
    }
}
