//! Which thread cuts off the waits that a cancellation reaches, and when (`api::cancel`).
//!
//! # Protocol
//!
//! A thread that cancels a group first marks the group, and then requests a cut if any wait has an
//! entry. A task of a group first adds an entry for its wait, or notes that it waits for another
//! group, and then requests a cut if any group of the process is cancelled. A fence stands between
//! the two steps of each side, so the cut finds the entry, or the task finds the mark.
//!
//! # The bad interleaving
//!
//! The keeper and idle workers may cut at once. If one bit told that a thread cuts, the first one
//! that is done would clear the bit while another one is about to cut for a later request; then the
//! proof of a deadlock would overlook that cut. So the threads are counted, and each counts itself
//! before it takes the request back: `state` is 0 only if each requested cut is done.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `cancel`: fence between the mark and the look for entries | SeqCst | the fence in `waits` |
//! | `waits`: fence between the entry or note and `cancelled` | SeqCst | the fence in `cancel` |
//! | `cancelled` | Relaxed | these fences |
//! | `state` | SeqCst | `may_act`: what was cut off is queued |

use crate::deadline::Deadlines;
use crate::sync::cancel::Cancellation;
use crate::sys::atomic::{AtomicUsize, Ordering, const_fn, fence};

pub struct Cuts {
    /// How many groups are cancelled.
    cancelled: AtomicUsize,
    /// The bit `REQUESTED`, and `CUTTING` for each thread that cuts off waits.
    state: AtomicUsize,
}

/// The bit: waits are to be cut off that a cancellation has reached.
const REQUESTED: usize = 1;
/// For each thread that cuts off waits.
const CUTTING: usize = 2;

impl Cuts {
    const_fn! {
        #[allow(clippy::new_without_default, reason = "one constructor is enough")]
        pub fn new() -> Self {
            Cuts { cancelled: AtomicUsize::new(0), state: AtomicUsize::new(0) }
        }
    }

    /// Cancels the group. True if the caller must call the keeper. Async-signal-safe.
    pub fn cancel(&self, group: &Cancellation, deadlines: &Deadlines) -> bool {
        if group.cancel() {
            self.cancelled.fetch_add(1, Ordering::Relaxed);
        }
        fence(Ordering::SeqCst); // pairs with the fence in `waits`
        self.request(deadlines)
    }

    /// Ends a cancellation. True if there was one, and no other call has ended it before.
    #[inline]
    pub fn take_back(&self, group: &Cancellation) -> bool {
        let taken = group.take_back();
        if taken {
            self.cancelled.fetch_sub(1, Ordering::Relaxed);
        }
        taken
    }

    /// Called by a task of a group that has added its entry, or has noted that it waits for another
    /// group. True if the caller must call the keeper.
    pub fn waits(&self, deadlines: &Deadlines) -> bool {
        fence(Ordering::SeqCst); // pairs with the fence in `cancel`
        self.cancelled.load(Ordering::Relaxed) != 0 && self.request(deadlines)
    }

    fn request(&self, deadlines: &Deadlines) -> bool {
        let has_entries = deadlines.has_entries();
        if has_entries {
            self.state.fetch_or(REQUESTED, Ordering::SeqCst);
        }
        has_entries
    }

    /// Calls `cut`, which cuts off the waits, if that was requested. If another request comes
    /// meanwhile, there is a further look: the keeper was called, or an idle worker looks again.
    pub fn serve(&self, cut: impl FnOnce()) {
        if self.state.load(Ordering::SeqCst) & REQUESTED == 0 {
            return;
        }
        self.state.fetch_add(CUTTING, Ordering::SeqCst);
        self.state.fetch_and(!REQUESTED, Ordering::SeqCst);
        cut();
        self.state.fetch_sub(CUTTING, Ordering::SeqCst);
    }

    /// True if waits may be cut off: for the proof of a deadlock.
    pub fn may_act(&self) -> bool {
        self.state.load(Ordering::SeqCst) != 0
    }

    /// In the child of a fork, which has no thread that cuts.
    pub fn forget(&self) {
        self.state.store(0, Ordering::Relaxed);
    }
}
