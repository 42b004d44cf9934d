//! A mutex whose holder hands it over to the one who has waited longest.
//!
//! ```text
//! state   0             free
//!         1             locked
//!         a node + 1    locked; the youngest of those who have come since the holder looked, linked to the
//!                       next older one, and so on
//! queue   those who came before, the oldest first: the holder's
//! holder  0, or the holder's name
//! ```
//! Who finds it locked pushes its node onto the stack in `state`, by one compare-and-swap, which also
//! finds it free if it is. The holder is one at a time, so it needs no lock to take nodes out: when its
//! queue is empty it takes the whole stack and turns it round. It leaves the mutex locked, and grants
//! it. (So does the async_mutex of L. Baker's cppcoro, 2017.)
//!
//! Uncontended, lock and unlock are one compare-and-swap each.
//!
//! # The holder
//!
//! A holder may write its name there, once it has locked the mutex, and removes it before it unlocks. Nobody else
//! writes the field meanwhile. So a caller that finds its own name there holds the mutex, and a holder that has written
//! its name finds it there. But 0, or another's name, tells a caller only that it has not written its own: the mutex may
//! be held by one that has not written its name yet, or, after `try_lock`, does not write it.

use crate::sync::node::Node;
use crate::sys::atomic::{AtomicUsize, Ordering, UnsafeCell};
use std::ptr;

const FREE: usize = 0;
const LOCKED: usize = 1;

/// The C side's `sched_mutex`. All bytes zero is a free one.
#[repr(C)]
pub struct Mutex {
    state: AtomicUsize,
    queue: UnsafeCell<*const Node>,
    holder: AtomicUsize,
}

// SAFETY: the queue is the holder's, and the nodes in it wait.
unsafe impl Send for Mutex {}
// SAFETY: as above.
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

    /// The holder's name, if it is known: see above.
    #[inline]
    pub fn holder(&self) -> usize {
        self.holder.load(Ordering::Relaxed)
    }

    /// True if the caller holds it now.
    #[inline]
    pub fn try_lock(&self) -> bool {
        // Acquire: with the Release of who has unlocked it.
        self.state.compare_exchange(FREE, LOCKED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// True if it is held now, by whose node it is. Else the node is linked, and will be granted; then it
    /// is, too.
    ///
    /// # Safety
    /// The node is in no list, and waits until it is granted.
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
            // SAFETY: the caller's until it is linked.
            unsafe { Node::set_next(node, older) };
            let linked = node.expose_provenance() | LOCKED;
            // Release: the node, to `take_stack`.
            match self.state.compare_exchange(state, linked, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return false,
                Err(now) => state = now,
            }
        }
    }

    /// Unlocks it, unless somebody waits: that holds it now, and is to be granted.
    #[inline]
    pub fn unlock(&self) -> Result<Option<*const Node>, NotLocked> {
        if !self.is_locked() {
            return Err(NotLocked);
        }
        // SAFETY: the holder's, who is the caller.
        let mut oldest = self.queue.with(|queue| unsafe { *queue });
        if oldest.is_null() {
            // Release: to who locks it next.
            match self.state.compare_exchange(LOCKED, FREE, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return Ok(None),
                Err(FREE) => return Err(NotLocked),
                Err(_) => oldest = self.take_stack(),
            }
        }
        // SAFETY: the queue is the caller's, and who is in it waits. The next holder finds it so: it
        // is granted later.
        self.queue.with_mut(|queue| unsafe { *queue = Node::next(oldest) });
        Ok(Some(oldest))
    }

    /// Those who came lately, the oldest first. By the holder, and there are some.
    #[cold]
    fn take_stack(&self) -> *const Node {
        let state = self.state.swap(LOCKED, Ordering::Acquire); // with `lock_or_link`
        let mut node: *const Node = ptr::with_exposed_provenance(state & !LOCKED);
        let mut younger = ptr::null();
        while !node.is_null() {
            // SAFETY: taken out, and not granted yet.
            unsafe {
                let older = Node::next(node);
                Node::set_next(node, younger);
                (younger, node) = (node, older);
            }
        }
        younger
    }
}
