//! A barrier of n, for any number of rounds. All is under the list's lock: who comes links its node,
//! unless it is the n-th: that takes all others out, and grants them. The next round begins when they
//! are out of the list, so who comes early to it does not meet who is late to leave the last.
//!
//! (A counter and a number of the round, on which all spin or sleep, is the barrier of D. Hensgen,
//! R. Finkel and U. Manber, 1988, made plain; it would not say whom to wake.)

use crate::sync::node::{Fifo, Node, Taken};
use crate::sys::atomic::UnsafeCell;

/// The C side's `sched_barrier`.
#[repr(C)]
pub struct Barrier {
    size: usize,
    /// Under the lock.
    arrived: UnsafeCell<usize>,
    list: Fifo,
}

// SAFETY: `arrived` is used under the list's lock.
unsafe impl Send for Barrier {}
// SAFETY: as above.
unsafe impl Sync for Barrier {}

impl Barrier {
    pub fn new(size: usize) -> Self {
        Barrier { size, arrived: UnsafeCell::new(0), list: Fifo::new() }
    }

    pub fn size(&self) -> usize {
        self.size
    }

    /// None: the node is linked, and will be granted. Some: the round is over; the others are to be
    /// granted.
    ///
    /// # Safety
    /// The node was in no list before, and waits until it is granted.
    pub unsafe fn arrive(&self, node: &Node) -> Option<Taken> {
        self.list.locked(|list| {
            // SAFETY: locked; the rest by the caller's promise.
            self.arrived.with_mut(|arrived| unsafe {
                *arrived += 1;
                if *arrived < self.size {
                    list.push(node);
                    return None;
                }
                *arrived = 0;
                Some(list.take())
            })
        })
    }
}
