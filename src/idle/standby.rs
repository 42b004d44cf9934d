//! The *keeper*: a thread that looks for the kernel's events every tick while no thread sleeps as
//! the poller ([`super::poller`]).
//!
//! # Protocol
//!
//! A thread that has begun a wait, and one that has given the turn back, executes a fence; the
//! second one in `Poller::give_back`. Then it calls the keeper, unless the keeper looks already, or
//! no wait is pending, or a thread sleeps as the poller. (A thread that leaves the poller's sleep,
//! or has served events, does this.)
//!
//! The keeper stops looking when a poller has slept for [`QUIET`] ticks, or no wait is pending. It
//! clears `looks`, executes a fence, and looks at the turn and the number of waits once more.
//!
//! # The bad interleavings
//!
//! 1. *The keeper stops while it is needed.* It does not see the change that another thread has
//!    made, and that thread does not see that `looks` was cleared. The fences of both exclude this.
//! 2. *The wait that begins while the poller leaves.* The one thread sees the poller asleep, and
//!    the other one sees no wait. The fences between the change and the loads exclude this.
//! 3. *The look that passes for a poller.* A wait begins while a worker has the turn for a look.
//!    The look finds nothing, and the worker takes a task that computes for long. So a thread
//!    counts as the poller only while it sleeps.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | fences after a change of `Poller::turn` or `Poller::users` | SeqCst | each other; the keeper's fence |
//! | the keeper's fence between the store of `looks` and the loads of `Poller` | SeqCst | the fences above |
//! | `looks` | Relaxed | these fences; the call of the keeper |
//! | `rounds`, `quiet` | Relaxed | none: only the keeper uses them |

use crate::idle::poller::Poller;
use crate::sys::atomic::{AtomicBool, AtomicUsize, MODEL, Ordering, const_fn, fence};

/// The keeper stops after a poller has slept for this many ticks.
const QUIET: usize = if MODEL { 1 } else { 10 };

pub struct Standby {
    /// True if the keeper looks, or was called to.
    looks: AtomicBool,
    /// `Poller::rounds` at the keeper's last look, and how many looks have found a sleeping poller
    /// since then.
    rounds: AtomicUsize,
    quiet: AtomicUsize,
}

/// The keeper's next action after a look for events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The keeper looks again after a tick.
    Look,
    /// The keeper looks when it is called.
    Rest,
}

impl Standby {
    const_fn! {
        #[allow(clippy::new_without_default, reason = "one constructor is enough")]
        pub fn new() -> Self {
            Standby {
                looks: AtomicBool::new(false),
                rounds: AtomicUsize::new(0),
                quiet: AtomicUsize::new(0),
            }
        }
    }

    /// Called by a thread that has begun a wait. True if it must call the keeper.
    pub fn begins(&self, poller: &Poller) -> bool {
        fence(Ordering::SeqCst); // pairs with the fences in `next` and `Poller::give_back`
        self.must_come(poller)
    }

    /// Called by a thread that may have been the poller, and has given the turn back. True if it
    /// must call the keeper: the other workers may all sleep on futexes.
    #[inline]
    pub fn leaves(&self, poller: &Poller) -> bool {
        poller.is_used() && self.must_come(poller)
    }

    fn must_come(&self, poller: &Poller) -> bool {
        !poller.is_polled()
            && !self.looks.load(Ordering::Relaxed)
            && !self.looks.swap(true, Ordering::Relaxed)
    }

    /// For the keeper: true if it has to look for events now.
    pub fn may_look(&self, poller: &Poller) -> bool {
        self.looks.load(Ordering::Relaxed) || poller.is_used()
    }

    /// For the keeper, after a look.
    pub fn next(&self, poller: &Poller) -> Next {
        let rounds = poller.rounds();
        let is_quiet = self.rounds.swap(rounds, Ordering::Relaxed) == rounds && poller.is_polled();
        let quiet = if is_quiet { self.quiet.load(Ordering::Relaxed) + 1 } else { 0 };
        self.quiet.store(quiet, Ordering::Relaxed);
        let mut goes_on = quiet < QUIET && poller.is_used();
        if !goes_on {
            self.looks.store(false, Ordering::Relaxed);
            fence(Ordering::SeqCst); // pairs with those in `begins` and `Poller::give_back`
            goes_on = poller.is_used() && !poller.is_polled();
        }
        if goes_on {
            self.looks.store(true, Ordering::Relaxed);
            return Next::Look;
        }
        Next::Rest
    }

    /// Called in the child of a fork, which has no keeper.
    pub fn forget(&self) {
        self.looks.store(false, Ordering::Relaxed);
    }
}
