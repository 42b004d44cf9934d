//! Decides which thread cuts off the waits that a cancellation reaches, and when (`api::cancel`).
//!
//! # Protocol
//!
//! A thread that cancels a group first marks the group, and then requests a cut if any wait has an
//! entry. A task of a group first adds an entry for its wait, or notes that it waits for another
//! group. If any group of the process is cancelled, it then looks at its own group, and requests a
//! cut if that is cancelled, or if a task waits for it. A fence stands between the two steps of
//! each side.
//!
//! *No cut is missed.* Suppose that a wait is in the line of a cancelled group. Then several
//! threads have each written something: the entry of the wait, the mark, and for each group between
//! the two a note in the list of the group before it. Each thread then executes its fence. The last
//! of these fences makes visible what the other threads have written. If its thread has cancelled
//! the group, it finds the entry. If its thread has added the entry or a note, it finds that its
//! own group is cancelled, or that its own group's list has a note. So it requests a cut.
//!
//! The keeper and idle workers may cut, but one thread at a time: two threads that followed the
//! notes of the same groups could each wait for a list that the other thread has locked. `state` is
//! 0 only if each requested cut is done. A thread takes the request and the right to cut in one
//! step. A thread that finds another one cutting leaves a new request to that thread. The cutting
//! thread makes one cut and then has the keeper look again, since requests may come without end,
//! and the thread has other work. Whoever requests a cut calls the keeper, so the keeper need not
//! call itself.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `cancel`: fence between the mark and the look for entries | SeqCst | the fence in `waits` |
//! | `waits`: fence between the entry or note and `cancelled` | SeqCst | the fence in `cancel` |
//! | `cancelled` | Relaxed | these fences |
//! | `state` | SeqCst | `may_act`: what was cut off is queued; each other: one cut after the other |

use crate::deadline::Deadlines;
use crate::sync::cancel::Cancellation;
use crate::sys::atomic::{AtomicUsize, Ordering, const_fn, fence};

pub struct Cuts {
    /// The number of cancelled groups.
    cancelled: AtomicUsize,
    /// `REQUESTED`, `CUTTING`, both or 0.
    state: AtomicUsize,
}

/// Waits that a cancellation has reached are to be cut off.
const REQUESTED: usize = 1;
/// A thread cuts off waits.
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
        self.cancelled.fetch_add(1, Ordering::Relaxed); // before the mark: others may act on it
        if !group.cancel() {
            self.cancelled.fetch_sub(1, Ordering::Relaxed);
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
    /// group. `is_reached` tells whether the task's group is cancelled, or a task waits for it.
    /// True if the caller must call the keeper.
    pub fn waits(&self, deadlines: &Deadlines, is_reached: impl FnOnce() -> bool) -> bool {
        fence(Ordering::SeqCst); // pairs with the fence in `cancel`
        self.cancelled.load(Ordering::Relaxed) != 0 && is_reached() && self.request(deadlines)
    }

    fn request(&self, deadlines: &Deadlines) -> bool {
        let has_entries = deadlines.has_entries();
        if has_entries {
            self.state.fetch_or(REQUESTED, Ordering::SeqCst);
        }
        has_entries
    }

    /// Calls `cut`, which cuts off the waits, if that was requested and no other thread does so.
    /// True if a cut was requested again during the call: then the caller must call the keeper,
    /// unless the caller is the keeper.
    pub fn serve(&self, cut: impl FnOnce()) -> bool {
        let order = Ordering::SeqCst;
        if self.state.compare_exchange(REQUESTED, CUTTING, order, order).is_err() {
            return false;
        }
        cut();
        self.state.fetch_and(!CUTTING, order) & REQUESTED != 0
    }

    /// True if waits may be cut off: for the proof of a deadlock.
    pub fn may_act(&self) -> bool {
        self.state.load(Ordering::SeqCst) != 0
    }

    /// Called in the child of a fork, which has no thread that cuts.
    pub fn forget(&self) {
        self.state.store(0, Ordering::Relaxed);
    }
}
