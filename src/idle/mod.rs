//! L2b: what workers do when there is nothing to do, and how a run finds its end.
//!
//! | `SCHED_IDLE` | a worker that found nothing | wakes by |
//! | --- | --- | --- |
//! | `park` | searches a little longer, then sleeps in the [`eventcount`] | a spawn, or the end |
//! | `nap` | sleeps 1 ms: the course's section 4 | time |
//! | `backoff` | sleeps, longer after each failure, shorter after each success | time |
//! | `spin` | looks again at once, giving its processor to who wants it | never sleeps |

pub mod eventcount;
pub mod quiescence;

use crate::base::config::Idle;
use crate::base::sync::spin_loop;
use crate::base::thread;
use std::time::Duration;

/// The course's sleep, and the longest of `backoff`, which is thereby never slower than
/// `nap` to notice work.
const NAP: Duration = Duration::from_millis(1);
/// Below this the kernel's own cost of a sleep (about 50 µs of timer slack) dominates.
const SHORTEST: Duration = Duration::from_micros(15);

/// One worker's waiting between two searches: all of it but the parking.
pub struct Naps {
    policy: Idle,
    next: Duration,
}

impl Naps {
    pub fn new(policy: Idle) -> Self {
        Naps { policy, next: SHORTEST }
    }

    /// Waits once after a failed search. True if it slept.
    pub fn wait(&mut self) -> bool {
        match self.policy {
            Idle::Nap => thread::sleep(NAP),
            Idle::Backoff => {
                thread::sleep(self.next);
                self.next = (self.next * 2).min(NAP);
            }
            Idle::Spin | Idle::Park => {
                (0..32).for_each(|_| spin_loop());
                thread::give_way();
                return false;
            }
        }
        true
    }

    /// Work was found.
    pub fn success(&mut self) {
        self.next = (self.next / 2).max(SHORTEST);
    }
}
