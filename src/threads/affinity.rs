//! The affinity that the threads of a run take over from its caller.
//!
//! The kernel keeps two masks for a thread: the mask that the thread or its creator has set, if
//! any; and the effective mask, which is the part of it within the cpuset. `sched_getaffinity`
//! returns only the effective mask. A thread that set its caller's effective mask would be confined
//! for good to the present processors of the cpuset: since Linux 6.2 a cpuset that is widened later
//! does not reach a thread beyond the mask that was set.
//!
//! Therefore a thread sets a mask of all ones, which the kernel intersects with the cpuset. If the
//! result has no processor that the caller's mask lacks, only the cpuset confines the caller, and
//! the thread keeps the mask of all ones: the thread is *open*. If the result is wider, the caller
//! is confined further, and the thread sets the caller's mask. The first thread of a run finds this
//! out, and the run's other threads act on its finding ([`CallerAffinity::confined`]). So do
//! threads that start after the cpuset has changed: by then the caller's mask, which was read at
//! the run's start, is out of date.
//!
//! Setting a mask takes three times as long as reading it (1.2 and 0.4 us). So a kept thread
//! remembers the result of its last setting ([`ThreadAffinity`]). If its mask is still the same,
//! and equals the mask of the new run's caller, nothing is set, and the new caller is taken to be
//! confined as the earlier run's caller was. This is wrong in one case: the earlier caller was
//! confined, the new caller is not, and the new caller's cpuset has the same processors. Then a
//! cpuset that is widened during the new run does not reach the run's threads.
//!
//! The kernel also does not tell whether the caller has set a mask that contains its whole cpuset.
//! Such a caller is treated like a caller that has set no mask.

use crate::sys::atomic::{AtomicU32, Ordering};
use crate::sys::processors;
use crate::sys::processors::Mask;

/// The affinity of a run's caller when the run starts; for the default pool, the processors that
/// any thread of the process may use at that time.
pub struct CallerAffinity {
    pub mask: Mask,
    /// `UNKNOWN`, or what the first thread has found. Relaxed: two threads that find it out at once
    /// find the same value, unless the cpuset changes; each acts on its own finding.
    confined: AtomicU32,
}

const UNKNOWN: u32 = 0;
/// Only the cpuset confines the caller.
const OPEN: u32 = 1;
/// A mask that was set confines the caller.
const CONFINED: u32 = 2;

impl CallerAffinity {
    pub fn new(mask: Mask) -> Self {
        CallerAffinity { mask, confined: AtomicU32::new(UNKNOWN) }
    }
}

/// The result of a thread's last setting of its own mask.
pub struct ThreadAffinity {
    mask: Mask,
    /// `OPEN` or `CONFINED`; `UNKNOWN` if the thread has set no mask.
    by: u32,
    /// The thread has set no mask, or another thread has changed it since.
    stale: bool,
}

impl ThreadAffinity {
    pub fn nothing() -> Self {
        ThreadAffinity { mask: Mask::empty(), by: UNKNOWN, stale: true }
    }

    /// Notes that another thread has set this thread's mask.
    pub fn was_moved(&mut self) {
        self.stale = true;
    }

    /// Gives the calling thread, which owns this record, the affinity of the run's caller.
    pub fn take_over(&mut self, origin: &CallerAffinity) {
        if !origin.mask.is_known() {
            return;
        }
        let unchanged = !self.stale && self.mask == Mask::of_caller();
        let same = self.mask == origin.mask;
        let mut confined = origin.confined.load(Ordering::Relaxed);
        // An open thread whose mask has changed does not know the cpuset's present processors.
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
            *self = ThreadAffinity { mask, by: OPEN, stale: false };
        }
        if confined == CONFINED {
            origin.mask.apply();
            *self = ThreadAffinity { mask: origin.mask, by: CONFINED, stale: false };
        }
    }
}
