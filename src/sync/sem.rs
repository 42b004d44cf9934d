//! A counting semaphore whose units go to those who have waited longest.
//!
//! `state` is the count, or WAITED while somebody is in the list; it changes from and to WAITED under the
//! list's lock alone. With no one waiting, wait and post are one compare-and-swap each. Under the lock
//! nothing is done but to link and to unlink: a unit that was posted there could be taken, and the
//! semaphore freed by who took it, before it is unlocked.

use super::{Fifo, Node};
use crate::base::sync::{AtomicUsize, Ordering};

const WAITED: usize = 1 << (usize::BITS - 1);
pub const MOST: usize = WAITED - 1;

/// The C side's `sched_sem`.
#[repr(C)]
pub struct Sem {
    state: AtomicUsize,
    list: Fifo,
}

/// The count is at its most.
#[derive(Debug)]
pub struct Overflow;

impl Sem {
    /// At most `MOST`.
    pub fn new(count: usize) -> Self {
        Sem { state: AtomicUsize::new(count), list: Fifo::new() }
    }

    /// True if the caller has got a unit.
    #[inline]
    pub fn try_wait(&self) -> bool {
        let mut state = self.state.load(Ordering::Relaxed);
        while (1..WAITED).contains(&state) {
            // Acquire: with `post`.
            let less = state - 1;
            match self.state.compare_exchange(state, less, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => state = now,
            }
        }
        false
    }

    /// True if the caller has got a unit. Else its node is linked, and will be granted one.
    ///
    /// # Safety
    /// The node is in no list, and waits until it is granted.
    pub unsafe fn wait_or_link(&self, node: &Node) -> bool {
        loop {
            if self.try_wait() {
                return true;
            }
            let linked = self.list.locked(|list| {
                let order = Ordering::Relaxed; // the lock's
                let wait = match self.state.compare_exchange(0, WAITED, order, order) {
                    Ok(_) => true,
                    Err(state) => state == WAITED,
                };
                if wait {
                    // SAFETY: locked; the rest by the caller's promise.
                    unsafe { list.push(node) };
                }
                wait
            });
            if linked {
                return false;
            }
        }
    }

    /// Adds a unit; if somebody waits, that has it now, and is to be granted.
    pub fn post(&self) -> Result<Option<*const Node>, Overflow> {
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            if state == MOST {
                return Err(Overflow);
            }
            if state == WAITED {
                let oldest = self.list.locked(|list| {
                    // SAFETY: locked.
                    let oldest = unsafe { list.pop() };
                    if oldest.is_some() && list.is_empty() {
                        self.state.store(0, Ordering::Relaxed);
                    }
                    oldest
                });
                if oldest.is_some() {
                    return Ok(oldest);
                }
                state = self.state.load(Ordering::Relaxed);
                continue;
            }
            // Release: to who gets the unit.
            let more = state + 1;
            match self.state.compare_exchange(state, more, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return Ok(None),
                Err(now) => state = now,
            }
        }
    }
}
