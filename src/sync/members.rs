//! How many tasks a group has, and who waits until it has none.
//!
//! ```text
//! state   2 x (tasks that have not ended), + 1 while somebody waits
//! waiter  0, or the name of who waits
//! ```
//!
//! # Protocol
//!
//! A spawn adds 2 to the state before it queues the task, the task's end subtracts 2; both release and acquire.
//! If tasks are left, or nobody waits, that is the end's last access to the group. The last task of a
//! group that somebody waits for takes the name out first, and then swaps 0 for 3 at once: so
//! the group is there until then. If a task was added meanwhile, it puts the name back and goes
//! like any.
//!
//! Who waits puts its name into `waiter`, if nobody else's is there, and then sets the bit, if that
//! is not set: a bit that is set is another's, whose name is just out. So a name is only taken from
//! under its own bit, when its owner is ready to be continued.
//!
//! (The end as a mere subtraction, with a look at the bit afterwards, leaves the bit without a name where a
//! task was added: the next who waits would be continued while it is still leaving its name.)

use crate::base::sync::{AtomicUsize, Ordering};

/// All bytes zero is one without tasks.
#[derive(Default)]
#[repr(C)]
pub struct Members {
    state: AtomicUsize,
    waiter: AtomicUsize,
}

const WAITED: usize = 1;
const TASK: usize = 2;

impl Members {
    /// What changes when it is over.
    pub fn word(&self) -> &AtomicUsize {
        &self.state
    }

    pub fn enter(&self) {
        self.state.fetch_add(TASK, Ordering::Relaxed);
    }

    /// True if none is left.
    pub fn is_over(&self) -> bool {
        self.state.load(Ordering::Acquire) == 0 // with `leave`
    }

    /// A task has ended; the group may be gone afterwards. Returns the name of who is to be continued.
    ///
    /// # Safety
    /// It was counted in, and not out yet.
    pub unsafe fn leave(&self) -> Option<usize> {
        let mut state = self.state.load(Ordering::Acquire); // the waiter is known
        loop {
            let last = state == TASK | WAITED;
            let waiter = if last { self.waiter.swap(0, Ordering::Relaxed) } else { 0 };
            let new = if last { 0 } else { state - TASK };
            // Release: who sees the end sees what the task wrote. Acquire: the waiter is known, and what
            // the other tasks wrote is passed on.
            match self.state.compare_exchange(state, new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return (waiter != 0).then_some(waiter),
                Err(now) => state = now,
            }
            if waiter != 0 {
                self.waiter.store(waiter, Ordering::Relaxed); // released by the exchange to come
            }
        }
    }

    /// Leaves a name. Some(the new state): from now on who has that name is continued when it is over.
    /// None: it is over, or another waits already.
    pub fn leave_name(&self, name: usize) -> Option<usize> {
        let mine = match self.waiter.compare_exchange(0, name, Ordering::Relaxed, Ordering::Relaxed)
        {
            Ok(_) => false,
            Err(other) if other == name => true, // since before
            Err(_) => return None,
        };
        let mut state = self.state.load(Ordering::Relaxed);
        while state != 0 && (mine || state & WAITED == 0) {
            let new = state | WAITED;
            // Release: the waiter is known to `leave`.
            match self.state.compare_exchange(state, new, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Some(new),
                Err(now) => state = now,
            }
        }
        // It is over, or another waits. Who has taken another's name out may have put it back.
        let _ = self.waiter.compare_exchange(name, 0, Ordering::Relaxed, Ordering::Relaxed);
        None
    }
}
