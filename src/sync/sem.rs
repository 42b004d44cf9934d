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
//! What is written under the lock is seen by who has it next: between the Release store that unlocks and the Acquire
//! compare-and-swap that locks the state is changed by compare-and-swaps alone, which continue the release.

use crate::lock::trylock::Backoff;
use crate::sync::node::{List, Node};
use crate::sys::atomic::{AtomicUsize, Ordering};
use crate::sys::memory;

const WAITED: usize = 1 << (usize::BITS - 1);
const LOCKED: usize = WAITED | 1;
pub const MOST: usize = WAITED - 1;

/// The C side's `sched_sem`.
#[repr(C)]
pub struct Sem {
    state: AtomicUsize,
    list: List,
}

/// The count is at its most.
#[derive(Debug)]
pub struct Overflow;

impl Sem {
    /// At most `MOST`.
    pub fn new(count: usize) -> Self {
        Sem { state: AtomicUsize::new(count), list: List::new() }
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
    /// The node was in no list before, and lives until it is granted.
    #[inline]
    pub unsafe fn wait_or_link(&self, node: *const Node) -> bool {
        // SAFETY: passed on.
        let got = unsafe { self.try_wait_or_link(node, self.state.load(Ordering::Relaxed)) };
        // SAFETY: passed on; nothing has happened.
        got.unwrap_or_else(|state| unsafe { self.wait_or_link_slowly(node, state) })
    }

    /// # Safety
    /// As for `wait_or_link`.
    #[cold]
    #[inline(never)]
    unsafe fn wait_or_link_slowly(&self, node: *const Node, mut state: usize) -> bool {
        let mut backoff = Backoff::default();
        loop {
            // SAFETY: passed on.
            match unsafe { self.try_wait_or_link(node, state) } {
                Ok(got) => return got,
                Err(now) => state = self.look_again(now, &mut backoff),
            }
        }
    }

    /// `wait_or_link` where the state is `state`. Err: it was not, or is LOCKED, and nothing has happened; what it
    /// was.
    ///
    /// # Safety
    /// As for that.
    #[inline]
    unsafe fn try_wait_or_link(&self, node: *const Node, state: usize) -> Result<bool, usize> {
        match state {
            LOCKED => return Err(LOCKED),
            1..=MOST => return self.take(state).map(|()| true),
            _ => self.lock(state)?,
        }
        // SAFETY: locked; the rest by the caller's promise.
        unsafe {
            self.list.push(node);
            self.unlock(WAITED);
        }
        Ok(false)
    }

    /// After a try in vain the state was `state`: what it is now.
    fn look_again(&self, state: usize, backoff: &mut Backoff) -> usize {
        if state != LOCKED {
            return state;
        }
        backoff.wait();
        self.state.load(Ordering::Relaxed)
    }

    /// Adds a unit; if somebody waits, that has it now, and is to be granted.
    pub fn post(&self) -> Result<Option<*const Node>, Overflow> {
        let mut backoff = Backoff::default();
        let mut state = self.state.load(Ordering::Relaxed);
        while state != MOST {
            match self.post_to(state) {
                Ok(next) => return Ok(next),
                Err(now) => state = self.look_again(now, &mut backoff),
            }
        }
        Err(Overflow)
    }

    /// `post`, tried once. None: nothing has happened.
    #[inline]
    pub fn try_post(&self) -> Option<Option<*const Node>> {
        memory::prefetch_to_write((&raw const self.state).cast()); // so that it comes once, not to be read first
        self.post_to(self.state.load(Ordering::Relaxed)).ok()
    }

    /// `post` where the state is `state`. Err: it was not, or is LOCKED or `MOST`, and nothing has happened; what
    /// it was.
    #[inline]
    fn post_to(&self, state: usize) -> Result<Option<*const Node>, usize> {
        match state {
            LOCKED | MOST => return Err(state),
            WAITED => self.lock(state)?,
            _ => {
                // Release: to who gets the unit.
                let (more, order) = (state + 1, Ordering::Release);
                return self
                    .state
                    .compare_exchange(state, more, order, Ordering::Relaxed)
                    .map(|_| None);
            }
        }
        // SAFETY: locked, and somebody is in the list.
        unsafe {
            let (oldest, last) = self.list.pop_first();
            self.unlock(if last { 0 } else { WAITED });
            Ok(Some(oldest))
        }
    }
}
