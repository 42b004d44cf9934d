//! A lock of one byte, for sections of a few instructions: thieves try it and go elsewhere,
//! those who must have it spin.
//!
//! Test and test-and-set (L. Rudolph, Z. Segall, 1984) with exponential backoff (T. Anderson,
//! 1990). The holder may have lost its processor: after about a microsecond of pauses the
//! waiter gives its own away at each try, and after some milliseconds it sleeps a little, for a
//! holder of lower priority.

use super::sync::{AtomicBool, Ordering, spin_loop};
#[cfg(not(loom))]
use super::thread;

pub struct TryLock(AtomicBool);

#[cfg(not(loom))]
const PAUSES_BEFORE_GIVING_WAY: u32 = 64;
#[cfg(not(loom))]
const YIELDS_BEFORE_SLEEPING: u32 = 4096;

impl TryLock {
    pub fn new() -> Self {
        TryLock(AtomicBool::new(false))
    }

    /// True if the caller now holds the lock.
    #[inline]
    pub fn try_lock(&self) -> bool {
        !self.0.load(Ordering::Relaxed) && self.set()
    }

    #[cfg(not(loom))]
    #[inline(always)]
    fn set(&self) -> bool {
        !self.0.swap(true, Ordering::Acquire)
    }

    /// To loom, a swap in vain may come after the unlocking in the order of the stores, for ever.
    #[cfg(loom)]
    fn set(&self) -> bool {
        self.0.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[inline]
    pub fn lock(&self) {
        if !self.set() {
            self.lock_contended();
        }
    }

    /// # Safety
    /// The caller holds the lock.
    #[inline]
    pub unsafe fn unlock(&self) {
        self.0.store(false, Ordering::Release); // pairs with the swaps
    }

    #[cfg(not(loom))]
    #[cold]
    fn lock_contended(&self) {
        let (mut pauses, mut yields) = (1, 0);
        while !self.try_lock() {
            if pauses <= PAUSES_BEFORE_GIVING_WAY {
                (0..pauses).for_each(|_| spin_loop());
                pauses *= 2;
            } else if yields < YIELDS_BEFORE_SLEEPING {
                thread::give_way();
                yields += 1;
            } else {
                thread::sleep(std::time::Duration::from_micros(50));
            }
        }
    }

    #[cfg(loom)]
    fn lock_contended(&self) {
        while !self.set() {
            spin_loop();
        }
    }
}

impl Default for TryLock {
    fn default() -> Self {
        TryLock::new()
    }
}
