//! Something that happens once, and that threads may wait for.

use crate::sys::atomic::Ordering;
use crate::sys::futex;
use crate::sys::futex::Futex;
use std::time::{Duration, Instant};

const TO_COME: u32 = 0;
const AWAITED: u32 = 1;
const PAST: u32 = 2;

pub struct Event(Futex);

impl Event {
    #[allow(clippy::new_without_default, reason = "the models' futex has no default")]
    pub fn new() -> Self {
        Event(Futex::new(TO_COME))
    }

    /// It has happened. It may be gone only when the caller has returned.
    pub fn happen(&self) {
        // Release: pairs with the loads in `wait`.
        if self.0.swap(PAST, Ordering::Release) == AWAITED {
            self.0.wake(i32::MAX);
        }
    }

    /// Returns when it has happened: what was done before is then seen.
    pub fn wait(&self) {
        while self.0.load(Ordering::Acquire) != PAST {
            self.sleep(futex::LONGEST);
        }
    }

    /// As `wait`, but false if it has not happened after so long.
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

    /// Sleeps until it happens, if it has not, or until the time is up.
    pub fn sleep(&self, limit: Duration) {
        self.0.swap_if(TO_COME, AWAITED);
        self.0.wait(AWAITED, limit);
    }
}
