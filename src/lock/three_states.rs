//! The lock of [`super::mutex`], for data that is rarely contended: a futex with three states (U.
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

use crate::sys::atomic::{Ordering, const_fn};
use crate::sys::futex::{Futex, LONGEST};

const FREE: u32 = 0;
const HELD: u32 = 1;
const WANTED: u32 = 2;

/// The lock without a value.
pub struct ThreeStates(Futex);

impl ThreeStates {
    const_fn! {
        pub fn new() -> Self {
            ThreeStates(Futex::new(FREE))
        }
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
    pub unsafe fn force_unlock(&self) {
        self.0.store(FREE, Ordering::Release);
    }
}

impl Default for ThreeStates {
    fn default() -> Self {
        ThreeStates::new()
    }
}
