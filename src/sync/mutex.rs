//! A mutex whose holder hands it over to the oldest waiter.
//!
//! ```text
//! state   0             free
//!         1             locked
//!         a node + 1    locked; the node of the youngest waiter since the holder's last look,
//!                       linked to the next older one, and so on
//! queue   the waiters that came before, the oldest first; only the holder uses it
//! holder  0, or the holder's name
//! ```
//! A task that finds the mutex locked pushes its node onto the stack in `state` by one
//! compare-and-swap, which fails if the mutex has become free. There is one holder at a time, so
//! the holder needs no lock to take nodes out: when `queue` is empty, it takes the whole stack and
//! reverses it. An unlock with waiters leaves the mutex locked and grants it to the oldest waiter.
//! (The async_mutex of L. Baker's cppcoro, 2017, does the same.)
//!
//! Uncontended, lock and unlock are one compare-and-swap each.
//!
//! # The holder
//!
//! A holder may write its name into `holder` once it has locked the mutex, and removes it before it
//! unlocks. No other task writes the field meanwhile. So a caller that finds its own name there
//! holds the mutex. A caller that finds 0 or another name learns only that it has not written its
//! own: it may hold the mutex all the same, since `try_lock` writes no name.

use crate::sync::node::Node;
use crate::sys::atomic::{AtomicUsize, Ordering, UnsafeCell};
use std::ptr;

const FREE: usize = 0;
const LOCKED: usize = 1;

/// The C side's `sched_mutex`. All bytes zero is a free mutex.
#[repr(C)]
pub struct Mutex {
    state: AtomicUsize,
    queue: UnsafeCell<*const Node>,
    holder: AtomicUsize,
}

// SAFETY: only the holder uses the queue, and the nodes in it belong to waiting tasks.
unsafe impl Send for Mutex {}
// SAFETY: only the holder uses the queue, and the nodes in it belong to waiting tasks.
unsafe impl Sync for Mutex {}

/// The mutex is not locked.
#[derive(Debug)]
pub struct NotLocked;

impl Default for Mutex {
    fn default() -> Self {
        Mutex {
            state: AtomicUsize::new(FREE),
            queue: UnsafeCell::new(ptr::null()),
            holder: AtomicUsize::new(0),
        }
    }
}

impl Mutex {
    pub fn is_locked(&self) -> bool {
        self.state.load(Ordering::Relaxed) != FREE
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
        // Acquire: pairs with the Release of the task that has unlocked the mutex.
        self.state.compare_exchange(FREE, LOCKED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// True if the node's task now holds the mutex. Else the node is linked; when it is granted,
    /// its task holds the mutex.
    ///
    /// # Safety
    /// The node is in no list, and lives until it is granted.
    pub unsafe fn lock_or_link(&self, node: *const Node) -> bool {
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
            unsafe { Node::set_next(node, older) };
            let linked = node.expose_provenance() | LOCKED;
            // Release: pairs with the Acquire in `take_stack`; the node is published.
            match self.state.compare_exchange(state, linked, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return false,
                Err(now) => state = now,
            }
        }
    }

    /// Unlocks the mutex if nobody waits. Else returns the next holder's node, which the caller
    /// grants.
    #[inline]
    pub fn unlock(&self) -> Result<Option<*const Node>, NotLocked> {
        if !self.is_locked() {
            return Err(NotLocked);
        }
        // SAFETY: the queue is the holder's, who is the caller.
        let mut oldest = self.queue.with(|queue| unsafe { *queue });
        if oldest.is_null() {
            // Release: pairs with the Acquire of the next lock.
            match self.state.compare_exchange(LOCKED, FREE, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return Ok(None),
                Err(FREE) => return Err(NotLocked),
                Err(_) => oldest = self.take_stack(),
            }
        }
        // SAFETY: the queue is the caller's, and its nodes belong to waiting tasks. The next
        // holder's node is granted later, so that holder finds the queue changed.
        self.queue.with_mut(|queue| unsafe { *queue = Node::next(oldest) });
        Ok(Some(oldest))
    }

    /// Takes the waiters on the stack, and returns them with the oldest first. Called by the holder
    /// when the stack is not empty.
    #[cold]
    fn take_stack(&self) -> *const Node {
        let state = self.state.swap(LOCKED, Ordering::Acquire); // pairs with `lock_or_link`
        let mut node: *const Node = ptr::with_exposed_provenance(state & !LOCKED);
        let mut younger = ptr::null();
        while !node.is_null() {
            // SAFETY: the node was taken out, and is not granted yet.
            unsafe {
                let older = Node::next(node);
                Node::set_next(node, younger);
                (younger, node) = (node, older);
            }
        }
        younger
    }
}
