//! A counting semaphore whose units go to the oldest waiters.
//!
//! ```text
//! state   a count     this many units, and no waiter in the list
//!         WAITED      some waiter is in the list
//!         TIMED       some waiter is in the list, and some may have a deadline
//!         LOCKED      some task changes the list; there is no unit
//! ```
//! Without waiters, wait and post are one compare-and-swap each. With waiters each of them begins
//! with a compare-and-swap from 0, WAITED or TIMED to LOCKED. This compare-and-swap decides that a
//! node is linked (wait) or unlinked (post), and locks the list. While the state is LOCKED, only
//! the task that has locked the list changes the state: by a store, which unlocks the list and is
//! the task's last access to the semaphore.
//!
//! Under the lock a task only links or unlinks. A unit must not be posted there: another task could
//! take it, and free the semaphore, before the lock is released.
//!
//! The next holder of the lock sees all writes under it. Between the Release store that unlocks and
//! the Acquire compare-and-swap that locks, only compare-and-swaps change the state, and they
//! continue the release sequence.
//!
//! # Rejected
//!
//! Letting newcomers take a unit before a waiter that has not woken yet, as a mutex does
//! ([`super::mutex`]). This would end the convoy of a one-unit semaphore that is used as a lock
//! (2,200 ns of processor time for an empty section of 8 tasks and 8 threads; 25 with a mutex). But
//! a unit is often a message to the oldest waiter. And n units that are posted in a row wake n
//! waiters at once; a line that calls only its oldest waiter would wake them one after the other,
//! 50 µs apart if they are threads.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `take`: exchange | Acquire | `post_to`: what was written before the post |
//! | `post_to`: exchange of a count | Release | `take` |
//! | `lock`: exchange to LOCKED | Acquire | `unlock` of the list |
//! | `unlock`: store | Release | the next `lock` |
//! | first loads | Relaxed | none: the exchange fails if they are stale |
//!
//! A waiter that was linked gets its unit by the grant of its node (`super::node`).

use crate::lock::trylock::Backoff;
use crate::sync::list::List;
use crate::sync::node::Node;
use crate::sys::atomic::{AtomicUsize, Ordering};
use crate::sys::memory;

const WAITED: usize = 1 << (usize::BITS - 1);
const LOCKED: usize = WAITED | 1;
const TIMED: usize = WAITED | 2;
pub const MOST: usize = WAITED - 1;

/// The C side's `sched_sem`.
#[repr(C)]
pub struct Sem {
    state: AtomicUsize,
    list: List,
}

/// The count has its greatest value.
#[derive(Debug)]
pub struct Overflow;

impl Sem {
    /// A semaphore with `count` units, at most `MOST`.
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

    /// Takes one of `state` units. Fails with the present state if it differs from `state`.
    #[inline]
    fn take(&self, state: usize) -> Result<(), usize> {
        // Acquire: pairs with the Release in `post_to`.
        let less = state - 1;
        self.state.compare_exchange(state, less, Ordering::Acquire, Ordering::Relaxed).map(|_| ())
    }

    /// Locks the list if the state is still `state`. Otherwise fails with the present state.
    #[inline]
    fn lock(&self, state: usize) -> Result<(), usize> {
        // Acquire: pairs with the Release in `unlock`.
        self.state.compare_exchange(state, LOCKED, Ordering::Acquire, Ordering::Relaxed).map(|_| ())
    }

    /// # Safety
    /// The caller has locked the list; the new state is 0 if the list is empty, else WAITED or
    /// TIMED.
    #[inline]
    unsafe fn unlock(&self, state: usize) {
        self.state.store(state, Ordering::Release); // pairs with the Acquire in `lock`
    }

    /// True if the caller has got a unit. Otherwise its node is linked, and will be granted one.
    ///
    /// # Safety
    /// The node was in no list before, and lives until it is granted.
    #[inline]
    pub unsafe fn wait_or_link(&self, node: *const Node) -> bool {
        // SAFETY: the node was in no list before, and lives until it is granted.
        let got = unsafe { self.try_wait_or_link(node, self.state.load(Ordering::Relaxed)) };
        // SAFETY: the failed try has not linked the node, which lives until it is granted.
        got.unwrap_or_else(|state| unsafe { self.wait_or_link_slowly(node, state) })
    }

    /// # Safety
    /// The node was in no list before, and lives until it is granted.
    #[cold]
    #[inline(never)]
    unsafe fn wait_or_link_slowly(&self, node: *const Node, mut state: usize) -> bool {
        let mut backoff = Backoff::default();
        loop {
            // SAFETY: the node was in no list before, and lives until it is granted.
            let step = unsafe {
                match state {
                    TIMED => self.lock(TIMED).map(|()| self.link_plain(node)),
                    _ => self.try_wait_or_link(node, state),
                }
            };
            match step {
                Ok(got) => return got,
                Err(now) => state = self.look_again(now, &mut backoff),
            }
        }
    }

    /// Like `wait_or_link`, if the state is `state`. Fails with the present state if that differs,
    /// or is LOCKED or TIMED; then nothing has happened.
    ///
    /// # Safety
    /// The node was in no list before, and lives until it is granted.
    #[inline]
    unsafe fn try_wait_or_link(&self, node: *const Node, state: usize) -> Result<bool, usize> {
        match state {
            0 | WAITED => self.lock(state)?,
            1..=MOST => return self.take(state).map(|()| true),
            _ => return Err(state),
        }
        // SAFETY: the list is locked; the node lives until it is granted.
        unsafe {
            self.list.push(node);
            self.unlock(WAITED);
        }
        Ok(false)
    }

    /// The rest of `wait_or_link` if some waiters may have a deadline.
    ///
    /// # Safety
    /// The contract of `wait_or_link`; the caller has locked the list.
    unsafe fn link_plain(&self, node: *const Node) -> bool {
        // SAFETY: the list is locked; the node lives until it is granted.
        unsafe {
            self.list.push(node);
            self.unlock(TIMED);
        }
        false
    }

    /// Waits while the list is locked, after a failed try that found `state`. Returns the new
    /// state.
    fn look_again(&self, state: usize, backoff: &mut Backoff) -> usize {
        if state != LOCKED {
            return state;
        }
        backoff.wait();
        self.state.load(Ordering::Relaxed)
    }

    /// Adds a unit. If a task waits, the unit is now that task's, and the caller grants its node.
    pub fn post(&self) -> Result<Option<*const Node>, Overflow> {
        let mut backoff = Backoff::default();
        let mut state = self.state.load(Ordering::Relaxed);
        while state != MOST {
            let step = if state == TIMED { self.post_to_timed() } else { self.post_to(state) };
            match step {
                Ok(next) => return Ok(next),
                Err(now) => state = self.look_again(now, &mut backoff),
            }
        }
        Err(Overflow)
    }

    /// Does `post_to` for the state TIMED.
    fn post_to_timed(&self) -> Result<Option<*const Node>, usize> {
        self.lock(TIMED)?;
        // SAFETY: the list is locked.
        unsafe {
            let oldest = self.list.pop_any();
            self.unlock(self.timed());
            Ok(oldest)
        }
    }

    /// The state of an unlocked list that has, or had, waiters with a deadline.
    fn timed(&self) -> usize {
        if self.list.is_empty() { 0 } else { TIMED }
    }

    /// Like `wait_or_link`, for a waiter with a deadline, which may call `leave`.
    ///
    /// # Safety
    /// The contract of `wait_or_link`.
    pub unsafe fn wait_or_link_to_leave(&self, node: *const Node) -> bool {
        let mut backoff = Backoff::default();
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            let step = match state {
                LOCKED => Err(LOCKED),
                1..=MOST => self.take(state).map(|()| true),
                _ => self.lock(state).map(|()| false),
            };
            match step {
                Ok(true) => return true,
                Ok(false) => break,
                Err(now) => state = self.look_again(now, &mut backoff),
            }
        }
        // SAFETY: the list is locked; the node lives until it is granted.
        unsafe {
            self.list.push_to_leave(node);
            self.unlock(TIMED);
        }
        false
    }

    /// Takes out a waiter whose deadline has come. False if it has got a unit.
    ///
    /// # Safety
    /// It was linked by `wait_or_link_to_leave`.
    pub unsafe fn leave(&self, node: *const Node) -> bool {
        let mut backoff = Backoff::default();
        loop {
            let state = self.state.load(Ordering::Relaxed);
            if state == TIMED && self.lock(TIMED).is_ok() {
                break;
            }
            // While the node is linked, the state is TIMED or LOCKED.
            if state & WAITED == 0 || state == WAITED {
                return false;
            }
            self.look_again(state, &mut backoff);
        }
        // SAFETY: the list is locked.
        unsafe {
            let left = self.list.leave(node);
            self.unlock(self.timed());
            left
        }
    }

    /// Tries `post` once. None means that nothing has happened.
    #[inline]
    pub fn try_post(&self) -> Option<Option<*const Node>> {
        // The cache line is fetched once, for writing, and not first for reading.
        memory::prefetch_to_write((&raw const self.state).cast());
        self.post_to(self.state.load(Ordering::Relaxed)).ok()
    }

    /// Like `post`, if the state is `state`. Fails with the present state if that differs, or is
    /// LOCKED, TIMED or `MOST`; then nothing has happened.
    #[inline]
    fn post_to(&self, state: usize) -> Result<Option<*const Node>, usize> {
        if state != WAITED {
            if state >= MOST {
                return Err(state);
            }
            // Release: pairs with the Acquire of the task that gets the unit.
            let (more, order) = (state + 1, Ordering::Release);
            let posted = self.state.compare_exchange(state, more, order, Ordering::Relaxed);
            return posted.map(|_| None);
        }
        self.lock(state)?;
        // SAFETY: the list is locked and not empty.
        unsafe {
            let (oldest, last) = self.list.pop_first();
            self.unlock(if last { 0 } else { WAITED });
            Ok(Some(oldest))
        }
    }
}
