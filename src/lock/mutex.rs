//! The library's own lock, for data that is rarely contended: a futex with three states (U.
//! Drepper, "Futexes are tricky", 2004, the third mutex). [`super::adaptive`] spins first.
//!
//! ```text
//! FREE     nobody holds the lock; sleepers that were woken may be on their way
//! HELD     held; no sleeper relies on this holder's wake-up
//! WANTED   held, and perhaps a thread sleeps: the holder wakes one when it unlocks
//! ```
//! A thread writes WANTED before it sleeps. A woken thread takes the lock by writing WANTED again,
//! because others may still sleep, so its unlock wakes the next one. A newcomer first tries to take
//! the lock by writing HELD. If it thereby overwrites WANTED, the lock is held, so the newcomer
//! writes WANTED next and the holder's unlock still wakes a sleeper.
//!
//! This is not `std`'s mutex for two reasons: the child of a fork must be able to free it, and a
//! waiter must not wait forever if a filter forbids the holder to wake it (`futex::LONGEST`).
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `lock`, `try_lock`, `lock_asleep`: swap or exchange | Acquire | the last holder's `unlock` |
//! | `unlock`: swap | Release | the next holder's swap or exchange |
//! | `looks_free`: load | Relaxed | none: a hint |
//!
//! A swap that fails to take the lock continues the release sequence of the last `unlock`, so any
//! number of failed swaps may come in between.

pub use real::Mutex;

use crate::sys::atomic::Ordering;
use crate::sys::futex::{Futex, LONGEST};

const FREE: u32 = 0;
const HELD: u32 = 1;
const WANTED: u32 = 2;

/// The lock without a value.
pub struct ThreeStates(Futex);

impl ThreeStates {
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        ThreeStates(Futex::new(FREE))
    }

    #[cfg(loom)]
    pub fn new() -> Self {
        ThreeStates(Futex::new(FREE))
    }

    #[inline]
    pub fn looks_free(&self) -> bool {
        self.0.load(Ordering::Relaxed) == FREE
    }

    /// True if the caller now holds the lock.
    #[inline]
    pub fn try_lock(&self) -> bool {
        self.0.acquire_if(FREE, HELD) // pairs with the Release in the last holder's `unlock`
    }

    #[inline]
    pub fn lock(&self) {
        // Acquire: pairs with the Release in the last holder's `unlock`.
        if self.0.swap(HELD, Ordering::Acquire) != FREE {
            self.lock_asleep();
        }
    }

    /// Locks, and sleeps as long as the lock is held.
    #[cold]
    #[inline(never)]
    pub fn lock_asleep(&self) {
        // Acquire: as in `lock`.
        while self.0.swap(WANTED, Ordering::Acquire) != FREE {
            self.0.wait(WANTED, LONGEST);
        }
    }

    /// # Safety
    /// The caller holds the lock.
    #[inline]
    pub unsafe fn unlock(&self) {
        if self.0.swap(FREE, Ordering::Release) == WANTED {
            self.wake();
        }
    }

    #[cold]
    #[inline(never)]
    fn wake(&self) {
        self.0.wake(1);
    }

    /// # Safety
    /// No other thread of this process uses the lock.
    #[cfg(not(loom))]
    unsafe fn force_unlock(&self) {
        self.0.store(FREE, Ordering::Release);
    }
}

impl Default for ThreeStates {
    fn default() -> Self {
        ThreeStates::new()
    }
}

#[cfg(not(loom))]
mod real {
    use super::ThreeStates;
    use std::cell::UnsafeCell;
    use std::mem::offset_of;

    pub struct Mutex<T> {
        state: ThreeStates,
        value: UnsafeCell<T>,
    }

    // SAFETY: the value is used only under the lock, by one thread at a time.
    unsafe impl<T: Send> Sync for Mutex<T> {}

    impl<T> Mutex<T> {
        /// Where a debugger finds the value.
        pub const VALUE: usize = offset_of!(Mutex<T>, value);

        pub const fn new(value: T) -> Self {
            Mutex { state: ThreeStates::new(), value: UnsafeCell::new(value) }
        }

        /// Locks, calls `work` with the value, and unlocks.
        pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
            // SAFETY: `work` has returned, and the reference is gone, before the unlocking below.
            let result = work(unsafe { self.lock() });
            // SAFETY: the calling thread has locked it above.
            unsafe { self.unlock() };
            result
        }

        /// Like `with`, if the lock is free; otherwise None.
        pub fn try_with<R>(&self, work: impl FnOnce(&mut T) -> R) -> Option<R> {
            self.state.try_lock().then(|| {
                // SAFETY: as in `with`.
                let result = work(unsafe { self.locked() });
                // SAFETY: as in `with`.
                unsafe { self.unlock() };
                result
            })
        }

        /// Locks, and returns the value, which is the caller's alone until `unlock`.
        ///
        /// # Safety
        /// The reference is not used after `unlock`.
        #[inline]
        #[allow(clippy::mut_from_ref, reason = "the lock makes it exclusive")]
        pub unsafe fn lock(&self) -> &mut T {
            self.state.lock();
            // SAFETY: the calling thread holds the lock from now on.
            unsafe { &mut *self.value.get() }
        }

        /// The value, for a thread that already holds the lock.
        ///
        /// # Safety
        /// The calling thread holds the lock, and uses no other reference to the value.
        #[allow(clippy::mut_from_ref, reason = "the lock makes it exclusive")]
        pub unsafe fn locked(&self) -> &mut T {
            // SAFETY: by the caller's promise the lock is held, and this is the only reference.
            unsafe { &mut *self.value.get() }
        }

        /// # Safety
        /// The calling thread holds the lock.
        #[inline]
        pub unsafe fn unlock(&self) {
            // SAFETY: by the caller's promise.
            unsafe { self.state.unlock() };
        }

        /// Frees the lock, whichever thread held it. The value must be consistent at every moment.
        ///
        /// # Safety
        /// No other thread of this process uses the lock.
        pub unsafe fn force_unlock(&self) {
            // SAFETY: by the caller's promise.
            unsafe { self.state.force_unlock() };
        }

        /// Frees the lock, whichever thread held it, and replaces the value: for the child of a
        /// fork, where the holder does not exist.
        ///
        /// # Safety
        /// No other thread of this process uses the lock.
        pub unsafe fn reset(&self, value: T) {
            // SAFETY: by the caller's promise no other thread uses the value. The old value is not
            // dropped, because it may be half changed.
            unsafe { self.value.get().write(value) };
            // SAFETY: by the caller's promise.
            unsafe { self.state.force_unlock() };
        }
    }
}

#[cfg(loom)]
mod real {
    /// Loom's mutex with the interface of ours.
    pub struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        /// No debugger looks at a model.
        pub const VALUE: usize = 0;

        pub fn new(value: T) -> Self {
            Mutex(loom::sync::Mutex::new(value))
        }

        pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
            work(&mut self.0.lock().expect("a model that panics is over"))
        }
    }
}
