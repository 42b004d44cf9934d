//! The node of a waiter, and lists of nodes.
//!
//! Who must wait has a [`Node`] on its own stack, links it into the mutex, the semaphore and so on, and
//! waits until it is *granted* what it has asked for. Nothing is allocated, and who waits never looks
//! at the mutex again: when it goes on, that is its own already. So the oldest is always the next,
//! and nobody can overtake it, nor be woken in vain. (The other way, waking one who then competes with
//! those who come by, is quicker where holders are brief, and lets one wait for ever.)
//!
//! ```text
//! word   0        waits, and has not left its name
//!        a name   waits, and is to be woken by it (never 0 nor 1); with the bit `LASTING`: for good
//!        1        granted
//! next   the next in the list; who unlinks it reads it before it grants
//! ```
//! A task that can leave its stack does that first; then, from where it went, its node is written, with its name,
//! and linked: by that it is known, and ready to be woken. If what it wants is to be had by then, the node is not
//! linked, and it goes on.
//!
//! Who cannot, or waits for a condition or a barrier, links the node first, and leaves its name afterwards, when it
//! is ready to be woken: by a compare-and-swap, which finds 1 if it has been granted meanwhile; then there is
//! nothing to wait for.
//!
//! Who grants swaps 1 in, and wakes whom the old value names; the swap is its last access, since a node that
//! is granted may be gone.
//! A name that *lasts* nobody changes but who grants: a task that was set aside does nothing until it goes on.
//! So that is read, and 1 written, which costs less than the swap.
//!
//! # The bad interleavings
//!
//! *The lost wake-up.* A task sees the mutex locked, the holder unlocks it and finds nobody to wake, the
//! task links its node. In each file it is one atomic operation, or one lock, that decides whether
//! to wait and makes the node known.
//!
//! *Woken before it waits.* Between linking and leaving the name: the swap then finds 0 and names nobody,
//! the compare-and-swap finds 1.
//!
//! *Freed under who wakes.* A task that gets a mutex, or passes a semaphore, may free it at once. So
//! whoever lets it do so does nothing with the mutex afterwards: it unlinks, unlocks the list, and
//! grants last. The semaphore of glibc had this mistake until 2.21 (its bug 12674).

use crate::lock::trylock::TryLock;
use crate::sys::atomic::{AtomicPtr, AtomicUsize, Ordering, UnsafeCell};
use std::ptr;

const WAITING: usize = 0;
const GRANTED: usize = 1;

/// In a name that stays until the node is granted.
pub const LASTING: usize = 4;

/// A waiter's node; it lives on the waiter's own stack until it is granted.
#[repr(C)]
pub struct Node {
    word: AtomicUsize,
    next: UnsafeCell<*const Node>,
}

impl Default for Node {
    fn default() -> Self {
        Node::new(WAITING)
    }
}

impl Node {
    #[inline]
    fn new(word: usize) -> Self {
        Node { word: AtomicUsize::new(word), next: UnsafeCell::new(ptr::null()) }
    }

    /// Of one who is to be woken by this name, and is ready for that.
    #[inline]
    pub fn named(name: usize) -> Self {
        Node::new(name)
    }

    pub fn word(&self) -> &AtomicUsize {
        &self.word
    }

    pub fn is_granted(&self) -> bool {
        self.word.load(Ordering::Acquire) == GRANTED // with `grant`
    }

    /// From now on the caller is woken by this name; another name of its own no more. False: it has been
    /// granted.
    pub fn leave_name(&self, name: usize) -> bool {
        let mut word = self.word.load(Ordering::Acquire); // who finds it granted goes on
        while word != GRANTED {
            // Release: the named is ready to be woken. Acquire: as above.
            match self.word.compare_exchange(word, name, Ordering::Release, Ordering::Acquire) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// Lets it go on: the name of who is to be woken, if any. The node may be gone afterwards.
    ///
    /// # Safety
    /// Unlinked by the caller, and not granted yet.
    #[inline]
    pub unsafe fn grant(this: *const Node) -> Option<usize> {
        // SAFETY: it waits until now.
        let word = unsafe { &(*this).word };
        // Acquire, here and below: with `leave_name`. Release: with `is_granted`.
        let name = word.load(Ordering::Acquire);
        if name & LASTING != 0 {
            word.store(GRANTED, Ordering::Release);
            return Some(name);
        }
        let name = word.swap(GRANTED, Ordering::AcqRel);
        (name != WAITING).then_some(name)
    }

    /// # Safety
    /// The caller has the node: its own, not linked yet, or in a list that is the caller's.
    pub(super) unsafe fn next(this: *const Node) -> *const Node {
        // SAFETY: it waits; `next` is the caller's.
        unsafe { (*this).next.with(|next| *next) }
    }

    /// # Safety
    /// As for `next`.
    pub(super) unsafe fn set_next(this: *const Node, to: *const Node) {
        // SAFETY: as in `next`.
        unsafe { (*this).next.with_mut(|next| *next = to) }
    }
}

/// Nodes in the order in which they came, linked by `next`. Used under a lock.
pub(super) struct List {
    /// Null if there are none.
    first: AtomicPtr<Node>,
    /// If there are some.
    last: UnsafeCell<*const Node>,
}

// SAFETY: the nodes wait as long as they are in the list, which is used under a lock.
unsafe impl Send for List {}
// SAFETY: as above.
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

    /// The next node, with which nothing is linked any more.
    fn next(&mut self) -> Option<*const Node> {
        let node = self.0;
        if node.is_null() {
            return None;
        }
        // SAFETY: the list was taken out, and this one has not been granted.
        self.0 = unsafe { Node::next(node) };
        Some(node)
    }
}

impl Fifo {
    pub(super) fn new() -> Self {
        Fifo { list: List::new(), lock: TryLock::new() }
    }

    /// Calls `work` under the lock, which is for a few instructions.
    pub(super) fn locked<R>(&self, work: impl FnOnce(&List) -> R) -> R {
        self.lock.lock();
        let result = work(&self.list);
        // SAFETY: locked above.
        unsafe { self.lock.unlock() };
        result
    }

    /// Without the lock.
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
    /// Under the lock; the node is the caller's, was in no list before, and waits until it is granted.
    pub(super) unsafe fn push(&self, node: *const Node) {
        let last = self.last.with_mut(|last| {
            // SAFETY: the lock's.
            unsafe { ptr::replace(last, node) }
        });
        if self.is_empty() {
            self.first.store(node.cast_mut(), Ordering::Relaxed);
        } else {
            // SAFETY: the list is not empty, so that is in it.
            unsafe { Node::set_next(last, node) };
        }
    }

    /// The oldest.
    ///
    /// # Safety
    /// Under the lock.
    pub(super) unsafe fn pop(&self) -> Option<*const Node> {
        // SAFETY: passed on.
        (!self.is_empty()).then(|| unsafe { self.pop_first() }.0)
    }

    /// The oldest, and whether it was the last.
    ///
    /// # Safety
    /// Under the lock; the list is not empty.
    pub(super) unsafe fn pop_first(&self) -> (*const Node, bool) {
        let first = self.first.load(Ordering::Relaxed);
        // SAFETY: in the list.
        let next = unsafe { Node::next(first) };
        self.first.store(next.cast_mut(), Ordering::Relaxed);
        (first, next.is_null())
    }

    /// All of them.
    ///
    /// # Safety
    /// Under the lock.
    pub(super) unsafe fn take(&self) -> Taken {
        let first = self.first.load(Ordering::Relaxed);
        self.first.store(ptr::null_mut(), Ordering::Relaxed);
        Taken(first)
    }
}
