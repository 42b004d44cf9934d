//! A mutex that newcomers may take before its waiters, a bounded number of times and for a limited
//! time: the lock of [`crate::lock::handover`], whose waiters are tasks.
//!
//! # How long a waiter is overtaken
//!
//! When the mutex is unlocked, its oldest waiter is woken and competes with newcomers. It needs
//! less than a microsecond to arrive if a worker takes its task at once, and 50 µs if a sleeping
//! thread must be woken. Others may get the mutex first, but at most `PATIENCE` times
//! ([`super::node`]). After that an unlock hands the mutex over to the waiter. An unlock also hands
//! it over if the waiter was overtaken for longer than `PATIENT_FOR`. The clock is read when the
//! count reaches a power of two, so this may take a little more than twice that time, and the
//! section of one holder. The time limit matters for long sections: a task that holds the mutex for
//! a millisecond, and locks it again at once, would otherwise keep others waiting for seconds.
//!
//! An empty section by a task that overtakes takes 14 ns, so 4096 of them take as long as a
//! sleeping thread needs to wake. A smaller number would hand the mutex to threads that sleep.
//!
//! # Looking again
//!
//! A caller that finds the mutex locked looks again for about a microsecond before it waits
//! ([`Look`]). A waiter that was woken does the same. This is only useful if the holder can run at
//! the same time. So the caller does it only if the process has two processors, and the caller's
//! run has several workers but no more than processors.
//!
//! # Rejected
//!
//! Handing over at each unlock, the rule until version 1.0: with 8 tasks and 8 threads on 2
//! processors the convoy made an empty section take 21,000 to 38,000 ns instead of 40. Never
//! handing over: in the same series a thread waited during 700,000 sections of others, and some
//! threads got no section at all before the others had finished. A time limit alone, as in
//! parking_lot (half a millisecond on average) and WebKit (a millisecond): a test cannot
//! distinguish a broken limit from a busy machine. Counting wake-ups in vain instead of reading the
//! clock: a task that waits in the queue of the holder's own worker is never woken in vain.
//!
//! # The holder
//!
//! A holder may write its name into `holder` once it has locked the mutex, and removes it before it
//! unlocks. In between no other task writes the field. So a caller that finds its own name there
//! holds the mutex. A caller that finds 0 or another name may still hold the mutex, since
//! `try_lock` writes no name.
//!
//! # Orderings
//!
//! The orderings are those of [`crate::lock::handover`]. The grant of its node (`super::node`)
//! orders a waiter that was not called after the last holder. `holder` is Relaxed: a caller only
//! looks for its own name.

pub use crate::lock::handover::NotLocked;

use crate::lock::handover::Handover;
use crate::sync::node::Node;
use crate::sys::atomic::{AtomicUsize, Ordering};
use crate::sys::atomic::{MODEL, spin_loop};
use std::mem::offset_of;

/// The number of looks of a caller, with a pause of the processor in between.
const LOOKS: u32 = 32;

/// The C side's `sched_mutex`. All bytes zero is a free mutex.
#[derive(Default)]
#[repr(C)]
pub struct Mutex {
    lock: Handover<Node>,
    /// 0, or the holder's name.
    holder: AtomicUsize,
}

impl Mutex {
    /// The offset of the holder's name, for an observer.
    pub const HOLDER: usize = offset_of!(Mutex, holder);

    #[inline]
    pub fn is_locked(&self) -> bool {
        self.lock.is_locked()
    }

    /// Called by the holder: writes its name, which is not 0, or removes it.
    #[inline]
    pub fn set_holder(&self, name: usize) {
        self.holder.store(name, Ordering::Relaxed);
    }

    /// The holder's name, if it is known: see "The holder" above.
    #[inline]
    pub fn holder(&self) -> usize {
        self.holder.load(Ordering::Relaxed)
    }

    /// True if the caller now holds the mutex, for which nobody waits.
    #[inline]
    pub fn try_lock(&self) -> bool {
        self.lock.try_lock()
    }

    /// True if the caller now holds the mutex, for which others may wait.
    pub fn try_overtake(&self, look: Look) -> bool {
        look.until(|| self.lock.try_overtake())
    }

    /// True if the caller now holds the mutex. Otherwise the node is linked, and will be granted;
    /// its owner then calls `lock_again_or_wait`.
    ///
    /// # Safety
    /// The node is in no list, and lives until its owner holds the mutex.
    pub unsafe fn lock_or_link(&self, node: *const Node) -> bool {
        // SAFETY: the node is in no list, and lives until its owner holds the mutex.
        unsafe { self.lock.lock_or_link(node) }
    }

    /// Links the node, even if the mutex is free. Returns a node for the caller to grant, if any.
    ///
    /// # Safety
    /// The node is in no list, and lives until its owner holds the mutex.
    pub unsafe fn link(&self, node: *const Node) -> Option<*const Node> {
        // SAFETY: the node is in no list, and lives until its owner holds the mutex.
        unsafe { self.lock.link(node) }
    }

    /// Called by the owner of a node that was granted. True if it now holds the mutex. Otherwise
    /// the node waits again, still the first in line, and will be granted again.
    ///
    /// # Safety
    /// The node was linked, and was granted since it last began to wait.
    pub unsafe fn lock_again_or_wait(&self, node: &Node, look: Look) -> bool {
        // SAFETY: the node was linked, and was granted since it last began to wait.
        if look.until(|| unsafe { self.lock.try_lock_again(node) }) {
            return true;
        }
        node.begin_again();
        // SAFETY: as above; the node is ready to be granted.
        unsafe { self.lock.lock_again_or_wait(node) }
    }

    /// Unlocks the mutex. Returns a node for the caller to grant, if there is one.
    #[inline]
    pub fn unlock(&self) -> Result<Option<*const Node>, NotLocked> {
        self.lock.unlock()
    }
}

/// The time for which a caller that finds the mutex locked looks again before it waits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Look {
    Once,
    /// For about a microsecond.
    Awhile,
}

impl Look {
    /// True as soon as `attempt` returns true.
    fn until(self, attempt: impl Fn() -> bool) -> bool {
        // In the models one look reaches every interleaving that more would.
        if self == Look::Awhile && !MODEL {
            return attempt() || (1..LOOKS).any(|_| pause_and(&attempt));
        }
        attempt()
    }
}

fn pause_and(attempt: impl Fn() -> bool) -> bool {
    spin_loop();
    attempt()
}
