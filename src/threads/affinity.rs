//! The affinity that the threads of a run take over from its caller.
//!
//! The kernel keeps two masks for a thread: the one that the thread or its creator has set, if any, and the effective
//! one, which is that within the processors of the cpuset. `sched_getaffinity` returns only the effective mask. So to
//! copy the caller's effective mask into a new thread would confine the thread for good to the processors that the
//! cpuset has now: since Linux 6.2 a cpuset that is widened later does not reach a thread beyond the mask that was set.
//!
//! Therefore a thread sets a mask of all ones, which the kernel intersects with the cpuset. If the result has no
//! processor that the caller's mask lacks, only the cpuset confines the caller, and the thread stays so: it is *open*.
//! If the result is wider, the caller is confined further, and the thread sets the caller's mask. The first thread of a
//! run finds this out, and the others follow it ([`Origin::confined`]), also those that come after the cpuset has
//! changed, when the caller's mask as it was read at the start says nothing any more.
//!
//! To set a mask takes three times as long as to get it (1.2 and 0.4 us). So a thread that is kept remembers what its
//! last setting came to ([`Held`]): where its mask is still the same, and is that of the new run's caller, nothing is
//! set, and the caller is taken to be confined as that of the earlier run was. This can be wrong in one case: the caller
//! of the earlier run was confined, that of the new one is not, and its cpuset has the same processors. Then a cpuset
//! that is widened during the new run does not reach its threads.
//!
//! The kernel does not tell either if the caller has set a mask that contains its whole cpuset. It is
//! taken for one that has set none.

use crate::sys::atomic::{AtomicU32, Ordering};
use crate::sys::processors;
use crate::sys::processors::Mask;

/// The affinity of a run's caller when the run starts.
pub struct Origin {
    pub mask: Mask,
    /// `UNKNOWN`, or what the first thread has found. Relaxed: two that find it out at once find the same unless
    /// the cpuset changes meanwhile, and each acts by what it has found itself.
    confined: AtomicU32,
}

const UNKNOWN: u32 = 0;
/// Only the cpuset confines the caller.
const OPEN: u32 = 1;
/// A mask that was set confines the caller.
const CONFINED: u32 = 2;

impl Origin {
    /// The calling thread's.
    pub fn of_caller() -> Self {
        Origin { mask: Mask::of_caller(), confined: AtomicU32::new(UNKNOWN) }
    }
}

/// What a thread's last setting of its own mask came to.
pub struct Held {
    mask: Mask,
    /// `OPEN` or `CONFINED`; `UNKNOWN`: it has set none.
    by: u32,
    /// It has set none, or another thread has set the mask since.
    stale: bool,
}

impl Held {
    pub fn nothing() -> Self {
        Held { mask: Mask::empty(), by: UNKNOWN, stale: true }
    }

    /// Another thread has set the mask.
    pub fn was_moved(&mut self) {
        self.stale = true;
    }

    /// Gives the calling thread, whose `Held` this is, the affinity of the run's caller.
    pub fn take_over(&mut self, origin: &Origin) {
        if !origin.mask.is_known() {
            return;
        }
        let unchanged = !self.stale && self.mask == Mask::of_caller();
        let same = self.mask == origin.mask;
        let mut confined = origin.confined.load(Ordering::Relaxed);
        // An open thread whose mask has changed says nothing of the processors that the cpuset has now.
        if confined == UNKNOWN && same && (unchanged || self.by == CONFINED) {
            confined = self.by;
            origin.confined.store(confined, Ordering::Relaxed);
        }
        if unchanged && confined == self.by && (same || confined == OPEN) {
            return;
        }
        if confined != CONFINED {
            processors::allow_all();
            let mask = Mask::of_caller();
            if confined == UNKNOWN {
                confined = if mask.is_within(&origin.mask) { OPEN } else { CONFINED };
                origin.confined.store(confined, Ordering::Relaxed);
            }
            *self = Held { mask, by: OPEN, stale: false };
        }
        if confined == CONFINED {
            origin.mask.apply();
            *self = Held { mask: origin.mask, by: CONFINED, stale: false };
        }
    }
}
