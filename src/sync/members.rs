//! How many tasks a group has, and the tasks that wait until it has none.
//!
//! ```text
//! state   4 x (tasks that have not ended), + 2 while the last task takes the nodes, + 1 if a task
//!         waits
//! nodes   the waiters' nodes, linked; the youngest first
//! ```
//!
//! # Protocol
//!
//! A spawn adds 4 to the state before it queues the task, and the task's end subtracts 4. If tasks
//! are left, or nobody waits, the subtraction is the task's last access to the group. The last task
//! of a group with waiters sets the mark 2, takes the nodes out, and then replaces the marked state
//! by 0 if it is unchanged; so the group exists until then. If the state has changed, a task was
//! added, or another waiter has come: the last task puts the nodes back, and begins again.
//!
//! A waiter links its node, and then changes the state: it sets 1 and clears the mark 2. If no task
//! is left by then, no last task will take the nodes, and the waiter grants all linked nodes
//! itself. The last task may have taken the waiter's own node just before; so the waiter waits for
//! its grant in any case. A node may therefore be granted before the group is over, and a waiter
//! that continues looks again.
//!
//! # The bad interleaving
//!
//! The last task takes the nodes, a waiter links its node, the state becomes 0: nobody grants that
//! node. This is excluded, because the waiter changes the state after it has linked the node:
//! either the last task finds its mark cleared, or the waiter finds 0.
//!
//! A waiter whose deadline has come takes all nodes out, and puts the others back. Then it changes
//! the state as if it had linked them, for the same reason. If its own node is not there, another
//! thread has it for a moment, or is about to grant it; so it looks again until either has
//! happened. (A line of nodes that each knows its neighbours would need a lock, which each last
//! task would take. A group seldom has more than one waiter.)
//!
//! # Mistakes
//!
//! The state is 0, or counts at least one task; and memory ends long before a count reaches
//! [`MOST`]. Any other value means that the group was not initialised, or that its memory was used
//! for something else. Then the process ends with a message. (A spawn only compares with `MOST`:
//! the task's end, or the wait, finds the rest.)
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `enter`: addition | Relaxed | the queue that the task goes through |
//! | `leave`: exchanges | AcqRel | `is_over`: the tasks' writes; the other tasks' `leave`; `link` |
//! | `link`, `leave_line`: exchange | AcqRel | `leave`: the task that takes the nodes sees this one |
//! | `is_over`: load | Acquire | `leave` |
//! | `put_back`: exchange of `nodes` | Release | `take`: how the nodes are linked |
//! | `take`: swap of `nodes` | Acquire | `put_back` |
//! | first loads of the loops | Relaxed | none: the exchange fails if they are stale |

use crate::lock::handover::Link;
use crate::lock::trylock::Backoff;
use crate::sync::list::Taken;
use crate::sync::node::Node;
use crate::sys::atomic::{AtomicPtr, AtomicUsize, Ordering};
use crate::sys::output;
use std::mem::offset_of;
use std::ptr;

/// All bytes zero is a group without tasks.
#[derive(Default)]
#[repr(C)] // the state is first: `inspect` relies on it
pub struct Members {
    state: AtomicUsize,
    nodes: AtomicPtr<Node>,
}

const WAITED: usize = 1;
const TAKING: usize = 2;
const TASK: usize = 4;

/// Greater than any state: each task takes memory, and no process has memory for 2^44 tasks.
const MOST: usize = 1 << 46;

#[inline(always)]
fn has_tasks(state: usize) -> bool {
    state.wrapping_sub(TASK) < MOST
}

impl Members {
    /// For a debugger: the state that counts one task.
    pub const FOR_DEBUGGER: [(&str, usize); 2] =
        [("group.state", offset_of!(Members, state)), ("group.task", TASK)];

    /// For an observer: the number of tasks that a state counts.
    pub fn tasks_in(state: usize) -> usize {
        state / TASK
    }

    #[inline]
    pub fn enter(&self) {
        self.enter_all(1);
    }

    /// Like `enter`, for this many tasks.
    #[inline(always)]
    pub fn enter_all(&self, tasks: usize) {
        let state = self.state.fetch_add(TASK * tasks, Ordering::Relaxed);
        if state >= MOST {
            no_group_to_enter(state);
        }
    }

    /// Ends the process with a message if the state shows that this is not a group.
    pub fn check(&self, function: &str) {
        let state = self.state.load(Ordering::Relaxed);
        if !has_tasks(state) && state != 0 {
            no_group(function, state);
        }
    }

    pub fn is_over(&self) -> bool {
        self.state.load(Ordering::Acquire) == 0 // pairs with `leave`
    }

    /// A task has ended. Returns nodes for the caller to grant. The group may be gone afterwards.
    ///
    /// # Safety
    /// The task was counted by `enter`, and has not left yet.
    pub unsafe fn leave(&self) -> Option<Taken> {
        let mut state = self.state.load(Ordering::Relaxed); // the exchange fails if this is stale
        loop {
            if !has_tasks(state) {
                overwritten(state);
            }
            let last = state & !TAKING == TASK | WAITED;
            let new = if last { state | TAKING } else { state - TASK };
            // Release: pairs with `is_over`; a waiter that sees the end sees what the task wrote.
            // Acquire: pairs with the other tasks' `leave`, whose writes are passed on, and with
            // `link`, whose nodes are seen.
            match self.state.compare_exchange(state, new, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) if last => {}
                Ok(_) => return None,
                Err(now) => {
                    state = now;
                    continue;
                }
            }
            let nodes = self.take();
            // Pairs with `is_over`, `leave` and `link`, like the exchange above.
            match self.state.compare_exchange(new, 0, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Some(nodes),
                Err(now) => state = now,
            }
            // SAFETY: this call has just taken the nodes.
            unsafe { self.put_back(nodes) };
        }
    }

    /// Adds a waiter's node. None means that another thread grants the node when the group is over,
    /// or before. Some if the group is over; the caller grants these nodes before it waits.
    ///
    /// # Safety
    /// The node lives until it is granted.
    pub unsafe fn link(&self, node: &Node) -> Option<Taken> {
        // SAFETY: the node is the caller's, and linked to no other.
        unsafe { self.put_back(Taken(node)) };
        self.look_again()
    }

    /// Takes out the node of a waiter whose deadline has come. False if another thread has granted
    /// it. Calls `grant` with nodes that the caller is to grant, because the group is over.
    ///
    /// # Safety
    /// The node was linked by `link`, and the caller waits for the group.
    pub unsafe fn leave_line(&self, node: &Node, mut grant: impl FnMut(Taken)) -> bool {
        let mut backoff = Backoff::default();
        while !node.is_granted() {
            // SAFETY: the nodes are the caller's now.
            let (found, others) = unsafe { without(self.take(), node) };
            if !others.0.is_null() {
                // SAFETY: as above.
                unsafe { self.put_back(others) };
                self.look_again().into_iter().for_each(&mut grant);
            }
            if found {
                return true;
            }
            backoff.wait(); // another thread holds the node for a moment, or is about to grant it
        }
        false
    }

    /// Called when nodes were linked. Returns what `link` returns.
    fn look_again(&self) -> Option<Taken> {
        let mut state = self.state.load(Ordering::Relaxed); // the exchange fails if this is stale
        while state >= TASK {
            let new = (state | WAITED) & !TAKING;
            // Release: pairs with the Acquire in `leave`, which then sees the node.
            match self.state.compare_exchange(state, new, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return None,
                Err(now) => state = now,
            }
        }
        Some(self.take())
    }

    fn take(&self) -> Taken {
        Taken(self.nodes.swap(ptr::null_mut(), Ordering::Acquire)) // pairs with `put_back`
    }

    /// # Safety
    /// The nodes are the caller's.
    unsafe fn put_back(&self, Taken(first): Taken) {
        if first.is_null() {
            return;
        }
        let mut last = first;
        let mut next = self.nodes.load(Ordering::Relaxed);
        // SAFETY: the nodes are the caller's until they are linked.
        unsafe {
            while !Node::next(last).is_null() {
                last = Node::next(last);
            }
            loop {
                Node::set_next(last, next);
                // Release: pairs with `take`, which then sees how the nodes are linked.
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

/// Takes `node` out of the nodes. Returns whether it was among them, and the others.
///
/// # Safety
/// The nodes are the caller's.
unsafe fn without(Taken(first): Taken, node: *const Node) -> (bool, Taken) {
    if ptr::eq(first, node) {
        // SAFETY: the nodes are the caller's.
        return (true, Taken(unsafe { Node::next(node) }));
    }
    let mut before = first;
    // SAFETY: the nodes are the caller's.
    unsafe {
        while !before.is_null() {
            let next = Node::next(before);
            if ptr::eq(next, node) {
                Node::set_next(before, Node::next(node));
                return (true, Taken(first));
            }
            before = next;
        }
    }
    (false, Taken(first))
}

/// Ends the process: the program has passed memory that is not a group.
#[cold]
#[inline(never)]
pub fn no_group(function: &str, state: usize) -> ! {
    output::die_in_call(format_args!(
        "{function}: the group was not initialised, or its memory was used for something else: it holds {state:#x}; \
         a group begins as SCHED_GROUP_INIT, and must stay where it is until sched_group_wait has returned"
    ))
}

/// Ends the process: a task is to be added to memory that is not a group.
#[cold]
#[inline(never)]
fn no_group_to_enter(state: usize) -> ! {
    no_group("sched_group_spawn", state)
}

/// Ends the process: a task has ended, and its group's memory is not a group any more.
#[cold]
#[inline(never)]
fn overwritten(state: usize) -> ! {
    output::die(format_args!(
        "sched_group: a task has ended, but the memory of its group was used for something else: it holds {state:#x}; \
         a group must stay where it is until sched_group_wait has returned"
    ))
}
