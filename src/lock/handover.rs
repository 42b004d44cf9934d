//! A lock whose holder hands it over to the oldest waiter: its word, and the line of its waiters.
//! What a waiter is, and how it sleeps, is the user's: a thread in [`super::fair`], a task in
//! `sync::mutex`.
//!
//! ```text
//! state   0             free
//!         1             locked
//!         a node + 1    locked; the node of the youngest waiter since the holder's last look,
//!                       linked to the next older one, and so on
//! queue   the waiters that came before, the oldest first; only the holder uses it
//! ```
//! A waiter that finds the lock held pushes its node onto the stack in `state` by one
//! compare-and-swap, which fails if the lock has become free. There is one holder at a time, so the
//! holder needs no further lock to take nodes out: when `queue` is empty, it takes the whole stack
//! and reverses it. An unlock with waiters leaves the lock held and returns the oldest waiter's
//! node; the caller *grants* it, and its owner is then the holder. (The async_mutex of L. Baker's
//! cppcoro, 2017, does the same.)
//!
//! Uncontended, lock and unlock are one compare-and-swap each.
//!
//! # Why it is right
//!
//! *Lost waiters.* A waiter could see the lock held, the holder could unlock it and find nobody to
//! wake, and the waiter would then link its node. This is excluded: the compare-and-swap that links
//! the node also shows that the lock is still held, and the one that frees the lock shows that no
//! node was linked.
//!
//! *Overtaking.* A newcomer gets the lock only from the state 0. While anybody waits, no unlock
//! writes 0. So waiters get the lock in the order in which their nodes were linked.
//!
//! *A node that is gone.* A node belongs to its waiter again once it is granted. The holder reads
//! the node's link before it grants, and changes `queue` before, too, because the next holder uses
//! it as soon as it is granted.
//!
//! # Rejected
//!
//! The lines of J. Mellor-Crummey and M. Scott (MCS, 1991) and of the K42 kernel (M. Auslander and
//! others, 2003; without a node for the holder). In both a newcomer first swaps itself into the
//! tail and then links itself to its predecessor. A holder that unlocks in between must wait for
//! the link. If there are more threads than processors, the newcomer may have lost its processor.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `try_lock`: exchange 0 to 1 | Acquire | the `unlock` that wrote 0 |
//! | `unlock`: exchange 1 to 0 | Release | the next `try_lock` |
//! | `lock_or_link`: exchange that links | Release | `take_stack`: the node is written |
//! | `take_stack`: swap | Acquire | every `lock_or_link` since: their exchanges are a release sequence |
//! | `lock_or_link`, `is_locked`: loads | Relaxed | none: the exchange fails if they are stale |
//!
//! Where the lock is handed over, the grant of the node orders the two holders; that is the user's.

use crate::sys::atomic::{AtomicUsize, Ordering, UnsafeCell};
use crate::sys::fuzz::{self, Point};
use std::ptr;

const FREE: usize = 0;
const LOCKED: usize = 1;

/// The node of a waiter.
///
/// # Safety
/// `next` returns what the last `set_next` has stored. The type has an alignment of 2 at least.
pub unsafe trait Link: Sized {
    /// # Safety
    /// The node is the caller's: not linked yet, or in a list that is the caller's.
    unsafe fn next(this: *const Self) -> *const Self;

    /// # Safety
    /// The node is the caller's: not linked yet, or in a list that is the caller's.
    unsafe fn set_next(this: *const Self, to: *const Self);
}

/// All bytes zero is a free lock.
#[repr(C)]
pub struct Handover<N: Link> {
    state: AtomicUsize,
    queue: UnsafeCell<*const N>,
}

// SAFETY: only the holder uses the queue, and the nodes in it belong to waiters.
unsafe impl<N: Link> Send for Handover<N> {}
// SAFETY: only the holder uses the queue, and the nodes in it belong to waiters.
unsafe impl<N: Link> Sync for Handover<N> {}

/// The lock is not held.
#[derive(Debug)]
pub struct NotLocked;

impl<N: Link> Default for Handover<N> {
    fn default() -> Self {
        Handover { state: AtomicUsize::new(FREE), queue: UnsafeCell::new(ptr::null()) }
    }
}

impl<N: Link> Handover<N> {
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.state.load(Ordering::Relaxed) != FREE
    }

    /// True if the caller now holds the lock.
    #[inline]
    pub fn try_lock(&self) -> bool {
        // Acquire: pairs with the Release of the holder that has unlocked.
        self.state.compare_exchange(FREE, LOCKED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// True if the caller now holds the lock. Else the node is linked; when it is granted, its
    /// owner holds the lock.
    ///
    /// # Safety
    /// The node is in no list, and lives until it is granted.
    pub unsafe fn lock_or_link(&self, node: *const N) -> bool {
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            if state == FREE {
                if self.try_lock() {
                    return true;
                }
                state = self.state.load(Ordering::Relaxed);
                continue;
            }
            let older = ptr::with_exposed_provenance(state & !LOCKED);
            // SAFETY: the node is the caller's until it is linked.
            unsafe { N::set_next(node, older) };
            let linked = node.expose_provenance() | LOCKED;
            fuzz::at(Point::MutexLink);
            // Release: pairs with the Acquire in `take_stack`; the node is published.
            match self.state.compare_exchange(state, linked, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return false,
                Err(now) => state = now,
            }
        }
    }

    /// Unlocks if nobody waits. Else returns the next holder's node, which the caller grants.
    #[inline]
    pub fn unlock(&self) -> Result<Option<*const N>, NotLocked> {
        if !self.is_locked() {
            return Err(NotLocked);
        }
        // SAFETY: the queue is the holder's, who is the caller.
        let mut oldest = self.queue.with(|queue| unsafe { *queue });
        if oldest.is_null() {
            fuzz::at(Point::MutexUnlock);
            // Release: pairs with the Acquire of the next lock.
            match self.state.compare_exchange(LOCKED, FREE, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return Ok(None),
                Err(FREE) => return Err(NotLocked),
                Err(_) => oldest = self.take_stack(),
            }
        }
        // SAFETY: the queue is the caller's, and its nodes belong to waiters. The next holder's
        // node is granted later, so that holder finds the queue changed.
        self.queue.with_mut(|queue| unsafe { *queue = N::next(oldest) });
        Ok(Some(oldest))
    }

    /// Changes with each node that is linked while the lock is held.
    #[cfg(test)]
    pub(super) fn newcomers(&self) -> usize {
        self.state.load(Ordering::Relaxed)
    }

    /// Takes the waiters on the stack, and returns them with the oldest first. Called by the holder
    /// when the stack is not empty.
    #[cold]
    fn take_stack(&self) -> *const N {
        let state = self.state.swap(LOCKED, Ordering::Acquire); // pairs with `lock_or_link`
        let mut node: *const N = ptr::with_exposed_provenance(state & !LOCKED);
        let mut younger = ptr::null();
        while !node.is_null() {
            // SAFETY: the node was taken out, and is not granted yet.
            unsafe {
                let older = N::next(node);
                N::set_next(node, younger);
                (younger, node) = (node, older);
            }
        }
        younger
    }
}
