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
//!
//! # Mistakes
//!
//! The state is 0, or counts a task; and memory ends long before a count comes to [`MOST`]. Any other value is that of a
//! group which was not initialised, or whose memory was used for something else. Then the process ends with a message.
//! (A spawn compares with `MOST` alone: what is less is found by the task's end, or the wait.)

use crate::sync::node::{Node, Taken};
use crate::sys::atomic::{AtomicPtr, AtomicUsize, Ordering};
use crate::sys::output;
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

/// Greater than any state: each task takes memory, of which no process has 2^46 bytes for each of its bits.
const MOST: usize = 1 << 46;

/// True if it is that of a group with tasks.
#[inline(always)]
fn has_tasks(state: usize) -> bool {
    state.wrapping_sub(TASK) < MOST
}

impl Members {
    #[inline]
    pub fn enter(&self) {
        let state = self.state.fetch_add(TASK, Ordering::Relaxed);
        if state >= MOST {
            no_group_to_enter(state);
        }
    }

    /// Ends the process with a message if this is no group, as far as one can see.
    pub fn check(&self, function: &str) {
        let state = self.state.load(Ordering::Relaxed);
        if !has_tasks(state) && state != 0 {
            no_group(function, state);
        }
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
            if !has_tasks(state) {
                overwritten(state);
            }
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

/// The caller has passed what is no group.
#[cold]
#[inline(never)]
pub fn no_group(function: &str, state: usize) -> ! {
    output::die_in_call(format_args!(
        "{function}: the group was not initialised, or its memory was used for something else: it holds {state:#x}; \
         a group begins as SCHED_GROUP_INIT, and must stay where it is until sched_group_wait has returned"
    ))
}

/// A task is to be added.
#[cold]
#[inline(never)]
fn no_group_to_enter(state: usize) -> ! {
    no_group("sched_group_spawn", state)
}

/// A task of the group has ended.
#[cold]
#[inline(never)]
fn overwritten(state: usize) -> ! {
    output::die(format_args!(
        "sched_group: a task has ended, and the memory of its group was used for something else: it holds {state:#x}; \
         a group must stay where it is until sched_group_wait has returned"
    ))
}
