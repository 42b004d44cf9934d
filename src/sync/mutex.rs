//! A mutex whose holder hands it over to the oldest waiter: the lock of [`crate::lock::handover`],
//! whose waiters are tasks.
//!
//! # The holder
//!
//! A holder may write its name into `holder` once it has locked the mutex, and removes it before it
//! unlocks. No other task writes the field meanwhile. So a caller that finds its own name there
//! holds the mutex. A caller that finds 0 or another name learns only that it has not written its
//! own: it may hold the mutex all the same, since `try_lock` writes no name.
//!
//! # Orderings
//!
//! Those of [`crate::lock::handover`]. A granted waiter is ordered after the last holder by the
//! grant of its node (`super::node`). `holder` is Relaxed: a caller looks for its own name only.

pub use crate::lock::handover::NotLocked;

use crate::lock::handover::Handover;
use crate::sync::node::Node;
use crate::sys::atomic::{AtomicUsize, Ordering};
use std::mem::offset_of;

/// The C side's `sched_mutex`. All bytes zero is a free mutex.
#[derive(Default)]
#[repr(C)]
pub struct Mutex {
    lock: Handover<Node>,
    /// 0, or the holder's name.
    holder: AtomicUsize,
}

impl Mutex {
    /// Where an observer finds the holder's name.
    pub const HOLDER: usize = offset_of!(Mutex, holder);

    #[inline]
    pub fn is_locked(&self) -> bool {
        self.lock.is_locked()
    }

    /// Called by the holder: writes its name, which is not 0, or removes it.
    #[inline]
    pub fn set_holder(&self, name: usize) {
        self.holder.store(name, Ordering::Relaxed);
    }

    /// The holder's name, if it is known: see the essay above.
    #[inline]
    pub fn holder(&self) -> usize {
        self.holder.load(Ordering::Relaxed)
    }

    /// True if the caller now holds the mutex.
    #[inline]
    pub fn try_lock(&self) -> bool {
        self.lock.try_lock()
    }

    /// True if the node's task now holds the mutex. Else the node is linked; when it is granted,
    /// its task holds the mutex.
    ///
    /// # Safety
    /// The node is in no list, and lives until it is granted.
    pub unsafe fn lock_or_link(&self, node: *const Node) -> bool {
        // SAFETY: by the caller's promise.
        unsafe { self.lock.lock_or_link(node) }
    }

    /// Unlocks the mutex if nobody waits. Else returns the next holder's node, which the caller
    /// grants.
    #[inline]
    pub fn unlock(&self) -> Result<Option<*const Node>, NotLocked> {
        self.lock.unlock()
    }
}
