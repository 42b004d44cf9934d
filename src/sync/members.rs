//! How many tasks a group has, and who waits until it has none.
//!
//! ```text
//! state   4 x (tasks that have not ended), + 2 while the last takes the nodes, + 1 if somebody waits
//! nodes   of those who wait, linked; the youngest first
//! ```
//!
//! # Protocol
//!
//! A spawn adds 4 to the state before it queues the task, the task's end subtracts 4; both release and acquire.
//! If tasks are left, or nobody waits, that is the end's last access to the group. The last task of a
//! group that somebody waits for says so in the state, takes the nodes out, and then swaps 0 for the state that
//! it left, if that is there still: so the group is there until then. Else a task was added, or somebody has come to
//! wait: it puts the nodes back, and begins again.
//!
//! Who waits links its node, and then marks the state, taking away the mark of who takes the nodes. If no task
//! is left by then, nobody may come for the nodes any more, and it grants all that are there itself. Its own may have been
//! taken just before: it waits for that in any case. So a node may be granted before the group is
//! over, and who waits looks again.
//!
//! # The bad interleaving
//!
//! The last task takes the nodes, somebody links one, the state becomes 0: nobody grants that node. So who links it
//! changes the state afterwards, in which the one finds the other's mark gone, or the other finds 0.

use super::{Node, Taken};
use crate::base::sync::{AtomicPtr, AtomicUsize, Ordering};
use std::ptr;

/// All bytes zero is one without tasks.
#[derive(Default)]
#[repr(C)]
pub struct Members {
    state: AtomicUsize,
    nodes: AtomicPtr<Node>,
}

const WAITED: usize = 1;
const TAKING: usize = 2;
const TASK: usize = 4;

impl Members {
    pub fn enter(&self) {
        self.state.fetch_add(TASK, Ordering::Relaxed);
    }

    /// True if none is left.
    pub fn is_over(&self) -> bool {
        self.state.load(Ordering::Acquire) == 0 // with `leave`
    }

    /// A task has ended; the group may be gone afterwards. The nodes are to be granted.
    ///
    /// # Safety
    /// It was counted in, and not out yet.
    pub unsafe fn leave(&self) -> Option<Taken> {
        let mut state = self.state.load(Ordering::Relaxed); // the exchange tells if it is outdated
        loop {
            let last = state & !TAKING == TASK | WAITED;
            let new = if last { state | TAKING } else { state - TASK };
            // Release: who sees the end sees what the task wrote. Acquire: what the other tasks wrote is
            // passed on, and the nodes of those who have marked the state are seen.
            match self.state.compare_exchange(state, new, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) if last => {}
                Ok(_) => return None,
                Err(now) => {
                    state = now;
                    continue;
                }
            }
            let nodes = self.take();
            // As above.
            match self.state.compare_exchange(new, 0, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Some(nodes),
                Err(now) => state = now,
            }
            // SAFETY: taken just now.
            unsafe { self.put_back(nodes) };
        }
    }

    /// Somebody is to wait for this node. None: it is granted when the group is over, or before. Else that is over,
    /// and the caller grants these, before it waits.
    ///
    /// # Safety
    /// The node lives until it is granted.
    pub unsafe fn link(&self, node: &Node) -> Option<Taken> {
        // SAFETY: the caller's, and alone.
        unsafe { self.put_back(Taken(node)) };
        let mut state = self.state.load(Ordering::Relaxed); // the exchange tells if it is outdated
        while state >= TASK {
            let new = (state | WAITED) & !TAKING;
            // Release: the node is seen by who takes the nodes.
            match self.state.compare_exchange(state, new, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return None,
                Err(now) => state = now,
            }
        }
        Some(self.take())
    }

    fn take(&self) -> Taken {
        Taken(self.nodes.swap(ptr::null_mut(), Ordering::Acquire)) // with `put_back`
    }

    /// # Safety
    /// The nodes are the caller's.
    unsafe fn put_back(&self, Taken(first): Taken) {
        if first.is_null() {
            return;
        }
        let mut last = first;
        let mut next = self.nodes.load(Ordering::Relaxed);
        // SAFETY: by the caller's promise, until they are linked.
        unsafe {
            while !Node::next(last).is_null() {
                last = Node::next(last);
            }
            loop {
                Node::set_next(last, next);
                // Release: who takes them sees how they are linked.
                let first = first.cast_mut();
                match self.nodes.compare_exchange(next, first, Ordering::Release, Ordering::Relaxed)
                {
                    Ok(_) => return,
                    Err(now) => next = now,
                }
            }
        }
    }
}
