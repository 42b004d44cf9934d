//! An event that happens once, and that threads may wait for.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `happen`: swap | Release | the loads in `wait` and `happens_within` |
//! | these loads | Acquire | `happen` |
//! | `sleep`: exchange to AWAITED | Relaxed | none: `happen` finds it: a read-modify-write |

use crate::sys::atomic::Ordering;
use crate::sys::futex;
use crate::sys::futex::Futex;
use crate::sys::time::Instant;
use std::time::Duration;

const TO_COME: u32 = 0;
const AWAITED: u32 = 1;
const PAST: u32 = 2;

pub struct Event(Futex);

impl Event {
    #[allow(clippy::new_without_default, reason = "the models' futex has no default")]
    pub fn new() -> Self {
        Event(Futex::new(TO_COME))
    }

    /// Marks the event as past, and wakes its waiters. The event must live until this returns.
    pub fn happen(&self) {
        // Release: pairs with the Acquire loads in `wait` and `happens_within`.
        if self.0.swap(PAST, Ordering::Release) == AWAITED {
            self.0.wake(i32::MAX);
        }
    }

    /// Returns when the event has happened; the caller then sees what was written before it.
    pub fn wait(&self) {
        while self.0.load(Ordering::Acquire) != PAST {
            self.sleep(futex::LONGEST);
        }
    }

    /// Like `wait`, but returns false if the event has not happened within `limit`.
    pub fn happens_within(&self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        while self.0.load(Ordering::Acquire) != PAST {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            self.sleep(left);
        }
        true
    }

    /// Sleeps until the event happens, at most for `limit`.
    pub fn sleep(&self, limit: Duration) {
        self.0.swap_if(TO_COME, AWAITED);
        self.0.wait(AWAITED, limit);
    }
}
