//! A lock whose waiters spin for a while and then sleep: the lock of the library's mutex
//! ([`super::three_states`]) with a spin before its first sleep. The spin is its only difference
//! from a pthread mutex.
//!
//! # The model: Windows
//!
//! Windows' critical section with a spin count, as `InitializeCriticalSectionAndSpinCount` makes
//! it. A thread that finds it held looks again as often as the count says, and then waits on a
//! semaphore. An unlock frees it whether or not threads wait, so a newcomer may overtake a woken
//! sleeper (since Windows Server 2003 SP1; earlier versions handed it over). [`SPINS`] is the count
//! of Windows' heap, "roughly 4000" in that function's manual; on the machine of docs/LAB.md 4000
//! looks take 100 µs. With a single processor both locks use the count 0, because the holder does
//! not run while the waiter spins. (glibc's `PTHREAD_MUTEX_ADAPTIVE_NP` takes at most 100 looks.)
//!
//! # Why it is right
//!
//! A thread that spins has not changed the state, and needs no wake-up. It takes the lock only from
//! the state FREE by a compare-and-swap. It never overwrites the WANTED of a sleeper, because the
//! holder would then wake nobody. After that it acts like a newcomer of [`super::three_states`].
//!
//! # Rejected
//!
//! Exponential backoff between looks, as in [`super::trylock`]: Windows' interface takes a count of
//! looks. Spinning as long as the holder runs, like the mutexes of Solaris: Linux does not tell a
//! program which threads run.

use crate::lock::monitor::RawLock;
use crate::lock::three_states::ThreeStates;
use crate::sys::atomic::{MODEL, spin_loop};
use crate::sys::processors;

/// How often a waiter looks before it sleeps. In the models one look reaches every interleaving
/// that more looks would.
const SPINS: u32 = if MODEL { 1 } else { 4000 };

pub struct AdaptiveLock {
    state: ThreeStates,
    spins: u32,
}

// SAFETY: `ThreeStates` has one holder at a time, and a holder acquires what the last one released.
unsafe impl RawLock for AdaptiveLock {
    fn new() -> Self {
        let spins = if MODEL || processors::allowed() > 1 { SPINS } else { 0 };
        AdaptiveLock { state: ThreeStates::new(), spins }
    }

    #[inline]
    fn lock(&self) {
        if !self.state.try_lock() {
            self.lock_contended();
        }
    }

    #[inline]
    unsafe fn unlock(&self) {
        // SAFETY: the caller holds the lock.
        unsafe { self.state.unlock() };
    }
}

impl AdaptiveLock {
    #[cold]
    #[inline(never)]
    fn lock_contended(&self) {
        for _ in 0..self.spins {
            // Loom's would be a yield, after which the holder always comes first.
            if !MODEL {
                spin_loop();
            }
            if self.state.looks_free() && self.state.try_lock() {
                return;
            }
        }
        self.state.lock_asleep();
    }
}
