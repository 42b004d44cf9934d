//! The part of a graph (`api::graph`) that its nodes know.

use crate::api::group::Group;
use crate::sys::atomic::{AtomicUsize, Ordering};
use crate::sys::errno::Errno;
use std::cell::Cell;

/// The first field of a graph.
#[repr(C)]
pub struct GraphState {
    pub group: Group,
    state: AtomicUsize,
    /// How many nodes at the beginning of the list have no predecessors. 0: the graph must be
    /// checked.
    pub roots: Cell<usize>,
}

// Values of `state`. Acquire and Release: the end of a run is before what follows it.
const RESTS: usize = 0;
const RUNS: usize = 1;

impl GraphState {
    pub fn new() -> Self {
        let (group, state) = (Group::without_tasks(), AtomicUsize::new(RESTS));
        GraphState { group, state, roots: Cell::new(0) }
    }

    /// Called before the nodes or edges change. Fails with EBUSY if the graph runs.
    pub fn begin_change(&self) -> Result<(), Errno> {
        if self.state.load(Ordering::Acquire) != RESTS {
            return Err(Errno(libc::EBUSY));
        }
        self.roots.set(0);
        Ok(())
    }

    /// False if the graph runs already.
    pub fn begin_run(&self) -> bool {
        let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
        self.state.compare_exchange(RESTS, RUNS, acquire, relaxed).is_ok()
    }

    pub fn end_run(&self) {
        self.state.store(RESTS, Ordering::Release);
    }
}
