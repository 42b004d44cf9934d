//! The blocks of tasks that have ended, and the number of tasks that have not ended. A block goes
//! from the thread that ran its task back to the table, in which only the holder of the table's
//! lock takes blocks.
//!
//! ```text
//! first   the blocks that came back, linked, the youngest first
//! live    twice the number of tasks that have not ended, + LARGE: the last one frees the table
//! ```
//!
//! # Protocol
//!
//! `enter` counts a task, under the lock. The thread that has run it calls `give_back`, without the
//! lock: this pushes the block, and then takes the count back, which is the last access to the
//! table. `take_all` swaps the whole list for an empty one, under the lock. (So reused addresses
//! are no problem, as in `sync::dag`.) A table whose count is 0, seen under the lock, is used by no
//! thread: all blocks have come back, and only `enter` would change that.
//!
//! The thread that takes the count of a large table to 0 locks, looks the table up again, and frees
//! it if the count is still 0. LARGE is in the word of the count, because a thread must learn both
//! at one moment. If LARGE were a word of its own, the last thread could read it, the table could
//! become large, and then the thread could take the count to 0: nobody would free the table.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `give_back`: exchange of `first` | Release | `take_all`: the block is written again |
//! | `take_all`: swap | Acquire | the exchange |
//! | `give_back`: subtraction | Release | `is_idle`: load; the table is freed |
//! | `is_idle`: load | Acquire | the subtractions |
//! | `give_back`: load of `first`, `enter`, `set_large`, `live` | Relaxed | none |

use crate::sys::atomic::{AtomicPtr, AtomicUsize, Ordering, UnsafeCell};
use std::ptr;

const LARGE: usize = 1;
const ONE: usize = 2;

/// The first word of a block.
pub struct Link(UnsafeCell<*mut Link>);

pub struct Returned {
    first: AtomicPtr<Link>,
    live: AtomicUsize,
}

impl Default for Link {
    fn default() -> Self {
        Link(UnsafeCell::new(ptr::null_mut()))
    }
}

impl Link {
    /// The next block of a list from `take_all`.
    ///
    /// # Safety
    /// The block exists, and only the caller uses it.
    pub unsafe fn next(link: *mut Link) -> *mut Link {
        // SAFETY: the block exists, and only the caller uses it.
        unsafe { (*link).0.with(|at| *at) }
    }

    /// # Safety
    /// The contract of `next`.
    pub unsafe fn set_next(link: *mut Link, next: *mut Link) {
        // SAFETY: the block exists, and only the caller uses it.
        unsafe { (*link).0.with_mut(|at| *at = next) };
    }
}

impl Default for Returned {
    fn default() -> Self {
        Returned { first: AtomicPtr::new(ptr::null_mut()), live: AtomicUsize::new(0) }
    }
}

impl Returned {
    /// Counts a task. The caller holds the lock.
    pub fn enter(&self) {
        self.live.fetch_add(ONE, Ordering::Relaxed);
    }

    /// From now on the last task to end is told. The caller holds the lock.
    pub fn set_large(&self) {
        self.live.fetch_or(LARGE, Ordering::Relaxed);
    }

    /// An upper bound of the number of tasks that have not ended. The caller holds the lock.
    pub fn live(&self) -> usize {
        self.live.load(Ordering::Relaxed) / ONE
    }

    /// True if no other thread uses the table. The caller holds the lock.
    pub fn is_idle(&self) -> bool {
        self.live.load(Ordering::Acquire) < ONE // pairs with `give_back`
    }

    /// Gives back the block of a task that has ended, and takes its count back. True if the caller
    /// looks for the table, under the lock, and frees it if it is idle.
    ///
    /// # Safety
    /// The task was counted, and only the caller uses its block. The table may be gone afterwards.
    pub unsafe fn give_back(&self, block: *mut Link) -> bool {
        let mut first = self.first.load(Ordering::Relaxed);
        loop {
            // SAFETY: the block is the caller's until the exchange.
            unsafe { Link::set_next(block, first) };
            let (release, relaxed) = (Ordering::Release, Ordering::Relaxed); // pairs with `take_all`
            match self.first.compare_exchange_weak(first, block, release, relaxed) {
                Ok(_) => break,
                Err(now) => first = now,
            }
        }
        // Release: pairs with `is_idle`.
        self.live.fetch_sub(ONE, Ordering::Release) == ONE + LARGE
    }

    /// All blocks that have come back since the last call. The caller holds the lock.
    pub fn take_all(&self) -> *mut Link {
        if self.first.load(Ordering::Relaxed).is_null() {
            return ptr::null_mut();
        }
        self.first.swap(ptr::null_mut(), Ordering::Acquire) // pairs with `give_back`
    }
}
