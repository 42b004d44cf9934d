//! Lists of nodes ([`super::node`]), in the order in which they came.
//!
//! A list is used under a lock. The functions `push`, `pop` and `take` are for lists in which no
//! node has a deadline. The others are for lists in which some may have one: such a node knows its
//! predecessor, and leaves the list by `leave`.

use crate::lock::handover::Link;
use crate::lock::monitor::RawLock;
use crate::lock::trylock::TryLock;
use crate::sync::node::{Leaves, Node};
use crate::sys::atomic::{AtomicPtr, Ordering, UnsafeCell};
use std::ptr;

/// Nodes in the order in which they came, linked by `next`. Used under a lock.
pub struct List {
    /// Null if the list is empty.
    first: AtomicPtr<Node>,
    /// Valid if the list is not empty.
    last: UnsafeCell<*const Node>,
}

// SAFETY: the list is only used under a lock, and its nodes belong to waiting tasks.
unsafe impl Send for List {}
// SAFETY: the list is only used under a lock, and its nodes belong to waiting tasks.
unsafe impl Sync for List {}

impl Default for List {
    fn default() -> Self {
        List::new()
    }
}

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
    pub fn new() -> Self {
        List { first: AtomicPtr::default(), last: UnsafeCell::new(ptr::null()) }
    }

    pub fn is_empty(&self) -> bool {
        self.first.load(Ordering::Relaxed).is_null()
    }

    /// # Safety
    /// The lock is held; the node is the caller's, was in no list before, and lives until it is
    /// granted.
    pub unsafe fn push(&self, node: *const Node) {
        let last = self.last.with_mut(|last| {
            // SAFETY: the lock is held.
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
        // SAFETY: the lock is held, and the list is not empty.
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

    // --- for lists that are walked under the lock --------------------------------------

    /// The first node, or null.
    pub(super) fn first(&self) -> *const Node {
        self.first.load(Ordering::Relaxed)
    }

    // --- lists in which nodes may have a deadline ------------------------------------

    /// Like `push`, for a node with a deadline, which may then call `leave`.
    ///
    /// # Safety
    /// The contract of `push`.
    pub unsafe fn push_to_leave(&self, node: *const Node) {
        // SAFETY: the lock is held, and the node is the caller's.
        unsafe {
            let last = self.last.with(|last| *last);
            Node::set_previous(node, last);
            Node::set_leaves(node, Leaves::Linked);
            self.push(node);
        }
    }

    /// Like `pop`, if some nodes may have a deadline.
    ///
    /// # Safety
    /// The lock is held.
    pub unsafe fn pop_any(&self) -> Option<*const Node> {
        // SAFETY: the lock is held, and the node was in the list.
        unsafe { self.pop().inspect(|&node| Node::note_unlinked(node)) }
    }

    /// Like `take`, if some nodes may have a deadline.
    ///
    /// # Safety
    /// The lock is held.
    pub unsafe fn take_any(&self) -> Taken {
        // SAFETY: the lock is held, and the nodes were in the list.
        unsafe {
            let taken = self.take();
            let mut node = taken.0;
            while !node.is_null() {
                Node::note_unlinked(node);
                node = Node::next(node);
            }
            taken
        }
    }

    /// Takes out a node with a deadline. False if somebody else has unlinked it.
    ///
    /// # Safety
    /// The lock is held. The node was added by `push_to_leave`.
    pub unsafe fn leave(&self, node: *const Node) -> bool {
        // SAFETY: the lock is held. The node and its neighbours are in the list.
        unsafe {
            if Node::leaves(node) != Leaves::Linked {
                return false;
            }
            Node::set_leaves(node, Leaves::Unlinked);
            let next = Node::next(node);
            if ptr::eq(self.first.load(Ordering::Relaxed), node) {
                self.first.store(next.cast_mut(), Ordering::Relaxed);
                return true; // the next node is the first now, and needs no predecessor
            }
            let previous = Node::previous(node);
            Node::set_next(previous, next);
            if next.is_null() {
                self.last.with_mut(|last| *last = previous);
            } else if Node::leaves(next) == Leaves::Linked {
                Node::set_previous(next, previous);
            }
            true
        }
    }
}
