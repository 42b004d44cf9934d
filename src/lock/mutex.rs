//! The library's own lock, for what is rarely contended: three states of a futex (U. Drepper,
//! "Futexes are tricky", 2004, its third mutex).
//!
//! Not `std`'s, because it must be freed in the child of a fork, and because nobody may wait in
//! it for ever when a holder is forbidden to wake him: see `futex::LONGEST`.

pub use real::Mutex;

#[cfg(not(loom))]
mod real {
    use crate::sys::atomic::Ordering;
    use crate::sys::futex::{Futex, LONGEST};
    use std::cell::UnsafeCell;

    const FREE: u32 = 0;
    const HELD: u32 = 1;
    const WANTED: u32 = 2; // held, and perhaps somebody sleeps

    pub struct Mutex<T> {
        state: Futex,
        value: UnsafeCell<T>,
    }

    // SAFETY: the value is reached under the lock, by one thread at a time.
    unsafe impl<T: Send> Sync for Mutex<T> {}

    impl<T> Mutex<T> {
        pub const fn new(value: T) -> Self {
            Mutex { state: Futex::new(FREE), value: UnsafeCell::new(value) }
        }

        /// Calls `work` with the value, alone.
        pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
            // SAFETY: unlocked below, after the last use of the reference.
            let result = work(unsafe { self.lock() });
            // SAFETY: locked above.
            unsafe { self.unlock() };
            result
        }

        /// The value, the caller's alone until `unlock`.
        ///
        /// # Safety
        /// The reference is not used after that.
        #[inline]
        #[allow(clippy::mut_from_ref, reason = "the lock makes it exclusive")]
        pub unsafe fn lock(&self) -> &mut T {
            // Acquire in both swaps: pairs with the Release of the last holder.
            if self.state.swap(HELD, Ordering::Acquire) != FREE {
                self.lock_contended();
            }
            // SAFETY: held from now on.
            unsafe { &mut *self.value.get() }
        }

        #[cold]
        #[inline(never)]
        fn lock_contended(&self) {
            while self.state.swap(WANTED, Ordering::Acquire) != FREE {
                self.state.wait(WANTED, LONGEST);
            }
        }

        /// The value again.
        ///
        /// # Safety
        /// The calling thread has locked it, and uses no other reference to the value meanwhile.
        #[allow(clippy::mut_from_ref, reason = "the lock makes it exclusive")]
        pub unsafe fn locked(&self) -> &mut T {
            // SAFETY: by the caller's promise.
            unsafe { &mut *self.value.get() }
        }

        /// # Safety
        /// The calling thread has locked it.
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

        /// Frees the lock, whoever held it: for a value that makes sense at any moment of its holder's work.
        ///
        /// # Safety
        /// As for `reset`.
        pub unsafe fn free(&self) {
            self.state.store(FREE, Ordering::Release);
        }

        /// Frees the lock and sets the value anew, whoever held it: for the child of a fork, where
        /// the holder is not.
        ///
        /// # Safety
        /// No other thread of this process uses the lock.
        pub unsafe fn reset(&self, value: T) {
            // SAFETY: by the caller's promise. What was there may be half changed: not dropped.
            unsafe { self.value.get().write(value) };
            self.state.store(FREE, Ordering::Release);
        }
    }
}

#[cfg(loom)]
mod real {
    /// Loom's mutex behind the interface of ours.
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
