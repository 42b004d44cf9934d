//! A lock of threads that is handed over to the oldest waiter. A waiter sleeps at once, and owns
//! the lock when it wakes. The library has it for comparison: it shows the *lock convoy*.
//!
//! # The model: macOS
//!
//! macOS has this order for pthread mutexes with `PTHREAD_MUTEX_POLICY_FAIRSHARE_NP`, its default
//! until libpthread 330 (macOS 10.14). Since then the default is first fit, in which newcomers may
//! overtake, as in Apple's `os_unfair_lock` (ulock) and in Linux's pthread mutex
//! ([`super::posix`]). macOS keeps the queue of waiters in its kernel. Here the queue is in the
//! lock ([`super::handover`]), and each waiter sleeps on a futex of its own.
//!
//! # The convoy
//!
//! M. Blasgen, J. Gray, M. Mitoma and T. Price ("The convoy phenomenon", 1979) found it in System
//! R. The lock is free most of the time, until a holder is preempted. Then all threads that want
//! the lock line up. From then on each unlock hands the lock to a thread that sleeps. The thread
//! that has unlocked wants the lock again before the new holder has woken and used it, and goes to
//! the end of the line. Each use of the lock now costs a context switch, during which the lock is
//! held, so the line does not become shorter. Their cure is to free the lock and let threads
//! compete, as all the defaults named above now do.
//!
//! # Protocol
//!
//! ```text
//! a waiter's word   0  waits
//!                   1  granted: the waiter holds the lock
//! ```
//! A waiter links its node and sleeps while its word is 0. The holder that unlocks writes 1 into
//! the word of the oldest node, and wakes its thread.
//!
//! # The bad interleavings
//!
//! *The lost wake-up.* The grant comes between the waiter's look at its word and its sleep. Then
//! the futex finds 1 and does not sleep.
//!
//! *Freed under the waker.* The granted waiter need not have slept: it may have seen 1, returned
//! and reused its stack before the holder wakes it. So the wake-up names only an address. At worst
//! it wakes a thread that sleeps on another word at this address; sleepers check their words again
//! ([`SpentWord`]).
//!
//! # Rejected
//!
//! A ticket lock (D. Reed and R. Kanodia, 1979) with one futex: either each unlock wakes all
//! sleepers to find the sleeper whose turn it is, or the tickets share a few futexes, and some
//! unlocks wake other threads in vain. Spinning before the sleep, as the kernel does for
//! `os_unfair_lock`: it hides the effect to be compared.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `grant`: store of the waiter's word | Release | the waiter's load: it sees what the last holder wrote |
//! | a waiter's load of its word | Acquire | `grant` |
//! | all other accesses | as in [`super::handover`] | |

use crate::lock::handover::{Handover, Link};
use crate::lock::monitor::RawLock;
use crate::sys::atomic::{Ordering, UnsafeCell};
use crate::sys::futex::{LONGEST, SpentWord};
use std::ptr;

const WAITING: u32 = 0;
const GRANTED: u32 = 1;

pub struct FairLock {
    line: Handover<Waiter>,
}

/// A waiter's node; it lives on the waiter's own stack until it is granted.
struct Waiter {
    word: SpentWord,
    next: UnsafeCell<*const Waiter>,
}

// SAFETY: the node has one link, and holds a word.
unsafe impl Link for Waiter {
    unsafe fn next(this: *const Waiter) -> *const Waiter {
        // SAFETY: the node is not granted yet, and `next` is the caller's.
        unsafe { (*this).next.with(|next| *next) }
    }

    unsafe fn set_next(this: *const Waiter, to: *const Waiter) {
        // SAFETY: the node is not granted yet, and `next` is the caller's.
        unsafe { (*this).next.with_mut(|next| *next = to) }
    }

    unsafe fn is_overtaken(_: *const Waiter) -> bool {
        false
    }
}

// SAFETY: `Handover` has one holder at a time. A new holder acquires what the last one released: by
// the state, or by its own word.
unsafe impl RawLock for FairLock {
    fn new() -> Self {
        FairLock { line: Handover::default() }
    }

    #[inline]
    fn lock(&self) {
        if !self.line.try_lock() {
            self.wait_in_line();
        }
    }

    #[inline]
    unsafe fn unlock(&self) {
        if let Ok(Some(oldest)) = self.line.unlock() {
            FairLock::grant(oldest);
        }
    }
}

impl FairLock {
    #[cold]
    #[inline(never)]
    fn wait_in_line(&self) {
        let waiter = Waiter { word: SpentWord::new(WAITING), next: UnsafeCell::new(ptr::null()) };
        crate::sys::detector::own(&waiter);
        // SAFETY: the node is new, and this function returns when it is granted.
        if unsafe { self.line.lock_or_link(&raw const waiter) } {
            return;
        }
        // Acquire: pairs with the Release in `grant`.
        while waiter.word.load(Ordering::Acquire) != GRANTED {
            waiter.word.wait(WAITING, LONGEST);
        }
    }

    /// Hands the lock to the owner of the oldest node, which was taken out of the line.
    #[cold]
    #[inline(never)]
    fn grant(oldest: *const Waiter) {
        // SAFETY: the node lives until it is granted, and the new value grants it.
        unsafe { SpentWord::store_and_wake(&raw const (*oldest).word, GRANTED) };
    }

    /// Changes with each thread that lines up while the lock is held.
    #[cfg(test)]
    pub(super) fn newcomers(&self) -> usize {
        self.line.newcomers()
    }
}
