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

use crate::settings::Idle;
use crate::sys::atomic::spin_loop;
use crate::sys::time;
use std::time::{Duration, Instant};

/// The course's sleep, and the longest of `backoff`, which is thereby never slower than
/// `nap` to notice work.
const NAP: Duration = Duration::from_millis(1);
/// Below this the kernel's own cost of a sleep (about 50 µs of timer slack) dominates.
const SHORTEST: Duration = Duration::from_micros(15);

/// So many searches before the processor is given to who wants it. That takes as long as several, and a task that comes
/// meanwhile waits.
const SEARCHES: u32 = 64;

/// One worker's waiting between two searches: all of it but the parking.
pub struct Naps {
    policy: Idle,
    next: Duration,
    /// Since the worker has given its processor away.
    searches: u32,
    /// Of `park`.
    pub patience: Patience,
}

impl Naps {
    pub fn new(policy: Idle) -> Self {
        Naps { policy, next: SHORTEST, searches: 0, patience: Patience::new() }
    }

    /// Waits once after a failed search. True if it slept.
    pub fn wait(&mut self) -> bool {
        match self.policy {
            Idle::Nap => time::sleep(NAP),
            Idle::Backoff => {
                time::sleep(self.next);
                self.next = (self.next * 2).min(NAP);
            }
            Idle::Spin | Idle::Park => {
                self.searches = (self.searches + 1) % SEARCHES;
                (0..4).for_each(|_| spin_loop());
                if self.searches == 0 {
                    time::give_way();
                }
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

/// How long an idle worker searches before it parks.
///
/// About what a wake-up costs, as measured: so spinning at most doubles the cost of idling
/// (A. Karlin and others, "Empirical studies of competitive spinning", 1991). A worker
/// searches for `LONG` if each of its last two waits ended within that time, by a task found or by a wake-up. So
/// workers stay awake between parallel phases that follow each other closely. When the phases
/// become far apart, each worker searches for `LONG` once in vain.
///
/// A worker that was woken and found nothing was woken for a task that its spawner then ran itself,
/// as in a chain of short tasks; it will happen again. While somebody searches nobody is woken, so
/// that worker searches for twice as long before it sleeps again, up to `LONGEST`. (Without it, a
/// chain of 2 µs tasks took twice as long on 8 workers as on one, on 2 processors, with a wake-up for
/// every second task: c_tests/few_wakes.c.) But no worker burns more than a tenth of its time by
/// searching in vain, beyond a first allowance: after that it dozes instead, and still counts as
/// searching. It is then late for a task by as much as it dozes.
pub struct Patience {
    since: Instant,
    burnt: Duration,
    begun: Instant,
    length: Duration,
    /// Whether each of the last two waits was shorter than `LONG`.
    short: [bool; 2],
}

/// What a worker does next that has found nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Search,
    /// Search after a sleep.
    Doze(Duration),
    Park,
}

impl Default for Patience {
    fn default() -> Self {
        Patience::new()
    }
}

impl Patience {
    const SHORTEST: Duration = Duration::from_micros(5);
    const LONG: Duration = Duration::from_micros(100);
    const LONGEST: Duration = Duration::from_millis(1);
    const ALLOWANCE: Duration = Duration::from_millis(2);

    pub fn new() -> Self {
        let now = Instant::now();
        Patience {
            since: now,
            burnt: Duration::ZERO,
            begun: now,
            length: Self::SHORTEST,
            short: [false; 2],
        }
    }

    /// A search begins, after a success: it may take about `wake_cost`.
    pub fn begin(&mut self, wake_cost: Duration) {
        self.begun = Instant::now();
        let usual = wake_cost.clamp(Self::SHORTEST, Self::LONG);
        self.length = if self.short == [true; 2] { Self::LONG } else { usual };
    }

    /// The worker's wait is over: there has been a task for it since `late` ago.
    pub fn found(&mut self, late: Duration) {
        let waited = self.begun.elapsed().saturating_sub(late);
        self.short = [waited < Self::LONG, self.short[0]];
    }

    /// The worker was woken, which took `wake_cost`, and searches again. `in_vain`: it found nothing after the wake-up
    /// before.
    pub fn woken(&mut self, in_vain: bool, wake_cost: Duration) {
        self.found(wake_cost);
        self.begun = Instant::now();
        if in_vain {
            self.length = (self.length * 2).min(Self::LONGEST);
        }
    }

    /// To be called after each search that found nothing.
    pub fn next_step(&mut self) -> Next {
        if cfg!(loom) {
            return Next::Park;
        }
        let now = Instant::now();
        let spent = now - self.begun;
        if spent >= self.length {
            self.burnt += spent.min(self.length);
            return Next::Park;
        }
        let allowed = Self::ALLOWANCE + (now - self.since) / 10;
        if self.length > Self::LONG && self.burnt + spent > allowed {
            self.burnt += spent;
            let rest = self.length - spent;
            self.begun = now - self.length; // the next one parks
            return Next::Doze(rest);
        }
        Next::Search
    }
}
