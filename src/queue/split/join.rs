//! A pop in two halves, for a join, which takes one particular task. The first half claims the
//! youngest task. The second half takes that task, or undoes the claim.

use crate::queue::PrivatePart;
#[cfg(all(target_arch = "x86_64", sched_rust_1_88))]
use crate::queue::split::record::LAYOUT;
use crate::queue::split::record::{ABANDONED, Held, Slot, Split};
use crate::sys::atomic::Ordering;
use crate::sys::fence::Mode;
use crate::task::Task;

impl<M: Mode> Split<M> {
    /// Claims the youngest task, and takes it if it is `task`. If not, `retake` must follow.
    ///
    /// # Safety
    /// The caller is the owner.
    #[inline(always)]
    pub unsafe fn claim_this(&self, task: Task) -> bool {
        let last = self.claim();
        // SAFETY: at or above `split` the slot is the owner's and holds a whole task.
        self.is_private(last) && unsafe { (*last).holds(task) }
    }

    /// True if `last` is at or above `split`.
    #[inline(always)]
    fn is_private(&self, last: *mut Slot) -> bool {
        #[cfg(all(target_arch = "x86_64", sched_rust_1_88))]
        if !crate::sys::atomic::MODEL {
            // SAFETY: the instruction only reads `split`, an aligned word, as a relaxed load does.
            // (The compiler would use two instructions for load and comparison.)
            unsafe {
                std::arch::asm!("cmp {}, [{} + {}]", "jb {}", in(reg) last, in(reg) self,
                                const LAYOUT[1], label { return false },
                                options(nostack, readonly));
            }
            return true;
        }
        last >= self.split()
    }

    /// Completes a claim that failed. If the youngest task is `task`, is public, and was not
    /// stolen, takes it and returns true. Otherwise undoes the claim; the slot was not changed
    /// meanwhile. A sleeper that looked during the claim may have missed the youngest task: the
    /// caller then looks for sleepers, as after a push (`Policy::restored`).
    ///
    /// # Safety
    /// The caller is the owner, and `claim_this` has just returned false.
    pub unsafe fn retake(&self, task: Task) -> bool {
        let last = self.bot();
        let bot = last.wrapping_add(1);
        let taken = self.split() != ABANDONED && self.top() <= last && {
            let _held = Held::wait(&self.thieves);
            // SAFETY: not stolen, so a whole task; it is read under the lock.
            let taken = self.top() <= last && unsafe { (*last).holds(task) };
            if taken && last < self.split() || self.is_requested() {
                self.redivide(if taken { last } else { bot });
            }
            taken
        };
        if !taken {
            self.own.bot.store(bot, Ordering::Release);
        }
        taken
    }

    /// Claims the youngest task: lowers `bot`, and returns the task's slot. If the slot is below
    /// `split`, the owner does not have it yet.
    #[inline(always)]
    pub(super) fn claim(&self) -> *mut Slot {
        self.own.bot.store(self.bot().wrapping_sub(1), Ordering::Release); // as in `put`
        let last = self.bot();
        M::light(); // with the raid: see the essay, 1
        last
    }
}
