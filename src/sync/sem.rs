//! A counting semaphore whose units go to those who have waited longest.
//!
//! ```text
//! state   a count     so many units, and nobody in the list
//!         WAITED      somebody is in the list
//!         LOCKED      somebody changes the list; there is no unit
//! ```
//! With no one waiting, wait and post are one compare-and-swap each; else they are as well: from 0 or WAITED to
//! LOCKED, which decides whether to link, or to unlink, and takes the list's lock. Nobody changes the
//! state while it is LOCKED but who has written that, by a store, which unlocks it: its last access to the
//! semaphore.
//!
//! Under the lock nothing is done but to link and to unlink: a unit that was posted there could be taken, and the
//! semaphore freed by who took it, before it is unlocked.
//!
//! What is written under the lock is seen by who has it next: between the store and that compare-and-swap the
//! state is changed by others of these alone.

use super::{List, Node};
use crate::base::sync::{AtomicUsize, Ordering};
use crate::base::trylock::Backoff;

const WAITED: usize = 1 << (usize::BITS - 1);
const LOCKED: usize = WAITED | 1;
pub const MOST: usize = WAITED - 1;

/// The C side's `sched_sem`.
#[repr(C)]
pub struct Sem {
    state: AtomicUsize,
    list: List,
    reserved: usize,
}

/// The count is at its most.
#[derive(Debug)]
pub struct Overflow;

impl Sem {
    /// At most `MOST`.
    pub fn new(count: usize) -> Self {
        Sem { state: AtomicUsize::new(count), list: List::new(), reserved: 0 }
    }

    /// True if the caller has got a unit.
    #[inline]
    pub fn try_wait(&self) -> bool {
        let mut state = self.state.load(Ordering::Relaxed);
        while (1..=MOST).contains(&state) {
            match self.take(state) {
                Ok(()) => return true,
                Err(now) => state = now,
            }
        }
        false
    }

    /// Takes one of `state` units, or says what the state is now.
    #[inline]
    fn take(&self, state: usize) -> Result<(), usize> {
        // Acquire: with `post`.
        let less = state - 1;
        self.state.compare_exchange(state, less, Ordering::Acquire, Ordering::Relaxed).map(|_| ())
    }

    /// Locks the list, if the state is `state` still; else says what that is now.
    #[inline]
    fn lock(&self, state: usize) -> Result<(), usize> {
        // Acquire: with `unlock`.
        self.state.compare_exchange(state, LOCKED, Ordering::Acquire, Ordering::Relaxed).map(|_| ())
    }

    /// # Safety
    /// The caller has locked the list; the new state is 0 if that is empty, else WAITED.
    #[inline]
    unsafe fn unlock(&self, state: usize) {
        self.state.store(state, Ordering::Release); // with `lock`
    }

    /// True if the caller has got a unit. Else its node is linked, and will be granted one.
    ///
    /// # Safety
    /// The node is in no list, and lives until it is granted.
    #[inline]
    pub unsafe fn wait_or_link(&self, node: *const Node) -> bool {
        let mut backoff = Backoff::default();
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            let tried = match state {
                1..=MOST => match self.take(state) {
                    Ok(()) => return true,
                    Err(now) => Err(now),
                },
                LOCKED => {
                    backoff.wait();
                    Err(self.state.load(Ordering::Relaxed))
                }
                _ => self.lock(state),
            };
            match tried {
                Err(now) => state = now,
                Ok(()) => break,
            }
        }
        // SAFETY: locked; the rest by the caller's promise.
        unsafe {
            self.list.push(node);
            self.unlock(WAITED);
        }
        false
    }

    /// Adds a unit; if somebody waits, that has it now, and is to be granted.
    #[inline]
    pub fn post(&self) -> Result<Option<*const Node>, Overflow> {
        let mut backoff = Backoff::default();
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            let tried = match state {
                MOST => return Err(Overflow),
                WAITED => self.lock(state),
                LOCKED => {
                    backoff.wait();
                    Err(self.state.load(Ordering::Relaxed))
                }
                _ => {
                    // Release: to who gets the unit.
                    let (more, order) = (state + 1, Ordering::Release);
                    match self.state.compare_exchange(state, more, order, Ordering::Relaxed) {
                        Ok(_) => return Ok(None),
                        Err(now) => Err(now),
                    }
                }
            };
            match tried {
                Err(now) => state = now,
                Ok(()) => break,
            }
        }
        // SAFETY: locked.
        unsafe {
            let oldest = self.list.pop();
            self.unlock(if self.list.is_empty() { 0 } else { WAITED });
            Ok(oldest)
        }
    }
}
