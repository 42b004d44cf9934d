//! A lock that newcomers may take before its waiters, a bounded number of times. This file has its
//! word and the line of its waiters. The user decides what a waiter is, how it sleeps and how often
//! it may be overtaken: threads that are never overtaken in [`super::fair`], tasks in
//! `sync::mutex`.
//!
//! ```text
//! state   bit 0   LOCKED: the lock is held
//!         bit 1   CALLED: the oldest waiter was called: it is awake, or will be, and competes
//!         rest    the node of the youngest waiter since the holder's last look, linked to the next
//!                 older one, and so on
//! queue   the waiters that came before, the oldest first; only the holder uses it
//! ```
//! A waiter that finds the lock held pushes its node onto the stack in `state` by one
//! compare-and-swap, which fails if the lock has become free. There is one holder at a time, so the
//! holder needs no further lock to take nodes out: when `queue` is empty, it takes the whole stack
//! and reverses it. (The async_mutex of L. Baker's cppcoro, 2017, does the same.) Uncontended, lock
//! and unlock are one compare-and-swap each.
//!
//! # Protocol
//!
//! An unlock that finds waiters does one of these:
//!
//! ```text
//! it calls        LOCKED off, CALLED on; then it grants the oldest waiter's node
//! it only frees   LOCKED off: the oldest waiter was called before, and competes
//! it hands over   the oldest waiter was overtaken as often as allowed. LOCKED stays, and the node
//!                 is taken out. If the waiter was called: CALLED off. Else its node is granted
//! ```
//! The node of a called waiter stays the first in the queue. When the node is granted, the waiter
//! reads the state:
//!
//! ```text
//! CALLED is off           it holds the lock
//! CALLED is on            LOCKED off -> on, CALLED on -> off: it holds the lock, and takes its
//!                         node out
//! CALLED, LOCKED are on   CALLED on -> off: it waits again in its place, and will be called again
//! ```
//! A newcomer turns LOCKED on if it is off, whether or not others wait. So a contended lock stays
//! with a running thread, and the guarded memory stays in that thread's cache, while a waiter is
//! waking up. If each unlock handed the lock over, each use of it would cost a context switch (the
//! *convoy*: see [`super::fair`]).
//!
//! # Why it is right
//!
//! *Lost waiters.* The bad interleaving: a waiter sees the lock held, the holder unlocks it and
//! finds nobody to wake, and then the waiter waits. It is excluded, because the compare-and-swap
//! that links the node, or turns CALLED off, fails unless the lock is still held; and the one that
//! frees the lock fails if a node was linked or a waiter went back to wait. So while the lock is
//! free, either nobody waits, or a waiter is called.
//!
//! *Handed over, or not?* Only a holder turns CALLED on. The called waiter turns it off, or a
//! holder that hands the lock over to that waiter. From a hand-over on, the waiter is the holder,
//! even before it knows, and CALLED stays off until it unlocks. So a called waiter that finds
//! CALLED off holds the lock, and its compare-and-swap back to waiting fails after a hand-over.
//!
//! *Overtaking.* A node is the oldest from the removal of its predecessor until its own removal.
//! During that time each unlock that frees the lock is counted, and at most `n` are allowed. So a
//! waiter behind `k` others is overtaken at most `n * (k + 1)` times, and waiters get the lock in
//! the order in which their nodes were linked.
//!
//! *A node that is gone.* A node belongs to its waiter again when the waiter holds the lock. A
//! holder reads the node's link and changes `queue` before it hands the lock over. The node of a
//! called waiter is granted after the lock was freed; the waiter does not look at the state before
//! the grant, so the node still exists.
//!
//! *A lock that is gone.* An unlock's last access to the lock is one compare-and-swap, or none if
//! it hands the lock over to a waiter that it then grants. A waiter needs the lock until it has
//! held it.
//!
//! # Rejected
//!
//! The lines of J. Mellor-Crummey and M. Scott (MCS, 1991) and of the K42 kernel (M. Auslander and
//! others, 2003; without a node for the holder). In both a newcomer first swaps itself into the
//! tail and then links itself to its predecessor. A holder that unlocks in between must wait for
//! the link, and the newcomer may have been preempted.
//!
//! Taking the node of a called waiter out of the queue, and linking it in front of all others if it
//! waits again, as Go's mutex does: nobody could count the overtakings of a node outside the queue.
//!
//! Freeing the lock first and then looking for a waiter, as the futex mutex does
//! ([`super::mutex`]): the lock may be gone by then.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `try_lock`, `try_overtake`, `try_lock_again`: exchange that locks | Acquire | the last holder's `unlock` |
//! | `unlock`, `unlock_before_waiters`: exchange | Release | the next holder's exchange, or load in `try_lock_again` |
//! | `link_if_locked`: exchange that links | Release | `take_stack`: the node is written |
//! | `take_stack`: swap | Acquire | every `link_if_locked` since: all changes of the state are read-modify-writes, and so one release sequence |
//! | `wait_if_locked`: exchange | Release | `unlock_before_waiters`: the node is ready |
//! | `unlock_before_waiters`: load, failed exchange | Acquire | `wait_if_locked` |
//! | `try_lock_again`: load, failed exchange | Acquire | `unlock_before_waiters` that hands over |
//! | other loads | Relaxed | none: the exchange fails if they are stale |
//!
//! If the lock is handed over to a waiter that was not called, the grant of its node, which the
//! user implements, orders the two holders.

use crate::sys::atomic::{AtomicUsize, Ordering, UnsafeCell};
use std::ptr;

const FREE: usize = 0;
const LOCKED: usize = 1;
const CALLED: usize = 2;
const FLAGS: usize = LOCKED | CALLED;

/// The node of a waiter.
///
/// # Safety
/// `next` returns what the last `set_next` has stored. The type has an alignment of 4 at least.
/// `is_overtaken` returns true a bounded number of times for a node.
pub unsafe trait Link: Sized {
    /// # Safety
    /// The node is the caller's: not linked yet, or in a list that is the caller's.
    unsafe fn next(this: *const Self) -> *const Self;

    /// # Safety
    /// The node is the caller's: not linked yet, or in a list that is the caller's.
    unsafe fn set_next(this: *const Self, to: *const Self);

    /// Called when the caller is about to free the lock, although this node is the oldest in line.
    /// If true, the caller may free it, and this overtaking is counted. If false, the waiter was
    /// overtaken as often as allowed.
    ///
    /// # Safety
    /// The caller is the holder, and the node is in its queue.
    unsafe fn is_overtaken(this: *const Self) -> bool;
}

/// All bytes zero is a free lock.
#[repr(C)]
pub struct Handover<N: Link> {
    state: AtomicUsize,
    queue: UnsafeCell<*const N>,
}

// SAFETY: only the holder uses the queue, and the nodes in it belong to waiters.
unsafe impl<N: Link> Send for Handover<N> {}
// SAFETY: as above.
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
        self.state.load(Ordering::Relaxed) & LOCKED != 0
    }

    /// True if the caller now holds the lock, for which nobody waits.
    #[inline]
    pub fn try_lock(&self) -> bool {
        // Acquire: pairs with the Release of the holder that has unlocked.
        self.state.compare_exchange(FREE, LOCKED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// True if the caller now holds the lock, for which others may wait.
    #[inline]
    pub fn try_overtake(&self) -> bool {
        let mut state = self.state.load(Ordering::Relaxed);
        while state & LOCKED == 0 {
            let locked = state | LOCKED;
            // Acquire: as in `try_lock`.
            match self.state.compare_exchange(state, locked, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => state = now,
            }
        }
        false
    }

    /// True if the caller now holds the lock. Otherwise the node is linked, and will be granted;
    /// its owner then calls `lock_again_or_wait`.
    ///
    /// # Safety
    /// The node is in no list, and lives until its owner holds the lock.
    pub unsafe fn lock_or_link(&self, node: *const N) -> bool {
        loop {
            if self.try_overtake() {
                return true;
            }
            // SAFETY: the node is in no list, and lives until its owner holds the lock.
            if unsafe { self.link_if_locked(node) } {
                return false;
            }
        }
    }

    /// Links the node, which will wait for the lock, whether or not the lock is held. Returns a
    /// node for the caller to grant, if there is one.
    ///
    /// # Safety
    /// The node is in no list, and lives until its owner holds the lock.
    pub unsafe fn link(&self, node: *const N) -> Option<*const N> {
        // SAFETY: the node is in no list, and lives until its owner holds the lock.
        if !unsafe { self.lock_or_link(node) } {
            return None;
        }
        // The lock was free, and the caller has locked it for a moment.
        // SAFETY: the node was not linked, and lives until its owner holds the lock.
        let _linked = unsafe { self.link_if_locked(node) };
        debug_assert!(_linked);
        self.unlock_before_waiters()
    }

    /// Links the node if the lock is held. Returns false if the lock is free.
    ///
    /// # Safety
    /// The node is in no list, and lives until its owner holds the lock.
    unsafe fn link_if_locked(&self, node: *const N) -> bool {
        let mut state = self.state.load(Ordering::Relaxed);
        while state & LOCKED != 0 {
            let older = ptr::with_exposed_provenance(state & !FLAGS);
            // SAFETY: the node is the caller's until it is linked.
            unsafe { N::set_next(node, older) };
            let linked = node.expose_provenance() | state & FLAGS;
            // Release: pairs with the Acquire in `take_stack`; the node is published.
            match self.state.compare_exchange(state, linked, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => state = now,
            }
        }
        false
    }

    /// Called by the owner of a node that was granted. If true, the owner holds the lock, and the
    /// node is in no list any more. If false, another thread holds the lock, and nothing has
    /// happened.
    ///
    /// # Safety
    /// The node was linked, and was granted since it last began to wait.
    pub unsafe fn try_lock_again(&self, node: *const N) -> bool {
        // Acquire, here and below: pairs with the Release of the hand-over.
        let mut state = self.state.load(Ordering::Acquire);
        loop {
            if state & CALLED == 0 {
                return true;
            }
            if state & LOCKED != 0 {
                return false;
            }
            let locked = (state | LOCKED) & !CALLED;
            // Acquire: as in `try_lock`.
            match self.state.compare_exchange(state, locked, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => break,
                Err(now) => state = now,
            }
        }
        // SAFETY: the caller is the holder, and its node is the first in the queue.
        unsafe { self.take_out(node) };
        true
    }

    /// Like `try_lock_again`. But if the lock is held, the node waits again, still the first in the
    /// queue, and will be granted again.
    ///
    /// # Safety
    /// The node was linked, and was granted since it last began to wait. It is ready to be granted.
    pub unsafe fn lock_again_or_wait(&self, node: *const N) -> bool {
        loop {
            // SAFETY: the node was linked, and was granted since it last began to wait.
            if unsafe { self.try_lock_again(node) } {
                return true;
            }
            if self.wait_if_locked() {
                return false;
            }
        }
    }

    /// If the lock is held, the called waiter waits again. Returns false if the lock is free, or
    /// was handed over.
    fn wait_if_locked(&self) -> bool {
        let mut state = self.state.load(Ordering::Relaxed);
        while state & FLAGS == FLAGS {
            let waits = state & !CALLED;
            // Release: pairs with the Acquire in `unlock_before_waiters`; the node is ready.
            match self.state.compare_exchange(state, waits, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => state = now,
            }
        }
        false
    }

    /// Unlocks. Returns a node for the caller to grant, if there is one.
    #[inline]
    pub fn unlock(&self) -> Result<Option<*const N>, NotLocked> {
        if !self.is_locked() {
            return Err(NotLocked);
        }
        // SAFETY: the caller is the holder, to whom the queue belongs.
        if self.queue.with(|queue| unsafe { *queue }).is_null() {
            // Release: pairs with the Acquire of the next lock.
            match self.state.compare_exchange(LOCKED, FREE, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return Ok(None),
                Err(FREE) => return Err(NotLocked),
                Err(_) => {}
            }
        }
        Ok(self.unlock_before_waiters())
    }

    /// The part of `unlock` for a lock that may have waiters.
    fn unlock_before_waiters(&self) -> Option<*const N> {
        // SAFETY: the caller is the holder, to whom the queue belongs.
        let mut oldest = self.queue.with(|queue| unsafe { *queue });
        if oldest.is_null() {
            oldest = self.take_stack();
            // SAFETY: as above.
            self.queue.with_mut(|queue| unsafe { *queue = oldest });
        }
        // Acquire, here and below: pairs with the Release in `wait_if_locked`; the node is ready.
        let mut state = self.state.load(Ordering::Acquire);
        // SAFETY: the caller is the holder, and the node is in its queue.
        let hands_over = unsafe { !N::is_overtaken(oldest) };
        if hands_over {
            // SAFETY: the caller is the holder, and the node is the first in its queue. Its owner
            // does not hold the lock before it is called below, or is granted.
            unsafe { self.take_out(oldest) };
        }
        loop {
            let called = state & CALLED != 0;
            let new = match (hands_over, called) {
                (true, false) => return Some(oldest),
                (true, true) => state & !CALLED,
                (false, _) => (state | CALLED) & !LOCKED,
            };
            // Release: pairs with the Acquire of the next lock, and of `try_lock_again`.
            match self.state.compare_exchange(state, new, Ordering::Release, Ordering::Acquire) {
                Ok(_) => return (!called).then_some(oldest),
                Err(now) => state = now,
            }
        }
    }

    /// Takes the oldest node out of the queue.
    ///
    /// # Safety
    /// The caller is the holder, and the node is the first in its queue.
    unsafe fn take_out(&self, oldest: *const N) {
        // SAFETY: the queue is the caller's, and its nodes belong to waiters.
        self.queue.with_mut(|queue| unsafe { *queue = N::next(oldest) });
    }

    /// Changes with each node that is linked while the lock is held.
    #[cfg(test)]
    pub(super) fn newcomers(&self) -> usize {
        self.state.load(Ordering::Relaxed)
    }

    /// Takes all nodes from the stack, and returns them with the oldest first. Called by the holder
    /// when the stack is not empty and the queue is.
    #[cold]
    fn take_stack(&self) -> *const N {
        let state = self.state.swap(LOCKED, Ordering::Acquire); // pairs with `link_if_locked`
        let mut node: *const N = ptr::with_exposed_provenance(state & !FLAGS);
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
