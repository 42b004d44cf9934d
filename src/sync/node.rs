//! The node of a waiter, and lists of nodes.
//!
//! A task that must wait has a [`Node`] on its own stack. It links the node into the mutex,
//! semaphore or other object, and waits until the node is *granted*. Nothing is allocated. When the
//! node of a semaphore, a barrier or a condition's waiter is granted, the event that the task
//! awaits has happened. A waiter of a mutex competes with newcomers after the grant
//! ([`super::mutex`]). If it loses, its node waits again (`begin_again`).
//!
//! ```text
//! word   0        waits, and has not left its name
//!        a name   waits, and is woken by this name (never 0 nor 1); a name with the bit `LASTING`
//!                 stays until the grant
//!        1        granted
//! next   the next node in the list; a thread that unlinks the node reads it before it grants
//! ```
//! A task that can leave its stack leaves it first. Then, on another stack, its worker writes the
//! node with the task's name and links the node. From then on the task is ready to be woken. If the
//! object is available by then, the node is not linked, and the task continues.
//!
//! A task that cannot leave its stack, or waits for a condition or a barrier, links the node first.
//! When it is ready to be woken, it leaves its name by a compare-and-swap. If the compare-and-swap
//! finds 1, the node has been granted already, and the task continues.
//!
//! To grant, a thread swaps 1 into the word, and wakes the task that the old value names. The swap
//! is the thread's last access to the node, since a granted node may be gone. A name with the bit
//! `LASTING` belongs to a suspended task, which does nothing until it is resumed; only the granter
//! changes the word. So the granter reads the name and writes 1, which costs less than the swap.
//!
//! # The bad interleavings
//!
//! *The lost wake-up.* A task sees the mutex locked, the holder unlocks it and finds nobody to
//! wake, and then the task links its node. This is excluded: in each file one atomic operation, or
//! one lock, both decides whether to wait and publishes the node.
//!
//! *Woken before it waits.* The grant comes between the linking and the leaving of the name. Then
//! the swap finds 0 and names nobody, and the compare-and-swap finds 1.
//!
//! *Freed under the waker.* A task that gets a mutex, or passes a semaphore, may free the object at
//! once. So the thread that lets it continue does not touch the object afterwards: it unlinks,
//! unlocks the list, and grants last. glibc's semaphore had this bug (12674) until 2.21.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `leave_name`: exchange | Release | `grant`: the task is ready to be woken |
//! | `leave_name`: load, failed exchange | Acquire | `grant`: the caller continues at once |
//! | `grant`: load of a lasting name | Acquire | `leave_name`, or the lock under which the node was linked |
//! | `grant`: store over a lasting name | Release | `is_granted` |
//! | `grant`: swap | AcqRel | `leave_name`, `is_granted` |
//! | `is_granted`: load | Acquire | `grant` |
//! | `begin_again`: store | Relaxed | none: the waiter then makes the node known by another word |
//! | `next` | none | the node belongs to one thread at a time: its waiter, or its unlinker |

use crate::lock::handover::Link;
use crate::lock::trylock::TryLock;
use crate::sys::atomic::{AtomicPtr, AtomicUsize, MODEL, Ordering, UnsafeCell};
use crate::sys::time;
use std::ptr;

const WAITING: usize = 0;
const GRANTED: usize = 1;

/// How often the oldest waiter of a mutex may be overtaken: see `sync::mutex`.
/// At least 2: then a model also frees the lock a second time before its oldest waiter has run.
pub const PATIENCE: u32 = if MODEL { 2 } else { 4096 };
/// For how many nanoseconds the oldest waiter may be overtaken, or a little more than twice that.
const PATIENT_FOR: u64 = 500_000;

/// The bit in a name that stays until the node is granted.
pub const LASTING: usize = 4;

/// A waiter's node; it lives on the waiter's own stack until it is granted.
#[repr(C)]
pub struct Node {
    word: AtomicUsize,
    next: UnsafeCell<*const Node>,
    overtaken: UnsafeCell<Overtaken>,
}

/// How often the waiter of a mutex was overtaken, and since when.
#[derive(Default)]
struct Overtaken {
    times: u32,
    /// The time of the first overtaking in nanoseconds; valid if `times` is not 0.
    since: u64,
}

impl Default for Node {
    fn default() -> Self {
        Node::new(WAITING)
    }
}

impl Node {
    #[inline]
    fn new(word: usize) -> Self {
        let (next, overtaken) =
            (UnsafeCell::new(ptr::null()), UnsafeCell::new(Overtaken::default()));
        Node { word: AtomicUsize::new(word), next, overtaken }
    }

    /// The node of a task that is ready to be woken, by this name.
    #[inline]
    pub fn named(name: usize) -> Self {
        Node::new(name)
    }

    /// Writes the word of a node that is not made yet: it waits, and has not left its name. For an
    /// observer, who may read the word before the node is made.
    ///
    /// # Safety
    /// There is room for a node.
    #[inline(always)]
    pub unsafe fn begin(this: *mut Node) -> *const AtomicUsize {
        // SAFETY: by the caller's promise.
        unsafe {
            let word = &raw mut (*this).word;
            word.write(AtomicUsize::new(WAITING));
            word
        }
    }

    pub fn word(&self) -> &AtomicUsize {
        &self.word
    }

    pub fn is_granted(&self) -> bool {
        self.word.load(Ordering::Acquire) == GRANTED // pairs with `grant`
    }

    /// Sets the name by which the caller is woken. False: the node has been granted.
    pub fn leave_name(&self, name: usize) -> bool {
        // Acquire: pairs with `grant`; a caller that finds its node granted continues.
        let mut word = self.word.load(Ordering::Acquire);
        while word != GRANTED {
            // Release: pairs with the Acquire in `grant`; the named task is ready to be woken.
            // Acquire: pairs with the Release in `grant`.
            match self.word.compare_exchange(word, name, Ordering::Release, Ordering::Acquire) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// Makes the node of a granted waiter wait again, without a name.
    pub fn begin_again(&self) {
        self.word.store(WAITING, Ordering::Relaxed); // published by the caller's next step
    }

    /// Grants the node, which may be gone afterwards. Returns the name of the task to wake, if any.
    ///
    /// # Safety
    /// The caller has unlinked the node, and it is not granted yet.
    #[inline]
    pub unsafe fn grant(this: *const Node) -> Option<usize> {
        // SAFETY: the node lives until it is granted, which is below.
        let word = unsafe { &(*this).word };
        // Acquire, here and below: pairs with `leave_name`. Release: pairs with `is_granted`.
        let name = word.load(Ordering::Acquire);
        if name & LASTING != 0 {
            word.store(GRANTED, Ordering::Release);
            return Some(name);
        }
        let name = word.swap(GRANTED, Ordering::AcqRel);
        (name != WAITING).then_some(name)
    }
}

// SAFETY: the node has one link, and holds a word.
unsafe impl Link for Node {
    unsafe fn next(this: *const Node) -> *const Node {
        // SAFETY: the node is not granted yet, and `next` is the caller's.
        unsafe { (*this).next.with(|next| *next) }
    }

    unsafe fn set_next(this: *const Node, to: *const Node) {
        // SAFETY: the node is not granted yet, and `next` is the caller's.
        unsafe { (*this).next.with_mut(|next| *next = to) }
    }

    unsafe fn is_overtaken(this: *const Node) -> bool {
        // SAFETY: the caller is the holder, to whom the count belongs.
        unsafe { (*this).overtaken.with_mut(|overtaken| (*overtaken).once_more()) }
    }
}

impl Overtaken {
    /// True if the waiter remains patient; counts one more overtaking in that case.
    fn once_more(&mut self) -> bool {
        let is_patient = self.times < PATIENCE && !self.takes_long();
        self.times += u32::from(is_patient);
        is_patient
    }

    /// True if the waiter has been overtaken for too long. Reads the clock only if the count is 0
    /// or a power of two.
    fn takes_long(&mut self) -> bool {
        if MODEL {
            return false;
        }
        if self.times == 0 {
            self.since = time::nanos();
        }
        self.times.is_power_of_two() && time::nanos() - self.since > PATIENT_FOR
    }
}

/// Nodes in the order in which they came, linked by `next`. Used under a lock.
pub(super) struct List {
    /// Null if the list is empty.
    first: AtomicPtr<Node>,
    /// Valid if the list is not empty.
    last: UnsafeCell<*const Node>,
}

// SAFETY: the list is only used under a lock, and its nodes belong to waiting tasks.
unsafe impl Send for List {}
// SAFETY: the list is only used under a lock, and its nodes belong to waiting tasks.
unsafe impl Sync for List {}

/// A list with a lock of its own.
pub(super) struct Fifo {
    list: List,
    lock: TryLock,
}

/// Nodes that were taken out, to be granted in their order.
pub struct Taken(pub(super) *const Node);

impl Iterator for Taken {
    type Item = *const Node;

    /// Returns the next node, which the iterator does not use afterwards.
    fn next(&mut self) -> Option<*const Node> {
        let node = self.0;
        if node.is_null() {
            return None;
        }
        // SAFETY: the nodes were taken out, and this one has not been granted.
        self.0 = unsafe { Node::next(node) };
        Some(node)
    }
}

impl Fifo {
    pub(super) fn new() -> Self {
        Fifo { list: List::new(), lock: TryLock::new() }
    }

    /// Calls `work` under the lock; `work` takes a few instructions.
    pub(super) fn locked<R>(&self, work: impl FnOnce(&List) -> R) -> R {
        self.lock.lock();
        let result = work(&self.list);
        // SAFETY: the lock was taken above.
        unsafe { self.lock.unlock() };
        result
    }

    /// Reads the list without the lock.
    pub(super) fn looks_empty(&self) -> bool {
        self.list.is_empty()
    }
}

impl List {
    pub(super) fn new() -> Self {
        List { first: AtomicPtr::default(), last: UnsafeCell::new(ptr::null()) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first.load(Ordering::Relaxed).is_null()
    }

    /// # Safety
    /// The lock is held; the node is the caller's, was in no list before, and lives until it is
    /// granted.
    pub(super) unsafe fn push(&self, node: *const Node) {
        let last = self.last.with_mut(|last| {
            // SAFETY: the lock is held, by the caller's promise.
            unsafe { ptr::replace(last, node) }
        });
        if self.is_empty() {
            self.first.store(node.cast_mut(), Ordering::Relaxed);
        } else {
            // SAFETY: the list is not empty, so `last` is a node in it.
            unsafe { Node::set_next(last, node) };
        }
    }

    /// Takes out the oldest node.
    ///
    /// # Safety
    /// The lock is held.
    pub(super) unsafe fn pop(&self) -> Option<*const Node> {
        // SAFETY: the lock is held by the caller's promise, and the list is not empty.
        (!self.is_empty()).then(|| unsafe { self.pop_first() }.0)
    }

    /// Takes out the oldest node; true if it was the last one.
    ///
    /// # Safety
    /// The lock is held, and the list is not empty.
    pub(super) unsafe fn pop_first(&self) -> (*const Node, bool) {
        let first = self.first.load(Ordering::Relaxed);
        // SAFETY: `first` is a node in the list.
        let next = unsafe { Node::next(first) };
        self.first.store(next.cast_mut(), Ordering::Relaxed);
        (first, next.is_null())
    }

    /// Takes out all nodes.
    ///
    /// # Safety
    /// The lock is held.
    pub(super) unsafe fn take(&self) -> Taken {
        let first = self.first.load(Ordering::Relaxed);
        self.first.store(ptr::null_mut(), Ordering::Relaxed);
        Taken(first)
    }
}
