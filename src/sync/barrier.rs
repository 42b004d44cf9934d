//! A barrier of n tasks, for any number of rounds. Everything happens under the list's lock. Each
//! of the first n - 1 tasks that arrive links its node; the n-th task takes these nodes out, and
//! grants them. The next round begins when they are out of the list. So a task that arrives early
//! for the next round never meets a task that is late to leave the round before.
//!
//! (The usual simple barrier is a counter and a flag that changes with each round; all tasks spin
//! or sleep on the flag. See the sense-reversing centralized barrier in J. Mellor-Crummey and M.
//! Scott, "Algorithms for scalable synchronization on shared-memory multiprocessors", 1991. Such a
//! barrier does not record which tasks wait, so a scheduler cannot resume them.)
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `arrive` | the list's lock | each earlier `arrive`: the last task sees what all have written |
//! | the grants | as in [`super::node`] | each waiter sees what the last task has seen |

use crate::sync::list::{Fifo, Taken};
use crate::sync::node::Node;
use crate::sys::atomic::UnsafeCell;
use std::mem::offset_of;

/// The C side's `sched_barrier`.
#[repr(C)]
pub struct Barrier {
    size: usize,
    /// The number of tasks that have arrived. Used under the lock.
    arrived: UnsafeCell<usize>,
    list: Fifo,
}

// SAFETY: `arrived` is only used under the list's lock.
unsafe impl Send for Barrier {}
// SAFETY: as above.
unsafe impl Sync for Barrier {}

impl Barrier {
    /// The offsets of the two numbers, for an observer.
    pub const SIZE: usize = offset_of!(Barrier, size);
    pub const ARRIVED: usize = offset_of!(Barrier, arrived);

    pub fn new(size: usize) -> Self {
        Barrier { size, arrived: UnsafeCell::new(0), list: Fifo::new() }
    }

    pub fn size(&self) -> usize {
        self.size
    }

    /// None: the node is linked, and will be granted. Some if the round is over; the caller grants
    /// these nodes.
    ///
    /// # Safety
    /// The node was in no list before, and lives until it is granted.
    pub unsafe fn arrive(&self, node: &Node) -> Option<Taken> {
        self.list.locked(|list| {
            // SAFETY: the list is locked; the node lives until it is granted.
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
