//! The word on which one worker sleeps. It says how far the worker is on its way into the kernel,
//! and a waker changes it to call the worker back. When workers sleep and are woken is the
//! [`eventcount`](super::eventcount)'s affair.
//!
//! ```text
//!              announce           begin_sleep
//!     AWAKE ------------> WAITING ------------> ASLEEP
//!       ^                    |                    |
//!       +------- wake -------+------- wake -------+          ABSENT ------ wake -----> STARTED
//! ```
//! All changes are made under the event count's lock, except WAITING to ASLEEP, which the worker
//! makes by itself. So that one and `wake` are read-modify-writes: either the waker sees ASLEEP and
//! calls the kernel, or the worker sees AWAKE and does not sleep.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `wake`: swap | Release | the worker's loads, and its change to ASLEEP |
//! | the worker's loads, and its change to ASLEEP | Acquire | the swap in `wake` |
//! | `hover`: fence before the last look | Acquire | the release in the event count's `woken`, after `wake` |
//! | all else | Relaxed | the event count's lock, or the thread's creation |

use crate::idle::LastWaits;
use crate::sys::atomic::{Ordering, fence, spin_loop};
use crate::sys::futex::Futex;
use crate::sys::fuzz::{self, Point};
use std::time::Duration;

const AWAKE: u32 = 0;
/// The worker has announced its sleep, and its thread is awake.
const WAITING: u32 = 1;
/// Like WAITING, but the worker has no thread yet.
const ABSENT: u32 = 2;
/// Like AWAKE; the worker was ABSENT, and its new thread has not seen the word yet.
const STARTED: u32 = 3;
/// Like WAITING, but the thread sleeps in the kernel, or is about to.
const ASLEEP: u32 = 4;

/// The number of looks at the word between two questions whether to go on.
const LOOKS: u32 = 16;

pub struct Parker {
    word: Futex,
    /// Used by the worker itself alone.
    pub last_waits: LastWaits,
}

/// What a worker has been woken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// Its thread is awake, and sees it.
    Hovering,
    /// The waker must call the kernel.
    Asleep,
    /// The waker must start its thread.
    Absent,
}

impl Parker {
    pub fn new() -> Self {
        Parker { word: Futex::new(AWAKE), last_waits: LastWaits::default() }
    }

    // --- under the lock ------------------------------------------------------------

    /// The worker has no thread yet.
    pub fn make_absent(&self) {
        self.word.store(ABSENT, Ordering::Relaxed);
    }

    /// The worker announces its sleep.
    pub fn announce(&self) {
        self.word.store(WAITING, Ordering::Relaxed);
    }

    pub fn is_absent(&self) -> bool {
        self.word.load(Ordering::Relaxed) == ABSENT
    }

    /// True if the worker has announced its sleep, and its thread was awake just now.
    pub fn hovers(&self) -> bool {
        self.word.load(Ordering::Relaxed) == WAITING
    }

    /// True if the worker has a thread and has announced its sleep.
    pub fn is_announced(&self) -> bool {
        matches!(self.word.load(Ordering::Relaxed), WAITING | ASLEEP)
    }

    /// Ends the sleep of a worker that has announced it, or is absent. If it was asleep, the caller
    /// calls `call_back` afterwards.
    pub fn wake(&self) -> Woken {
        if self.is_absent() {
            self.word.store(STARTED, Ordering::Relaxed); // no thread uses the word yet
            return Woken::Absent;
        }
        match self.word.swap(AWAKE, Ordering::Release) {
            ASLEEP => Woken::Asleep,
            _ => Woken::Hovering,
        }
    }

    /// Wakes the thread in the kernel.
    pub fn call_back(&self) {
        self.word.wake(1);
    }

    // --- the worker's own ------------------------------------------------------------

    /// True if the worker's thread was started by a waker, and has not called `begin` yet.
    pub fn was_started(&self) -> bool {
        self.word.load(Ordering::Relaxed) == STARTED
    }

    /// True if the worker's thread was started by a waker; at the first call.
    pub fn begin(&self) -> bool {
        let started = self.was_started();
        if started {
            self.word.store(AWAKE, Ordering::Relaxed);
        }
        started
    }

    /// Waits awake until woken, as long as `go_on` agrees. True if the worker was woken.
    pub fn hover(&self, mut go_on: impl FnMut() -> bool) -> bool {
        loop {
            for _ in 0..if cfg!(loom) { 1 } else { LOOKS } {
                if self.word.load(Ordering::Acquire) != WAITING {
                    return true;
                }
                spin_loop();
            }
            if !go_on() {
                // `go_on` may have seen that the waker counts this worker as awake. Then this look
                // sees the wake-up, which came before. Acquire: pairs with the subtraction from
                // `sleeping` in the event count's `woken`.
                fence(Ordering::Acquire);
                return self.word.load(Ordering::Acquire) != WAITING;
            }
        }
    }

    /// The thread is about to sleep in the kernel. False if the worker was woken.
    pub fn begin_sleep(&self) -> bool {
        fuzz::at(Point::Park);
        let asleep = self.word.acquire_if(WAITING, ASLEEP);
        if !asleep {
            self.word.load(Ordering::Acquire); // pairs with the swap in `wake`
        }
        asleep
    }

    /// True from `begin_sleep` until the worker is woken.
    pub fn is_asleep(&self) -> bool {
        self.word.load(Ordering::Acquire) == ASLEEP
    }

    /// Sleeps in the kernel while the worker is asleep, for `limit` or less.
    pub fn sleep(&self, limit: Duration) {
        self.word.wait(ASLEEP, limit);
    }
}
