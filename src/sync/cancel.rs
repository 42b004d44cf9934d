//! The state of a group: cancelled or not.
//!
//! # Protocol
//!
//! A thread cancels the group by a swap. The group's tasks load it when they begin, and when they
//! ask. A wait that has seen the group's last task end takes the cancellation back by a swap, so
//! only one of several waits reports it.
//!
//! A task that cancels its own group does so before it leaves the group, so each wait for that task
//! sees the cancellation: the state of the group (`super::members`) orders the two. If another
//! thread cancels the group concurrently with the wait, this wait or the next one reports it.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `cancel` | Release | `is_cancelled`: a task that finds the group cancelled sees why |
//! | `is_cancelled` | Acquire | `cancel` |
//! | `take_back` | Relaxed | none: the group's state orders it after the tasks |

use crate::sync::members::no_group;
use crate::sys::atomic::{AtomicUsize, Ordering};

/// Zero is the state of a group that is not cancelled.
#[derive(Default)]
#[repr(transparent)]
pub struct Cancellation(AtomicUsize);

const CANCELLED: usize = 1;

impl Cancellation {
    /// True if the group was not cancelled before.
    pub fn cancel(&self) -> bool {
        self.0.swap(CANCELLED, Ordering::Release) == 0
    }

    #[inline]
    pub fn is_cancelled(&self) -> bool {
        match self.0.load(Ordering::Acquire) {
            0 => false,
            CANCELLED => true, // the Acquire pairs with `cancel`
            other => not_cancelled(other),
        }
    }

    /// Ends the cancellation. True if there was one, and no other call has ended it before.
    #[inline]
    pub fn take_back(&self) -> bool {
        self.is_cancelled() && self.0.swap(0, Ordering::Relaxed) != 0
    }
}

#[cold]
#[inline(never)]
fn not_cancelled(flag: usize) -> ! {
    no_group("sched_group", flag)
}
