//! Tells the observer that looks for a deadlock (`inspect`) whether a thread of the cache rests.
//!
//! # Protocol
//!
//! A thread notes the beginning and the end of its rest. An observer first counts the threads at
//! workers, and then the resting threads. It must not count a thread twice: the count would be too
//! high, and a thread that runs could go unnoticed.
//!
//! ```text
//! the thread                         the observer
//!   rests = false                      reads the worker's owner: it is the thread
//!   fence                              fence (`look`)
//!   occupies a worker                  reads rests: false
//! ```
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `end`: fence | SeqCst; Release would do | the fence in `look`, by the worker's owner |
//! | `look` | SeqCst; Acquire would do | the fence in `end` |
//! | the stores, and the load in `shows` | Relaxed | the fences, or the lock |
//! | `end_for_good` | Relaxed | the lock of the cache, which the observer holds while it reads |
//!
//! A note that is seen late makes the count too low, which proves nothing.

use crate::sys::atomic::{AtomicBool, Ordering, fence};

pub struct Resting(AtomicBool);

impl Resting {
    #[allow(clippy::new_without_default, reason = "one constructor is enough")]
    pub fn new() -> Self {
        Resting(AtomicBool::new(false))
    }

    /// Called when the thread begins to rest.
    pub fn begin(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Called when the thread no longer rests, and may occupy a worker.
    pub fn end(&self) {
        self.0.store(false, Ordering::Relaxed);
        fence(Ordering::SeqCst); // pairs with the fence in `look`
    }

    /// Like `end`, for a thread that ends, and holds the lock of the cache.
    pub fn end_for_good(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Called by an observer after it has looked at the workers, and before `shows`.
    pub fn look() {
        fence(Ordering::SeqCst); // pairs with the fence in `end`
    }

    /// For an observer that holds the lock of the cache.
    pub fn shows(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Called in the child of a fork, where the thread does not exist.
    pub fn forget(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}
