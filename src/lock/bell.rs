//! Monitors made of a lock and a futex. The locks differ; the place to wait is the same.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `notify_one`, `notify_all`: addition | Release; Relaxed would do | none: the kernel compares the word |
//! | `wait`: load of the epoch | Relaxed | the lock: a notifier of this condition holds it later |

use crate::lock::adaptive::AdaptiveLock;
use crate::lock::fair::FairLock;
use crate::lock::monitor::{Monitor, RawLock};
use crate::lock::trylock::TryLock;
use crate::sys::atomic::Ordering;
use crate::sys::futex::Futex;
use std::time::Duration;

/// `SCHED_DEQUE=spin`: waiters spin, and whoever comes at the right moment gets the lock.
pub type Spin = WithBell<TryLock>;

/// `SCHED_DEQUE=fair`: waiters sleep in a line.
pub type Fair = WithBell<FairLock>;

/// `SCHED_DEQUE=adaptive`: waiters spin, then sleep, and compete with newcomers when they wake.
pub type Adaptive = WithBell<AdaptiveLock>;

/// A lock, and an epoch to sleep on.
pub struct WithBell<L: RawLock> {
    lock: L,
    epoch: Futex,
}

// SAFETY: by the contract of `RawLock` the lock excludes and orders.
unsafe impl<L: RawLock> Monitor for WithBell<L> {
    fn new() -> Self {
        WithBell { lock: L::new(), epoch: Futex::new(0) }
    }

    #[inline]
    fn lock(&self) {
        self.lock.lock();
    }

    #[inline]
    unsafe fn unlock(&self) {
        // SAFETY: the caller holds the lock.
        unsafe { self.lock.unlock() };
    }

    unsafe fn wait(&self, limit: Duration) {
        // A notify after the unlock changes the epoch that was read before it; then the futex does
        // not sleep, and no wake-up is lost. Relaxed: the caller sees the changed condition under
        // the lock, and the epoch publishes nothing.
        let epoch = self.epoch.load(Ordering::Relaxed);
        // SAFETY: the caller holds the lock.
        unsafe { self.unlock() };
        self.epoch.wait(epoch, limit);
        self.lock();
    }

    fn notify_one(&self) {
        self.epoch.add(1, Ordering::Release);
        self.epoch.wake(1);
    }

    fn notify_all(&self, _n: usize) {
        self.epoch.add(1, Ordering::Release);
        self.epoch.wake(i32::MAX);
    }
}
