//! The library's own lock, for data that is rarely contended: a futex with three states (U.
//! Drepper, "Futexes are tricky", 2004, the third mutex).
//!
//! This is not `std`'s mutex for two reasons: the child of a fork must be able to free it, and a
//! waiter must not wait for ever when a filter forbids the holder to wake it (`futex::LONGEST`).

pub use real::Mutex;

#[cfg(not(loom))]
mod real {
    use crate::sys::atomic::Ordering;
    use crate::sys::futex::{Futex, LONGEST};
    use std::cell::UnsafeCell;

    const FREE: u32 = 0;
    const HELD: u32 = 1;
    const WANTED: u32 = 2; // held, and perhaps a thread sleeps

    pub struct Mutex<T> {
        state: Futex,
        value: UnsafeCell<T>,
    }

    // SAFETY: the value is used only under the lock, by one thread at a time.
    unsafe impl<T: Send> Sync for Mutex<T> {}

    impl<T> Mutex<T> {
        pub const fn new(value: T) -> Self {
            Mutex { state: Futex::new(FREE), value: UnsafeCell::new(value) }
        }

        /// Locks, calls `work` with the value, and unlocks.
        pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
            // SAFETY: `work` has returned, and the reference is gone, before the unlocking below.
            let result = work(unsafe { self.lock() });
            // SAFETY: the calling thread has locked it above.
            unsafe { self.unlock() };
            result
        }

        /// Locks, and returns the value, which is the caller's alone until `unlock`.
        ///
        /// # Safety
        /// The reference is not used after `unlock`.
        #[inline]
        #[allow(clippy::mut_from_ref, reason = "the lock makes it exclusive")]
        pub unsafe fn lock(&self) -> &mut T {
            // Acquire in both swaps: pairs with the Release in the last holder's `unlock`.
            if self.state.swap(HELD, Ordering::Acquire) != FREE {
                self.lock_contended();
            }
            // SAFETY: the calling thread holds the lock from now on.
            unsafe { &mut *self.value.get() }
        }

        #[cold]
        #[inline(never)]
        fn lock_contended(&self) {
            while self.state.swap(WANTED, Ordering::Acquire) != FREE {
                self.state.wait(WANTED, LONGEST);
            }
        }

        /// The value, for a thread that already holds the lock.
        ///
        /// # Safety
        /// The calling thread holds the lock, and uses no other reference to the value meanwhile.
        #[allow(clippy::mut_from_ref, reason = "the lock makes it exclusive")]
        pub unsafe fn locked(&self) -> &mut T {
            // SAFETY: by the caller's promise the lock is held, and this is the only reference.
            unsafe { &mut *self.value.get() }
        }

        /// # Safety
        /// The calling thread holds the lock.
        #[inline]
        pub unsafe fn unlock(&self) {
            if self.state.swap(FREE, Ordering::Release) == WANTED {
                self.wake();
            }
        }

        #[cold]
        #[inline(never)]
        fn wake(&self) {
            self.state.wake(1);
        }

        /// Frees the lock, whichever thread held it. The value must be consistent at every moment
        /// of a holder's work.
        ///
        /// # Safety
        /// No other thread of this process uses the lock.
        pub unsafe fn force_unlock(&self) {
            self.state.store(FREE, Ordering::Release);
        }

        /// Frees the lock, whichever thread held it, and replaces the value: for the child of a
        /// fork, which does not have the holder.
        ///
        /// # Safety
        /// No other thread of this process uses the lock.
        pub unsafe fn reset(&self, value: T) {
            // SAFETY: by the caller's promise no other thread uses the value. The old value is not
            // dropped, because it may be half changed.
            unsafe { self.value.get().write(value) };
            self.state.store(FREE, Ordering::Release);
        }
    }
}

#[cfg(loom)]
mod real {
    /// Loom's mutex with the interface of ours.
    pub struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub fn new(value: T) -> Self {
            Mutex(loom::sync::Mutex::new(value))
        }

        pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
            work(&mut self.0.lock().expect("a model that panics is over"))
        }
    }
}
