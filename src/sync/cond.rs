//! A condition: a list of those who wait. Who is signalled goes over to its mutex's list, as if it had
//! just come to lock it, and is granted that ("wait morphing"): it never wakes only to find the mutex
//! locked, and those who wait get it in their order.
//!
//! Who waits links its node while it holds the mutex, and unlocks that afterwards. Who signals has held
//! the mutex after it has changed what is waited for, so it finds the node, or the other has seen
//! the change. That makes the look without the lock sound, by which a signal to nobody costs a load.

use crate::sync::mutex::Mutex;
use crate::sync::node::{Fifo, Node, Taken};

/// The C side's `sched_cond`. All bytes zero is one that nobody waits for.
#[repr(C)]
pub struct Cond(Fifo);

/// The node of a task that waits for a condition; it holds the mutex.
#[repr(C)]
pub struct Waiting {
    /// First, so that a node out of the list is the whole.
    pub node: Node,
    mutex: *const Mutex,
}

impl Waiting {
    pub fn new(mutex: &Mutex) -> Self {
        Waiting { node: Node::default(), mutex }
    }
}

impl Default for Cond {
    fn default() -> Self {
        Cond(Fifo::new())
    }
}

impl Cond {
    /// To be called with the mutex held that the node was made with; which is to be unlocked next.
    ///
    /// # Safety
    /// The node was in no list before, and waits until it is granted.
    pub unsafe fn link(&self, waiting: &Waiting) {
        // SAFETY: passed on.
        self.0.locked(|list| unsafe { list.push(&raw const waiting.node) });
    }

    /// The one who has waited longest, if any: to be passed to `relock`.
    pub fn signal(&self) -> Option<*const Node> {
        if self.0.looks_empty() {
            return None;
        }
        // SAFETY: locked.
        self.0.locked(|list| unsafe { list.pop() })
    }

    /// All who wait: each to be passed to `relock`, in their order.
    pub fn broadcast(&self) -> Taken {
        if self.0.looks_empty() {
            return Taken(std::ptr::null());
        }
        // SAFETY: locked.
        self.0.locked(|list| unsafe { list.take() })
    }
}

/// True if the node has its mutex again, and is to be granted. Else it will be.
///
/// # Safety
/// It was taken from a condition's list.
pub unsafe fn relock(node: *const Node) -> bool {
    // SAFETY: `link` adds only nodes of this type. The task waits until it holds the mutex, which is there until then.
    unsafe { (*(*node.cast::<Waiting>()).mutex).lock_or_link(node) }
}
