//! A lock of one byte, for critical sections of a few instructions. Thieves try it and go elsewhere
//! if it is held; threads that must have it spin.
//!
//! Test-and-test-and-set (L. Rudolph, Z. Segall, 1984) with exponential backoff (T. Anderson,
//! 1990). The holder may have been preempted. So after about a microsecond of pauses the waiter
//! yields its own processor at each try. After some milliseconds it sleeps briefly at each try, in
//! case the holder has a lower priority.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `try_set`: swap | Acquire | the last holder's `unlock` |
//! | `unlock`: store | Release | the next holder's `try_set` |
//! | `try_lock`: first load | Relaxed | none: a hint that spares the swap |

use crate::lock::monitor::RawLock;
use crate::sys::atomic::{AtomicBool, MODEL, Ordering, spin_loop};
use crate::sys::time;

pub struct TryLock(AtomicBool);

const PAUSES_BEFORE_GIVING_WAY: u32 = 64;
const YIELDS_BEFORE_SLEEPING: u32 = 4096;

/// The waiting times of a thread that repeatedly tries to take a lock of this kind.
#[derive(Default)]
pub struct Backoff {
    /// The number of pauses in the next round, as a power of two.
    pauses: u32,
    yields: u32,
}

impl Backoff {
    /// Waits between two tries.
    #[cold]
    pub fn wait(&mut self) {
        if MODEL {
            return spin_loop();
        }
        let pauses = 1 << self.pauses;
        if pauses <= PAUSES_BEFORE_GIVING_WAY {
            (0..pauses).for_each(|_| spin_loop());
            self.pauses += 1;
        } else if self.yields < YIELDS_BEFORE_SLEEPING {
            time::give_way();
            self.yields += 1;
        } else {
            time::sleep(std::time::Duration::from_micros(50));
        }
    }
}

impl TryLock {
    /// True if a thread holds the lock. A hint.
    #[inline]
    pub fn is_held(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// True if the caller now holds the lock.
    #[inline]
    pub fn try_lock(&self) -> bool {
        !self.is_held() && self.try_set()
    }

    #[inline(always)]
    fn try_set(&self) -> bool {
        if MODEL {
            // In loom, a failing swap may be ordered after the unlocking store without end.
            self.0.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
        } else {
            !self.0.swap(true, Ordering::Acquire)
        }
    }

    #[cold]
    fn lock_contended(&self) {
        let mut backoff = Backoff::default();
        // In the models the hint would be one more step.
        while !MODEL && self.is_held() || !self.try_set() {
            backoff.wait();
        }
    }
}

// SAFETY: one step takes a free lock, with Acquire; only the holder frees it, with Release.
unsafe impl RawLock for TryLock {
    fn new() -> Self {
        TryLock(AtomicBool::new(false))
    }

    #[inline]
    fn lock(&self) {
        if !self.try_set() {
            self.lock_contended();
        }
    }

    #[inline]
    unsafe fn unlock(&self) {
        self.0.store(false, Ordering::Release); // pairs with the Acquire of `try_set`
    }
}
