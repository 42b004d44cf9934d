//! The monitor made of a spinlock and a futex.

use crate::lock::monitor::Monitor;
use crate::lock::trylock::TryLock;
use crate::sys::atomic::Ordering;
use crate::sys::futex::Futex;

/// A [`TryLock`] that is always locked by spinning, and an epoch to sleep on.
pub struct Spin {
    lock: TryLock,
    epoch: Futex,
}

// SAFETY: the lock goes from free to held in one step, with Acquire; only the holder frees it, with
// Release.
unsafe impl Monitor for Spin {
    fn new() -> Self {
        Spin { lock: TryLock::new(), epoch: Futex::new(0) }
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

    unsafe fn wait(&self) {
        // A notify after the unlock changes the epoch that was read before it; then the futex does
        // not sleep, and no wake-up is lost. Relaxed: the caller sees the changed condition under
        // the lock, and the epoch publishes nothing.
        let epoch = self.epoch.load(Ordering::Relaxed);
        // SAFETY: the caller holds the lock.
        unsafe { self.unlock() };
        self.epoch.wait(epoch, crate::sys::futex::LONGEST);
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
