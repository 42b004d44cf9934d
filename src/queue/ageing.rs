//! When the keeper looks at the lines of background tasks: see `runtime::ageing`.
//!
//! # Protocol
//!
//! A thread that adds a background task to an empty line sets `requested`, and then calls the
//! keeper. The keeper takes the request before it looks at the lines. It forgets all lines (`next`
//! is `u64::MAX`) when it has found each of them empty.
//!
//! *While a line is not empty, and no thread is between two steps of this file, the keeper will
//! look.* Proof: suppose that the keeper finds a line empty and forgets it, and that a task is
//! added to this line later. The adder finds the line empty under the same lock, so it sets
//! `requested` and calls the keeper. Either the keeper takes this request at a later look; or it
//! has taken the request already, before it looked at the lines. In the second case the adder's
//! Release and the keeper's Acquire order the addition before the look, so the look finds the task,
//! which contradicts the supposition.
//!
//! A request does not hasten a look at other lines, and a new line is *fresh* at its first look. So
//! the oldest task waits for one to two periods before it ages, and then one in each period.

use crate::sys::atomic::{AtomicBool, AtomicU64, Ordering, const_fn};

/// The time between two looks at the lines, in nanoseconds.
pub const PERIOD: u64 = 50_000_000;

pub struct Ageing {
    /// True if a line is not empty any more.
    requested: AtomicBool,
    /// The time of the next look; `u64::MAX` if no look is due. Only the keeper uses it.
    next: AtomicU64,
}

impl Ageing {
    const_fn! {
        #[allow(clippy::new_without_default, reason = "one constructor is enough")]
        pub fn new() -> Self {
            Ageing { requested: AtomicBool::new(false), next: AtomicU64::new(u64::MAX) }
        }
    }

    /// Called by a thread that has added a task to an empty line, and then calls the keeper.
    pub fn request(&self) {
        self.requested.swap(true, Ordering::Release); // pairs with `look`
    }

    /// For the keeper at the time `now`. Calls `age` if a look is due; `age` looks at all lines,
    /// and returns true if background tasks wait. Returns the time of the next look.
    pub fn look(&self, now: u64, age: impl FnOnce() -> bool) -> u64 {
        let requested = self.requested.swap(false, Ordering::Acquire); // pairs with `request`
        let mut next = self.next.load(Ordering::Relaxed);
        if next <= now {
            next = if age() { now + PERIOD } else { u64::MAX };
        } else if requested && next == u64::MAX {
            next = now + PERIOD;
        }
        self.next.store(next, Ordering::Relaxed);
        next
    }
}
