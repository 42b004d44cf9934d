//! The requests of other threads and of signal handlers to the thread of [`super::watcher`].
//!
//! # State
//!
//! One word has a bit for each kind of request; 0: nobody requests anything.
//!
//! | bit | who sets it | what the thread does |
//! | --- | --- | --- |
//! | `ASKED` | the handler of SIGQUIT | looks for tasks that hang, at once |
//! | `NEWS` | a run that begins | finds out again which duties it has and when each is due |
//! | `DIES` | the handler of a fatal signal | looks a last time; the handler waits for this look |
//! | `END` | the last run that ends | ends; the bit stays set |
//!
//! # Protocol
//!
//! Whoever has a request sets its bit, and then wakes the thread. The thread clears all bits but
//! `END`, and does what they say; then it sleeps if the word is still 0. Each step is one
//! read-modify-write or a system call, so a handler may do it at any instruction of any thread.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `add`: sets the bit | Release | `take`: the thread sees what was written before the request |
//! | `take`: clears the bits | Acquire | `add`, of each bit that it finds |
//! | `sleep` | none | the kernel compares the word once more; `add` wakes after its change |
//!
//! # The bad interleavings
//!
//! 1. *The lost request.* Two requests come shortly after each other. The second one could replace
//!    the first; or it could fail because the thread changes the word at the same time. Neither
//!    happens here: a request sets its bit by an atomic OR, and only `take` clears bits. (Rejected: one
//!    number for the request, changed by compare-and-swap from each number that it might be. A SIGQUIT
//!    beside the begin of a run was lost if the thread changed the number between two attempts.)
//! 2. *The sleep over a request.* The bit is set after `take`, before the sleep: the kernel finds a
//!    word that is not 0.
//! 3. *The last look that never comes.* A fatal signal comes while the thread is told to end. All
//!    changes of the word are read-modify-writes, so one of the bits is set first. If it is `END`,
//!    `add` returns false, and the handler does not wait. If it is `DIES`, the `take` that finds
//!    `END` also finds `DIES`, or an earlier `take` has found it: the thread answers.

use crate::sys::atomic::{Ordering, const_fn};
use crate::sys::futex::Futex;
use std::time::Duration;

/// SIGQUIT.
pub const ASKED: u32 = 1;
/// Another duty has begun.
pub const NEWS: u32 = 2;
/// A signal is about to end the process.
pub const DIES: u32 = 4;
/// The thread must end.
pub const END: u32 = 8;

pub struct Requests(Futex);

/// The requests that `take` has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken(u32);

impl Taken {
    pub fn has(self, request: u32) -> bool {
        self.0 & request != 0
    }
}

impl Requests {
    const_fn! {
        #[allow(clippy::new_without_default, reason = "the models' futex has no default")]
        pub fn new() -> Self {
            Requests(Futex::new(0))
        }
    }

    /// Adds a request, and wakes the thread. False if the thread was told to end before.
    pub fn add(&self, request: u32) -> bool {
        // Release: pairs with `take`.
        let was = self.0.set_bits(request, Ordering::Release);
        self.0.wake(1);
        was & END == 0
    }

    /// For the thread: all requests since the last `take`; and `END` once it was requested.
    pub fn take(&self) -> Taken {
        Taken(self.0.keep_bits(END, Ordering::Acquire)) // pairs with `add`
    }

    /// For the thread: true if one of these is requested.
    pub fn has(&self, requests: u32) -> bool {
        self.0.load(Ordering::Relaxed) & requests != 0 // Relaxed: `take` follows
    }

    /// For the thread: sleeps for `limit`, or until something is requested.
    pub fn sleep(&self, limit: Duration) {
        self.0.wait(0, limit);
    }

    /// Clears all requests. Called while there is no thread.
    pub fn forget(&self) {
        self.0.store(0, Ordering::Relaxed); // Relaxed: the thread is created afterwards
    }
}
