//! A condition: a list of waiters. A signalled waiter moves to the line of its mutex, as if it had
//! just come to lock it ("wait morphing"). So no waiter wakes while the signaller holds the mutex.
//! After a broadcast one waiter at a time wakes, and the waiters get the mutex in their order.
//!
//! If the mutex is free, the signaller locks it for a moment, links the node and unlocks, which
//! calls the waiter. (Rejected: locking the mutex for the waiter. Nobody else could have the mutex
//! until the waiter has woken.)
//!
//! A waiter links its node while it holds the mutex, and unlocks the mutex afterwards. A signaller
//! has held the mutex while, or after, it changed the condition that the waiters test. So either
//! the signaller finds the node, or the waiter has seen the change. This makes it safe to look at
//! the list without its lock, so that a signal without waiters costs one load.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `link`, `signal`, `broadcast`: the list | its lock | its lock |
//! | `signal`, `broadcast`: the first look | Relaxed | the mutex, held by the waiter when it links |

use crate::sync::list::{Fifo, Taken};
use crate::sync::mutex::Mutex;
use crate::sync::node::Node;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The C side's `sched_cond`. All bytes zero is a condition without waiters.
#[repr(C)]
pub struct Cond(Fifo);

/// The node of a task that waits for a condition.
#[repr(C)]
pub struct Waiting {
    /// The first field, so that the address of the node is the address of the whole.
    pub node: Node,
    pub mutex: *const Mutex,
    /// The condition; null once the waiter was signalled, and waits for the mutex. Only an observer
    /// reads it. (std's atomic, which the models do not explore.)
    pub cond: AtomicPtr<Cond>,
}

impl Waiting {
    pub fn new(cond: &Cond, mutex: &Mutex) -> Self {
        let cond = AtomicPtr::new(ptr::from_ref(cond).cast_mut());
        Waiting { node: Node::default(), mutex, cond }
    }
}

impl Default for Cond {
    fn default() -> Self {
        Cond(Fifo::new())
    }
}

impl Cond {
    /// Links a waiter. The caller holds the mutex of `waiting`, and unlocks it next.
    ///
    /// # Safety
    /// The node was in no list before, and lives until it is granted.
    pub unsafe fn link(&self, waiting: &Waiting) {
        // SAFETY: the list is locked; the node lives until it is granted.
        self.0.locked(|list| unsafe { list.push(&raw const waiting.node) });
    }

    /// Like `link`, for a waiter with a deadline, which may call `leave`.
    ///
    /// # Safety
    /// The contract of `link`.
    pub unsafe fn link_to_leave(&self, waiting: &Waiting) {
        // SAFETY: as in `link`.
        self.0.locked(|list| unsafe { list.push_to_leave(&raw const waiting.node) });
    }

    /// Takes out a waiter whose deadline has come. False if it was signalled.
    ///
    /// # Safety
    /// It was linked by `link_to_leave`.
    pub unsafe fn leave(&self, waiting: &Waiting) -> bool {
        // SAFETY: `locked` holds the lock.
        self.0.locked(|list| unsafe { list.leave(&raw const waiting.node) })
    }

    /// Takes out the oldest waiter, if there is one, for the caller to pass to `relock`.
    pub fn signal(&self) -> Option<*const Node> {
        if self.0.looks_empty() {
            return None;
        }
        // SAFETY: `locked` holds the lock.
        self.0.locked(|list| unsafe { list.pop_any() })
    }

    /// Takes out all waiters in their order, for the caller to pass each to `relock`.
    pub fn broadcast(&self) -> Taken {
        if self.0.looks_empty() {
            return Taken(std::ptr::null());
        }
        // SAFETY: `locked` holds the lock.
        self.0.locked(|list| unsafe { list.take_any() })
    }
}

/// Makes the node's task wait for its mutex. Returns a node for the caller to grant, if any.
///
/// # Safety
/// The node was taken from a condition's list.
pub unsafe fn relock(node: *const Node) -> Option<*const Node> {
    // SAFETY: `link` only adds nodes of this type. The mutex exists until the task holds it.
    unsafe {
        let waiting = node.cast::<Waiting>();
        (*waiting).cond.store(ptr::null_mut(), Ordering::Relaxed);
        (*(*waiting).mutex).link(node)
    }
}
