//! The number of threads that sleep until a task wakes them, without being a worker of its run. The
//! proof of a deadlock (`inspect::deadlock`) must account for each sleeping thread.
//!
//! # State
//!
//! ```text
//! word   upper half: how often a thread has counted itself | lower half: threads that sleep
//! ```
//!
//! # Protocol
//!
//! ```text
//! the sleeper   leaves its name with the object; counts itself; sleeps until the object is granted
//! the waker     takes the name, which grants the object; takes the sleeper out; wakes it
//! the observer  reads the word; counts the threads of the process; reads the word again
//! ```
//! The sleeper counts itself last, and the waker takes it out first. So the count may be one too
//! low for a moment, even -1, but never too high.
//!
//! # The bad interleaving
//!
//! *The waker that is gone.* The sleeper has counted itself. The waker wakes the sleeper and ends.
//! The observer then counts the threads and finds only the sleeper. The two numbers agree, although
//! the sleeper is awake. So the observer reads the word again after it has counted the threads, and
//! proves nothing unless the word is unchanged. Between the two readings the sleeper may have
//! created a thread and counted itself again for another wait: then the lower half is the same, but
//! the upper half differs. (Half a word does not wrap around during one observation.)
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `count`, `uncount` | SeqCst; AcqRel would do | the loads in `now` |
//! | `unchanged_while`: first load | SeqCst; Relaxed would do | none: it is only compared |
//! | `unchanged_while`: second load | SeqCst; Relaxed would do | `uncount`, before the waker's end |
//!
//! The kernel orders the waker's end before the count of the threads that lacks the waker.

use crate::sys::atomic::{AtomicUsize, Ordering, const_fn};

const HALF: u32 = usize::BITS / 2;

#[derive(Default)]
pub struct Outside(AtomicUsize);

/// The count at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count(usize);

impl Count {
    /// The number of threads, modulo the size of the address space.
    pub fn number(self) -> usize {
        ((self.0 << HALF) as isize >> HALF) as usize
    }
}

impl Outside {
    const_fn! {
        pub fn new() -> Self {
            Outside(AtomicUsize::new(0))
        }
    }

    /// Counts the calling thread, which has left its name for the first time in this wait.
    pub fn count(&self) {
        self.0.fetch_add(1 | (1 << HALF), Ordering::SeqCst);
    }

    /// Takes a thread out of the count: the caller has taken its name, and is about to wake it.
    pub fn uncount(&self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }

    fn now(&self) -> Count {
        Count(self.0.load(Ordering::SeqCst))
    }

    /// The result of `work`, with the present count; None if the count changed during `work`.
    pub fn unchanged_while<R>(&self, work: impl FnOnce(Count) -> Option<R>) -> Option<(Count, R)> {
        let before = self.now();
        let result = work(before)?;
        (self.now() == before).then_some((before, result))
    }

    /// Resets the count in the child of a fork, where the counted threads do not exist.
    pub fn forget(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}
